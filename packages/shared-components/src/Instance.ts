/**
 * What a slice's scripts and bindings know of the instance that serves it: the keys of its Secret.
 *
 * **Guarantees**
 * - S11: the Secret is read as it is now; where it is gone, its own backup is read instead, so that a teardown does not need it.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import * as SecretData from "@berth/kube/SecretData"
import { Client } from "@berth/kube/Client"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Option } from "effect"
import * as Names from "./Names.ts"
import { sharedComponentUidLabel } from "./Records.ts"
import { Settings } from "./Settings.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * Why an instance is not known.
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("instance", {
  secret_missing: Disposition.userActionRequired(
    "The Secret {secret}, which says how to reach the instance, is not in the namespace {namespace}: create it."
  ),
  key_missing: Disposition.userActionRequired(
    "The Secret {secret} in the namespace {namespace} lacks the keys {keys}: add them."
  ),
  secret_taken: Disposition.userActionRequired(
    "The Secret {secret} in the namespace {namespace} is not this shared component's: remove it, or have the provider name another one."
  ),
  keys_lost: Disposition.userActionRequired(
    "The generated keys {keys} of the Secret {secret} in the namespace {namespace} are lost, and so is their backup: put back what the workload was deployed with, since new ones would not open it."
  )
})

/**
 * The keys of an instance's Secret.
 *
 * @category models
 * @since 0.1.0
 */
export type Values = Readonly<Record<string, string>>

/**
 * Where an instance's Secret is.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reference {
  readonly secret: Identifier.Identifier
  readonly namespace: Identifier.Identifier
}

/**
 * The Secret as it is now; waits for a person where it is missing, and goes on when it is there.
 *
 * @category operations
 * @since 0.1.0
 */
export const read = Effect.fn("Instance.read")(function* (
  { namespace, secret }: Reference,
  needed: ReadonlyArray<string> = []
): Effect.fn.Return<Values, ProvisionError, Client> {
  const found = yield* Manager.input(Builtin.Secret, { name: secret, namespace })
  if (Option.isNone(found)) return yield* Reasons.secret_missing({ secret, namespace })
  const values = SecretData.decode(found.value)
  const missing = needed.filter((key) => values[key] === undefined)
  if (missing.length === 0) return values
  const keys = missing.flatMap((key) => Option.toArray(Identifier.fromString(key)))
  return yield* Reasons.key_missing(
    { secret, namespace, keys },
    { why: `the Secret ${secret} lacks ${missing.join(", ")}` }
  )
})

/**
 * The same, or what it last was where it is gone, as the first of these shared components that has a backup remembers it.
 *
 * @category operations
 * @since 0.1.0
 */
export const readOrBackup = Effect.fn("Instance.readOrBackup")(function* (
  reference: Reference,
  sharedComponents: ReadonlyArray<Names.Identity>
): Effect.fn.Return<Values, ProvisionError, Client | Settings> {
  const found = yield* Manager.input(Builtin.Secret, { name: reference.secret, namespace: reference.namespace })
  if (Option.isSome(found)) return SecretData.decode(found.value)
  for (const sharedComponent of sharedComponents) {
    const kept = yield* readBackup(sharedComponent, reference.secret)
    if (Option.isSome(kept)) return kept.value
  }
  return yield* Reasons.secret_missing(reference)
})

/**
 * Keeps a copy of the Secret in the management namespace, for teardowns after it is gone. Each Secret that a shared component had has
 * a copy of its own: who was made on an earlier instance is not torn down on a later one.
 *
 * @category operations
 * @since 0.1.0
 */
export const backUp = Effect.fn("Instance.backUp")(function* (
  sharedComponent: Names.Identity,
  secret: string,
  values: Values
): Effect.fn.Return<void, ProvisionError, Client | Settings> {
  const { managementNamespace: namespace } = yield* Settings
  const client = yield* Client
  const ref = { name: backupOf(sharedComponent, secret), namespace }
  const kept = yield* KubeFailure.orNone(client.get(Builtin.Secret, ref))
  const data = SecretData.encode(values)
  if (Option.isSome(kept) && sameData(kept.value.data ?? {}, data)) return
  const mark = { [sharedComponentUidLabel]: sharedComponent.uid }
  const draft = { metadata: { ...ref, labels: mark, annotations: mark }, type: "Opaque", data }
  yield* KubeFailure.classified(
    Option.match(kept, {
      onNone: () => client.create(Builtin.Secret, draft),
      onSome: (before) => client.update(Builtin.Secret, { ...before, data })
    })
  )
})

/**
 * The copy, as it was last.
 *
 * @category operations
 * @since 0.1.0
 */
export const readBackup = Effect.fn("Instance.readBackup")(function* (
  sharedComponent: Names.Identity,
  secret: string
): Effect.fn.Return<Option.Option<Values>, ProvisionError, Client | Settings> {
  const { managementNamespace: namespace } = yield* Settings
  const ref = { name: backupOf(sharedComponent, secret), namespace }
  const kept = yield* KubeFailure.orNone(Client.use((client) => client.get(Builtin.Secret, ref)))
  return Option.map(kept, SecretData.decode)
})

/**
 * Forgets the copies.
 *
 * @category operations
 * @since 0.1.0
 */
export const removeBackup = Effect.fn("Instance.removeBackup")(function* (
  sharedComponent: Names.Identity
): Effect.fn.Return<void, ProvisionError, Client | Settings> {
  const { managementNamespace: namespace } = yield* Settings
  const client = yield* Client
  const labelSelector = `${sharedComponentUidLabel}=${sharedComponent.uid}`
  const { items } = yield* KubeFailure.classified(client.list(Builtin.Secret, { namespace, labelSelector }))
  // The label is an index; the annotation is what says whose it is.
  const copies = items.filter(({ metadata }) => metadata.annotations?.[sharedComponentUidLabel] === sharedComponent.uid)
  yield* Effect.forEach(
    copies,
    ({ metadata: { name, uid } }) =>
      KubeFailure.orNone(client.delete(Builtin.Secret, { name, namespace }, { preconditions: { uid } })),
    { discard: true }
  )
})

const backupOf = ({ name, uid }: Names.Identity, secret: string): string =>
  Names.instanceSecret({ name, uid: `${uid}/${secret}` })

/**
 * Whether two Secrets' data say the same.
 *
 * @category guards
 * @since 0.1.0
 */
export const sameData = (a: Values, b: Values): boolean => {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}
