/**
 * The controller of slices: from a record to a database, a bucket or a prefix that one environment has, and back to nothing.
 *
 * **Guarantees**
 * - S7: whatever may exist outside is in a record first, and the record goes last.
 * - S8, S9: credentials are made once; a script's outcome counts for the attempt it was made for only.
 * - S10: a record that is released ends with nothing outside.
 * - S11: a teardown works from the record's capsule and the kept binding alone.
 * - S12: nothing is read from an environment's namespace.
 * - S13: a record whose environment is gone without having released it becomes Orphaned, and stays until somebody adopts or releases
 *   it by an annotation.
 *
 * **Caveats**
 * - A provision script that runs while its slice is released is stopped; the deprovision script has to cope with what it left.
 *
 * @since 0.1.0
 */
import type { Caches } from "@berth/kube/Caches"
import type { Change } from "@berth/kube/Change"
import * as Conditions from "@berth/kube/Conditions"
import type * as Controller from "@berth/kube/Controller"
import type * as Kind from "@berth/kube/Kind"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import * as KubeObjects from "@berth/kube/KubeObject"
import * as Watch from "@berth/kube/Watch"
import * as Manager from "@berth/provisioners/Manager"
import { Effect } from "effect"
import * as Admission from "./Admission.ts"
import * as Consumers from "./Consumers.ts"
import * as stuck from "./internal/slices/stuck.ts"
import * as Ledger from "./Ledger.ts"
import { isInLine, type RawSlice, Records, sharedComponentOf } from "./Records.ts"
import { sliceIdLabel } from "./ScriptJob.ts"
import type { SharedComponent } from "./SharedComponent.ts"
import { Slice } from "./Slice.ts"
import * as SliceRecord from "./SliceRecord.ts"
import * as SliceTree from "./SliceTree.ts"
import * as StallLabels from "./StallLabels.ts"

/**
 * What the controller needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = SliceTree.Services | Caches

/**
 * The controller.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Controller.Controller<Services>, never, Records> = Effect.map(Records, (records) => {
  const { environments, jobs, managementConfigMaps, providers, sharedComponents, sharedSecrets, sliceSecrets, slices } =
    records.definitions
  return Manager.make({
    kind: Slice,
    definition: slices,
    inputs: [providers, sharedComponents, sharedSecrets, slices, managementConfigMaps],
    watches: [
      Watch.mappedEffect(slices, (slice) => front(records, sharedComponentOf(slice).uid), { when: movesLine }),
      Watch.mappedEffect(sharedComponents, ({ metadata }) => front(records, metadata.uid ?? ""), {
        when: opensOrCloses
      }),
      Watch.mappedEffect(sharedComponents, ({ metadata }) => front(records, metadata.uid ?? "", 1), {
        when: changesHealth
      }),
      Watch.mappedEffect(
        managementConfigMaps,
        ({ metadata }) => front(records, metadata.annotations?.[Ledger.ownerAnnotation] ?? ""),
        { when: Ledger.isGivenBack }
      ),
      Watch.mappedEffect(jobs, (job) => bySliceId(records, job)),
      Watch.mappedEffect(sliceSecrets, (secret) => bySliceId(records, secret)),
      Watch.mappedEffect(
        environments,
        ({ metadata }) => Effect.map(records.slicesOfConsumer(metadata.uid ?? ""), (all) => all.map(KubeObjects.ref)),
        { when: ({ _tag }) => _tag === "Deleted" }
      )
    ],
    provisioner: (slice) =>
      Effect.map(
        SliceRecord.open({ name: slice.metadata.name, namespace: slice.metadata.namespace }, slice.metadata.uid),
        SliceTree.make
      ),
    available: (_, failure) => Consumers.isServed(failure)
  })
})

/** Whose position is shown exactly: they are told when the line moves, and nobody behind them. */
const front = (
  records: Records["Service"],
  sharedComponentUid: string,
  count = Admission.positionMax
): Effect.Effect<ReadonlyArray<Ref>> =>
  Effect.map(records.line(sharedComponentUid), (line) => line.slice(0, count).map(KubeObjects.ref))

/** Somebody left the line, or is back where it was. Who is new stands at its end, and moves nobody. */
const movesLine = ({ _tag, object, previous }: Change<RawSlice>): boolean =>
  _tag === "Deleted" || (previous !== undefined && isInLine(previous) !== isInLine(object))

type RawSharedComponent = Kind.Raw<typeof SharedComponent>

const isReady = ({ status }: RawSharedComponent): boolean => Conditions.isTrue(status?.conditions, "Ready")

const opensOrCloses = ({ _tag, object, previous }: Change<RawSharedComponent>): boolean =>
  _tag === "Deleted" ||
  previous === undefined ||
  isReady(object) !== isReady(previous) ||
  StallLabels.isOn(object) !== StallLabels.isOn(previous) ||
  object.metadata.generation !== previous.metadata.generation ||
  object.metadata.deletionTimestamp !== previous.metadata.deletionTimestamp

/** The first in line says why nobody goes. */
const changesHealth = ({ object, previous }: Change<RawSharedComponent>): boolean =>
  previous !== undefined && stuck.isReported(object) !== stuck.isReported(previous)

const bySliceId = (records: Records["Service"], { metadata }: KubeObject): Effect.Effect<ReadonlyArray<Ref>> =>
  Effect.map(records.slicesById(metadata.labels?.[sliceIdLabel] ?? ""), (all) => all.map(KubeObjects.ref))
