/**
 * Explains an object: what it waits for, since when, what will happen next, and what came last.
 *
 * **Guarantees**
 * - S33: an environment is explained by what it waits for in turn: its slices, and their shared components.
 * - S15: of a script that failed, its last words, with the secrets that it was given hidden.
 *
 * **Caveats**
 * - Everything is read from the API server. Last words need the right to read the Secrets and Pods of the shared namespace; where they
 *   cannot be read, or a Secret cannot, none are shown.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import * as SecretData from "@berth/kube/SecretData"
import type * as KubeError from "@berth/kube/KubeError"
import { Clock, Effect, Option } from "effect"
import { Environment } from "./Environment.ts"
import * as explanation from "./internal/explanation.ts"
import * as lastWords from "./internal/slices/lastWords.ts"
import * as Names from "./Names.ts"
import { consumerOf, type RawSlice } from "./Records.ts"
import { Settings } from "./Settings.ts"
import { SharedComponent } from "./SharedComponent.ts"
import { Slice } from "./Slice.ts"

/**
 * Lines of text, for people.
 *
 * @category models
 * @since 0.1.0
 */
export type Explanation = Effect.Effect<ReadonlyArray<string>, KubeError.KubeError, Client | Settings>

const ofManagement = (name: string) =>
  Effect.map(Settings, ({ managementNamespace: namespace }) => ({ name, namespace }))

/**
 * Explains an environment, and each slice of it that is not Ready.
 *
 * **Errors**: what the client fails with; `NotFound` where there is no such environment.
 *
 * @category operations
 * @since 0.1.0
 */
export const environment = Effect.fn("Explain.environment")(function* (
  name: string
): Effect.fn.Return<ReadonlyArray<string>, KubeError.KubeError, Client | Settings> {
  const client = yield* Client
  const ref = yield* ofManagement(name)
  const found = yield* client.get(Environment, ref)
  const { items } = yield* client.list(Slice, { namespace: ref.namespace })
  const waiting = items.filter((each) => consumerOf(each).uid === found.metadata.uid && !isReady(each))
  const slices = yield* Effect.forEach(waiting, ofSlice)
  return [...explanation.lines(found, yield* Clock.currentTimeMillis), ...slices.flat().map(indented)]
})

/**
 * Explains a slice, and the shared component where the slice waits for it.
 *
 * **Errors**: what the client fails with; `NotFound` where there is no such slice.
 *
 * @category operations
 * @since 0.1.0
 */
export const slice = Effect.fn("Explain.slice")(function* (
  name: string
): Effect.fn.Return<ReadonlyArray<string>, KubeError.KubeError, Client | Settings> {
  const client = yield* Client
  return yield* ofSlice(yield* client.get(Slice, yield* ofManagement(name)))
})

/**
 * Explains a shared component.
 *
 * **Errors**: what the client fails with; `NotFound` where there is no such shared component.
 *
 * @category operations
 * @since 0.1.0
 */
export const sharedComponent = Effect.fn("Explain.sharedComponent")(function* (
  name: string
): Effect.fn.Return<ReadonlyArray<string>, KubeError.KubeError, Client | Settings> {
  const client = yield* Client
  const found = yield* client.get(SharedComponent, yield* ofManagement(name))
  const { consumers = 0, waiting = 0 } = found.status ?? {}
  const limit = (found.spec.maxConsumers ?? 0) === 0 ? "any number" : String(found.spec.maxConsumers)
  const [head = "", ...rest] = explanation.lines(found, yield* Clock.currentTimeMillis)
  return [`${head}, ${consumers} slices of ${limit}, ${waiting} waiting`, ...rest]
})

const indented = (line: string): string => `  ${line}`

const isReady = ({ status }: RawSlice): boolean => Conditions.isTrue(status?.conditions, "Ready")

const ofSlice = Effect.fnUntraced(function* (
  record: RawSlice
): Effect.fn.Return<ReadonlyArray<string>, KubeError.KubeError, Client | Settings> {
  const nowMs = yield* Clock.currentTimeMillis
  const own = explanation.lines(record, nowMs, yield* lastRun(record, nowMs))
  if ((record.status?.phase ?? "Waiting") !== "Waiting") return own
  const shared = yield* Effect.catchTag(sharedComponent(record.spec.sharedComponent.name), "NotFound", () =>
    Effect.succeed([`SharedComponent ${record.spec.sharedComponent.name}: not there`])
  )
  return [...own, ...shared.map(indented)]
})

/** The newest of its scripts' runs. */
const lastRun = Effect.fnUntraced(function* (record: RawSlice, nowMs: number) {
  const jobs = record.status?.jobs ?? []
  const removing = jobs.filter(({ action }) => action === "deprovision")
  const last = (removing.length > 0 ? removing : jobs).toSorted((a, b) => b.attempt - a.attempt)[0]
  if (last === undefined) return []
  const ended = last.finishedAt === undefined ? "" : ` at ${explanation.when(last.finishedAt, nowMs)}`
  const said = `last: attempt ${last.attempt} of ${last.action}, Job ${last.name}: ${last.outcome ?? "running"}${ended}`
  const failed = last.outcome === "Failed" || last.outcome === "DeadlineExceeded"
  const words = failed ? yield* wordsOf(record, last.name) : ""
  return words === "" ? [said] : [said, ...words.split("\n").map((line) => `    ${line}`)]
})

/** None where a Secret that would have to be hidden cannot be read. */
const wordsOf = Effect.fnUntraced(function* (record: RawSlice, name: string) {
  const { capsule, sliceId } = record.spec
  if (capsule?.instance === undefined) return ""
  const { managementNamespace } = yield* Settings
  const { sharedNamespace: namespace } = capsule
  const client = yield* Client
  const kept = client.get(Builtin.Secret, { name: Names.keptBinding(sliceId), namespace: managementNamespace })
  const secrets = yield* Effect.option(
    Effect.all([
      client.get(Builtin.Secret, { name: capsule.instance.secretRef.name, namespace }),
      // One of the two has the slice's credentials, at any time.
      Effect.catchTag(kept, "NotFound", () =>
        client.get(Builtin.Secret, { name: Names.credentials(sliceId), namespace })
      )
    ])
  )
  if (Option.isNone(secrets)) return ""
  const hidden = secrets.value.flatMap((secret) => Object.values(SecretData.decode(secret)))
  return yield* lastWords.read({ name, namespace }, hidden)
})
