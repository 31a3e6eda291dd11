/** What keeps a component from its slice, said by what it waits for, and in a way that ends when that does. */
import type { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type * as Kind from "@berth/kube/Kind"
import * as KubeObjects from "@berth/kube/KubeObject"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Option } from "effect"
import { type RawSlice, Records } from "../../Records.ts"
import { Settings } from "../../Settings.ts"
import { SharedComponent } from "../../SharedComponent.ts"
import { Slice } from "../../Slice.ts"
import * as StallLabels from "../../StallLabels.ts"
import { Reasons } from "./reasons.ts"

type ProvisionError = Disposition.ProvisionError
type Raw = Kind.Raw<typeof SharedComponent>

interface Need {
  readonly component: Identifier.Identifier
  readonly shared: { readonly name: Identifier.Identifier }
}

/** Whoever waits is woken when what it waits for changes; the delay is for a change that was missed. */
export const rarely = { after: "5 minutes" } as const

const isReady = ({ status }: Raw): boolean => Conditions.isTrue(status?.conditions, "Ready")
const isClosing = ({ metadata }: Raw): boolean => metadata.deletionTimestamp !== undefined

/** Of the shared component; none where it admits whoever comes. */
export const ofSharedComponent = Effect.fnUntraced(function* ({
  component,
  shared
}: Need): Effect.fn.Return<ProvisionError | undefined, ProvisionError, Client | Records | Settings> {
  const names = { component, shared: shared.name }
  const known = yield* Effect.flatMap(Records, ({ sharedComponent }) => sharedComponent(shared.name))
  if (Option.exists(known, (found) => isReady(found) && !isClosing(found))) return undefined
  // The truth, as an input: what is stalled is waited for without coming back.
  const { managementNamespace: namespace } = yield* Settings
  const found = yield* Manager.input(SharedComponent, { name: shared.name, namespace })
  if (Option.isNone(found)) return Reasons.shared_component_not_ready(names, rarely)
  if (isClosing(found.value)) return Reasons.shared_component_closing(names)
  if (isReady(found.value)) return undefined
  return StallLabels.isOn(found.value)
    ? Reasons.shared_component_stalled(names)
    : Reasons.shared_component_not_ready(names, rarely)
})

/** Whether a slice waits for somebody; if so, its record is an input. */
export const isStalled = Effect.fnUntraced(function* (
  record: RawSlice
): Effect.fn.Return<boolean, ProvisionError, Client> {
  if (!StallLabels.isOn(record)) return false
  const found = yield* Manager.input(Slice, KubeObjects.ref(record))
  return Option.exists(found, (now) => now.metadata.uid === record.metadata.uid && StallLabels.isOn(now))
})

/** The record's name as a message takes it. */
export const nameOf = ({ metadata }: RawSlice, otherwise: Identifier.Identifier): Identifier.Identifier =>
  Option.getOrElse(Identifier.fromString(metadata.name), () => otherwise)
