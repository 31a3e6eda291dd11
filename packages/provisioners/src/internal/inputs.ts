/** Which objects a pass declared as the user's input, which version of each it read, and who is to be woken when one changes. */
import { createHash } from "node:crypto"
import * as Client from "@berth/kube/Client"
import * as KubeError from "@berth/kube/KubeError"
import * as KubeObject from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import * as Watch from "@berth/kube/Watch"
import { Context, Effect, Option } from "effect"
import type * as Disposition from "../Disposition.ts"
import * as KubeFailure from "../KubeFailure.ts"
import type { Input } from "./bookkeeping.ts"
import * as sharedCaches from "./sharedCaches.ts"

/** Where a pass declares; undefined outside of a manager. */
export interface Recorder {
  /** The manager's own cluster: what is read on another one cannot be watched from here. */
  readonly client: Client.Client["Service"]
  readonly declare: (input: Input) => void
}

export const Current = Context.Reference<Recorder | undefined>("@berth/provisioners/Inputs", {
  defaultValue: () => undefined
})

/**
 * Which version of an object this is. Made from what names a version, never from content: status is less private than a
 * Secret. The generation leaves out what an object's own controller writes; kinds without one have no status to speak of.
 */
export const fingerprint = (object: Option.Option<KubeObject.KubeObject>): string => {
  if (Option.isNone(object)) return "absent"
  const { annotations, generation, labels, resourceVersion, uid } = object.value.metadata
  if (generation === undefined) return `${uid}.v${resourceVersion}`
  const sorted = [labels, annotations].map((each) => Object.entries(each ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)))
  const marks = createHash("sha256").update(JSON.stringify(sorted)).digest("hex").slice(0, 16)
  return `${uid}.g${generation}.${marks}`
}

export const read = Effect.fnUntraced(function* <O extends KubeObject.KubeObject>(
  type: ResourceType.ResourceType<O>,
  ref: KubeObject.Ref
): Effect.fn.Return<Option.Option<O>, KubeError.KubeError, Client.Client> {
  const client = yield* Client.Client
  const found = yield* KubeError.orNone(client.get(type, ref))
  const recorder = yield* Current
  if (recorder?.client === client) {
    recorder.declare({
      apiVersion: ResourceType.apiVersion(type),
      kind: type.kind,
      resource: type.plural,
      ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
      name: ref.name,
      fingerprint: fingerprint(found)
    })
  }
  return found
})

/**
 * Reads an object that the user is expected to provide, such as a Secret that the spec names, and declares it as an input of
 * this pass: the object is served again when the input changes, unless the pass ends in Terminal alone. UserActionRequired remembers
 * its inputs in status, so that also a change that comes while the program does not run is noticed.
 *
 * **Details**: reads from the API server. None: there is no such object; its creation counts as a change. For the change to be
 * noticed at once, the kind has to be among the manager's `inputs`; otherwise it is noticed at the next restart, and the log says so.
 *
 * **Errors**: those of `KubeFailure`; never for an object that is not there.
 *
 * **Caveats**: only what is read on the manager's own cluster is declared. Outside of a manager this only reads.
 *
 * **Example** (Wait for a Secret that somebody has to write)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import * as Kind from "@berth/kube/Kind"
 * import * as Disposition from "@berth/provisioners/Disposition"
 * import * as Manager from "@berth/provisioners/Manager"
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Effect, Option, Schema } from "effect"
 *
 * const Reasons = Disposition.vocabulary("mailbox", {
 *   no_password: Disposition.userActionRequired("The Secret with the password is missing.")
 * })
 * const Mailbox = Kind.make({
 *   group: "example.com", version: "v1", kind: "Mailbox", scope: "Namespaced",
 *   spec: Schema.Struct({ secretName: Kind.Text(1, 253) }),
 *   status: Schema.Struct(Manager.statusFields)
 * })
 *
 * export const mailboxes = Manager.make({
 *   kind: Mailbox,
 *   inputs: [Builtin.Secret],
 *   provisioner: ({ metadata, spec }) =>
 *     Provisioner.make("mailbox", {
 *       provision: Effect.gen(function*() {
 *         const password = yield* Manager.input(Builtin.Secret, { name: spec.secretName, namespace: metadata.namespace })
 *         if (Option.isNone(password)) return yield* Reasons.no_password()
 *       }),
 *       deprovision: Effect.void
 *     })
 * })
 * ```
 *
 * @category inputs
 * @since 0.1.0
 */
export const input = <O extends KubeObject.KubeObject>(
  type: ResourceType.ResourceType<O>,
  ref: KubeObject.Ref
): Effect.Effect<Option.Option<O>, Disposition.ProvisionError, Client.Client> => KubeFailure.classified(read(type, ref))

const typeOf = ({ apiVersion, kind, namespace, resource }: Input): ResourceType.ResourceType => {
  const slash = apiVersion.indexOf("/")
  return ResourceType.make({
    group: slash < 0 ? "" : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    kind,
    plural: resource,
    scope: namespace === undefined ? "Cluster" : "Namespaced"
  })
}

/** Whether any of these is another version now than when it was read. */
export const changed = Effect.fnUntraced(function* (
  inputs: ReadonlyArray<Input>
): Effect.fn.Return<boolean, KubeError.KubeError, Client.Client> {
  for (const input of inputs) {
    if (fingerprint(yield* read(typeOf(input), input)) !== input.fingerprint) return true
  }
  return false
})

/** Which objects wait for which inputs: filled by passes, and at the start by what parked objects remember. */
export interface Waiting {
  /** `owner` waits for these from now on, and for no others. */
  readonly set: (owner: string, inputs: Iterable<string>) => void
  readonly add: (owner: string, input: string) => void
  readonly of: (input: string) => ReadonlyArray<KubeObject.Ref>
}

export const keyOf = (type: { readonly kind: string; readonly apiVersion: string }, ref: KubeObject.Ref): string =>
  `${type.apiVersion}/${type.kind}/${KubeObject.key(ref)}`

export const keyOfInput = (input: Input): string => keyOf(input, input)

export const makeWaiting = (): Waiting => {
  const owners = new Map<string, Set<string>>()
  const inputs = new Map<string, Set<string>>()
  const add = (owner: string, input: string) => {
    owners.set(input, (owners.get(input) ?? new Set()).add(owner))
    inputs.set(owner, (inputs.get(owner) ?? new Set()).add(input))
  }
  const drop = (owner: string, input: string) => {
    const left = owners.get(input)
    left?.delete(owner)
    if (left?.size === 0) owners.delete(input)
    inputs.get(owner)?.delete(input)
  }
  return {
    add,
    set: (owner, wanted) => {
      const kept = new Set(wanted)
      for (const input of inputs.get(owner) ?? []) if (!kept.has(input)) drop(owner, input)
      for (const input of kept) add(owner, input)
      if (kept.size === 0) inputs.delete(owner)
    },
    of: (input) => [...(owners.get(input) ?? [])].map(KubeObject.fromKey)
  }
}

export type Source = sharedCaches.Source

// Metadata tells versions apart, and a Secret's data has no business in this process.
const definitionOf = sharedCaches.make({ metadataOnly: true })

const kindOf = (source: Source) =>
  definitionOf(source).with(({ type }) => ({ apiVersion: ResourceType.apiVersion(type), kind: type.kind }))

/** Wakes whoever waits for an object of this source when it changes. */
export const waker = (source: Source, waiting: Waiting): Watch.Watch =>
  definitionOf(source).with((definition) =>
    Watch.mapped(definition, (object) => waiting.of(keyOf(kindOf(source), KubeObject.ref(object))))
  )

/** Says once of each kind that nobody watches it, where it is among no sources: what waits for it would wait for a restart. */
export const unwatched = (sources: ReadonlyArray<Source>): ((inputs: ReadonlyArray<Input>) => Effect.Effect<void>) => {
  const said = new Set(sources.map(kindOf).map(({ apiVersion, kind }) => `${apiVersion}/${kind}`))
  return Effect.forEach(
    ({ apiVersion, kind }) => {
      const name = `${apiVersion}/${kind}`
      if (said.has(name)) return Effect.void
      said.add(name)
      return Effect.logWarning(
        `A pass declared a ${kind} as an input, but ${name} is not among the manager's inputs: a change of it is noticed after a restart only`
      )
    },
    { discard: true }
  )
}
