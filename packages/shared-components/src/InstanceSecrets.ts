/**
 * The Secret of a workload that the operator runs: its own credentials, and where it is reached.
 *
 * **Guarantees**
 * - S17: keys with a value are as the provider says. Keys that are generated are made once, and backed up before anything is deployed
 *   with them; a Secret, or a key of it, that is lost is restored from the backup. Where that is lost too, the shared component fails
 *   closed: new keys would not open what runs.
 *
 * **Caveats**
 * - A generated key that somebody has changed in the Secret is theirs, and is backed up as it is: rotating it is theirs as well.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import * as SecretData from "@berth/kube/SecretData"
import { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Option } from "effect"
import * as Instance from "./Instance.ts"
import * as chance from "./internal/chance.ts"
import type { SharedComponent } from "./SharedComponent.ts"
import type { SharedComponentProvider } from "./SharedComponentProvider.ts"
import { sharedComponentUidLabel } from "./Records.ts"
import type { Settings } from "./Settings.ts"

type ProvisionError = Disposition.ProvisionError
type Key = NonNullable<SharedComponentProvider["spec"]["instanceSecret"]>["keys"][number]

/**
 * The annotation that names the shared component whose Secret it is, with its namespace: `berth-system/postgres`.
 *
 * @category constants
 * @since 0.1.0
 */
export const ownerAnnotation = "berth.dev/shared-component"

/**
 * What a Secret is to have.
 *
 * @category models
 * @since 0.1.0
 */
export interface Wanted {
  readonly reference: Instance.Reference
  readonly keys: ReadonlyArray<Key>
  /** Generated keys that a workload may have been deployed with. */
  readonly deployed: ReadonlyArray<string>
}

/**
 * Sees to it that the keys are there, backed up, and in the Secret; says what they are.
 *
 * **Errors**: `secret_taken` and `keys_lost` of `Instance.Reasons`.
 *
 * @category operations
 * @since 0.1.0
 */
export const ensure = Effect.fn("InstanceSecrets.ensure")(function* (
  shared: SharedComponent,
  { deployed, keys, reference }: Wanted
): Effect.fn.Return<Instance.Values, ProvisionError, Client | Settings> {
  const { namespace, secret } = reference
  const found = yield* Manager.input(Builtin.Secret, { name: secret, namespace })
  const owner = Option.getOrUndefined(found)?.metadata.annotations?.[sharedComponentUidLabel]
  // Somebody who puts a Secret back that was lost does not know whose it was.
  const isPutBack = owner === undefined && deployed.length > 0
  if (Option.isSome(found) && owner !== shared.metadata.uid && !isPutBack) {
    return yield* Instance.Reasons.secret_taken({ secret, namespace })
  }
  const present = Option.match(found, { onNone: () => ({}), onSome: SecretData.decode })
  const kept = Option.getOrElse(yield* Instance.readBackup(shared.metadata, secret), () => ({}))
  const before: Instance.Values = { ...kept, ...present }
  const lost = keys.filter(
    ({ generate, name }) => generate !== undefined && before[name] === undefined && deployed.includes(name)
  )
  if (lost.length > 0) {
    const names = lost.flatMap(({ name }) => Option.toArray(Identifier.fromString(name)))
    return yield* Instance.Reasons.keys_lost({ secret, namespace, keys: names })
  }
  const values = { ...before, ...Object.fromEntries(keys.map((key) => [key.name, valueOf(key, before)])) }
  // In this order: what is deployed with them must not be without them.
  yield* Instance.backUp(shared.metadata, secret, values)
  yield* write(shared, reference, found, values)
  return values
})

const valueOf = ({ generate, name, value }: Key, before: Instance.Values): string =>
  generate === undefined ? (value ?? "") : (before[name] ?? chance.text(generate.length, generate.charset))

/**
 * Puts these beside the others, such as where the workload is reached.
 *
 * @category operations
 * @since 0.1.0
 */
export const add = Effect.fn("InstanceSecrets.add")(function* (
  shared: SharedComponent,
  { namespace, secret }: Instance.Reference,
  more: Instance.Values
): Effect.fn.Return<void, ProvisionError, Client | Settings> {
  const found = yield* KubeFailure.orNone(
    Client.use((client) => client.get(Builtin.Secret, { name: secret, namespace }))
  )
  const present = Option.match(found, { onNone: () => ({}), onSome: SecretData.decode })
  yield* write(shared, { namespace, secret }, found, { ...present, ...more })
})

const write = Effect.fnUntraced(function* (
  { metadata }: SharedComponent,
  { namespace, secret }: Instance.Reference,
  found: Option.Option<Builtin.Secret>,
  values: Instance.Values
) {
  const client = yield* Client
  const data = SecretData.encode(values)
  const owner = `${metadata.namespace}/${metadata.name}`
  const annotations = { [sharedComponentUidLabel]: metadata.uid, [ownerAnnotation]: owner }
  if (Option.isNone(found)) {
    const draft = { metadata: { name: secret, namespace, annotations }, type: "Opaque", data }
    return yield* Effect.asVoid(KubeFailure.classified(client.create(Builtin.Secret, draft)))
  }
  const before = found.value.metadata
  const isMarked = Object.entries(annotations).every(([key, text]) => before.annotations?.[key] === text)
  if (isMarked && Instance.sameData(found.value.data ?? {}, data)) return
  const marked = { ...before, annotations: { ...before.annotations, ...annotations } }
  yield* KubeFailure.classified(client.update(Builtin.Secret, { ...found.value, metadata: marked, data }))
})

/**
 * Removes the Secret, if it is this shared component's.
 *
 * @category operations
 * @since 0.1.0
 */
export const remove = Effect.fn("InstanceSecrets.remove")(function* (
  { metadata }: SharedComponent,
  { namespace, secret }: Instance.Reference
): Effect.fn.Return<void, ProvisionError, Client> {
  const client = yield* Client
  const ref = { name: secret, namespace }
  const found = yield* KubeFailure.orNone(client.get(Builtin.Secret, ref))
  if (Option.isNone(found) || found.value.metadata.annotations?.[sharedComponentUidLabel] !== metadata.uid) return
  yield* KubeFailure.orNone(client.delete(Builtin.Secret, ref, { preconditions: { uid: found.value.metadata.uid } }))
})
