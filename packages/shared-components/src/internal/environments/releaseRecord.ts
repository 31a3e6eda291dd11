/**
 * Which components of an environment have a release, or may have one: written before the first of them is deployed, and kept until
 * the last is gone. A removal needs nothing else, neither the template nor the charts.
 */
import * as AtomicConfigMap from "@berth/kube/AtomicConfigMap"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Effect, Option, Schema } from "effect"
import * as Names from "../../Names.ts"
import { environmentUidLabel, Records } from "../../Records.ts"
import { Settings } from "../../Settings.ts"

type ProvisionError = Disposition.ProvisionError

/** Those of a template, and as many that have left it. */
const entriesMax = 128

const Entry = Schema.Struct({
  component: Identifier.Identifier.check(Schema.isMaxLength(63)),
  /** The components that it needed when it was deployed last. */
  needs: Schema.Array(Schema.String.check(Schema.isMaxLength(63))).check(Schema.isMaxLength(64)),
  /** Whether it was deployed with the operator's own rights. */
  clusterScoped: Schema.Boolean
})

export interface Entry extends Schema.Schema.Type<typeof Entry> {}

const Entries = Schema.fromJsonString(Schema.Array(Entry).check(Schema.isMaxLength(entriesMax)))
const decode = Schema.decodeUnknownOption(Entries)

const format: AtomicConfigMap.Format<ReadonlyArray<Entry>> = {
  annotation: environmentUidLabel,
  field: "releases",
  decode,
  encode: (entries) => JSON.stringify(entries),
  attemptsMax: 8
}

const placeOf = (environment: Names.Identity) =>
  Effect.map(Settings, ({ managementNamespace: namespace }) => ({
    name: Names.releaseRecord(environment),
    namespace,
    uid: environment.uid
  }))

const none: Effect.Effect<ReadonlyArray<Entry>> = Effect.succeed([])

/** Whether there is a record, as far as the caches know. */
export const isKnown = (environment: Names.Identity): Effect.Effect<boolean, never, Records> =>
  Effect.map(
    Effect.flatMap(Records, ({ configMap }) => configMap(Names.releaseRecord(environment))),
    Option.isSome
  )

/** Everything that may be there, by the API server's word. */
export const read = Effect.fnUntraced(function* (
  environment: Names.Identity
): Effect.fn.Return<ReadonlyArray<Entry>, ProvisionError, Client | Settings> {
  const place = yield* placeOf(environment)
  const { value } = yield* KubeFailure.classified(AtomicConfigMap.read(format, place))
  return Option.getOrElse(value, () => [])
})

/** Adds these, or puts them right, and gives back all. */
export const declare = Effect.fnUntraced(function* (
  environment: Names.Identity,
  wanted: ReadonlyArray<Entry>
): Effect.fn.Return<ReadonlyArray<Entry>, ProvisionError, Client | Settings> {
  const place = yield* placeOf(environment)
  const names = new Set<string>(wanted.map(({ component }) => component))
  return yield* KubeFailure.classified(
    AtomicConfigMap.change(format, place, none, (before) => {
      const all = [...wanted, ...before.filter(({ component }) => !names.has(component))]
      return Effect.succeed([all, all])
    })
  )
})

/** The component's release is gone. The last one takes the record with it. */
export const forget = Effect.fnUntraced(function* (
  environment: Names.Identity,
  component: string
): Effect.fn.Return<void, ProvisionError, Client | Settings> {
  const place = yield* placeOf(environment)
  const left = yield* KubeFailure.classified(
    AtomicConfigMap.change(format, place, none, (before) => {
      const after = before.filter((each) => each.component !== component)
      return Effect.succeed([after.length, after])
    })
  )
  if (left === 0) yield* remove(place)
})

/** Only as it was when it was found empty. */
const remove = Effect.fnUntraced(function* (place: AtomicConfigMap.Place) {
  const client = yield* Client
  const { object, value } = yield* KubeFailure.classified(AtomicConfigMap.read(format, place))
  if (Option.isNone(object) || Option.exists(value, (entries) => entries.length > 0)) return
  const { name, namespace, resourceVersion, uid } = object.value.metadata
  yield* KubeFailure.orNone(
    client.delete(Builtin.ConfigMap, { name, namespace }, { preconditions: { uid, resourceVersion } })
  )
})
