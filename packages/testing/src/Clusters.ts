/**
 * One test on several clusters: the embedded one always, and a real one where the environment names it.
 *
 * **Guarantees**
 * - T1: a test written against {@link Candidate.layer} runs unchanged on each.
 * - T11: what {@link namespace} and {@link definition} made on a cluster that stays is taken away when the scope closes.
 *
 * @since 0.1.0
 */
import * as KubeError from "@berth/kube/KubeError"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { ConnectionError } from "@berth/kube/ConnectionError"
import type { Crd } from "@berth/kube/Crd"
import * as KubeObject from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { Effect, Layer, Option, Schedule, type Scope } from "effect"
import { randomBytes } from "node:crypto"
import * as Await from "./Await.ts"
import * as Cluster from "./Cluster.ts"

/**
 * A cluster that a test can run on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Candidate {
  readonly kind: Cluster.ClusterKind
  /** The cluster and its client. An embedded one is fresh each time that it is provided. */
  readonly layer: Layer.Layer<Cluster.Cluster | Client, ConnectionError>
}

/**
 * The variable of the environment that names the kubeconfig of a real cluster for tests.
 *
 * @category constants
 * @since 0.1.0
 */
export const variable = "BERTH_TEST_KUBECONFIG"

/**
 * The clusters to run a test on.
 *
 * **Details**: an embedded cluster, and the one whose kubeconfig the variable {@link variable} names, where it is set.
 *
 * **Example** (A test on each cluster)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import { Client } from "@berth/kube/Client"
 * import * as Clusters from "@berth/testing/Clusters"
 * import { Effect } from "effect"
 *
 * const test = Effect.gen(function* () {
 *   const client = yield* Client
 *   const namespace = yield* Clusters.namespace
 *   yield* client.create(Builtin.ConfigMap, { metadata: { name: "a", namespace } })
 * })
 *
 * // In a test file: describe.each(Clusters.each())("on the $kind cluster", ({ layer }) => { … })
 * export const runs = Clusters.each().map(({ layer }) => test.pipe(Effect.scoped, Effect.provide(layer)))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const each = (options: { readonly kubeconfig?: string | undefined } = {}): ReadonlyArray<Candidate> => {
  const kubeconfig = options.kubeconfig ?? process.env[variable] ?? ""
  const embedded: Candidate = { kind: "embedded", layer: Layer.fresh(Cluster.embeddedWithClient()) }
  if (kubeconfig === "") return [embedded]
  const existing = Layer.provideMerge(Cluster.client, Cluster.existing({ kubeconfig }))
  return [embedded, { kind: "existing", layer: existing }]
}

/**
 * A name that no other test has, beginning as given.
 *
 * @category names
 * @since 0.1.0
 */
export const unique = (prefix: string): Effect.Effect<string> =>
  Effect.sync(() => `${prefix}-${randomBytes(4).toString("hex")}`)

/**
 * A namespace of the test's own. It is deleted when the scope closes; a real cluster needs seconds more to empty it.
 *
 * @category resources
 * @since 0.1.0
 */
export const namespace: Effect.Effect<string, KubeError.KubeError, Client | Scope.Scope> = Effect.gen(function* () {
  const client = yield* Client
  const name = yield* unique("berth-test")
  yield* Effect.acquireRelease(client.create(Builtin.Namespace, { metadata: { name } }), () =>
    Effect.ignore(client.delete(Builtin.Namespace, { name }))
  )
  return name
})

/**
 * Makes a kind known to the cluster, and waits until its objects are served. When the scope closes the definition is
 * deleted, and with it every object of the kind; that it is gone is waited for, 8 s at most, after which the log names what
 * holds it. A definition that was there already is brought up to date and stays; one that is on its way out is waited for first.
 *
 * **Caveats**
 * - An object that a finalizer holds keeps the definition, for as long as nothing takes the finalizer off.
 *
 * @category resources
 * @since 0.1.0
 */
export const definition: (crd: Crd) => Effect.Effect<void, KubeError.KubeError, Client | Scope.Scope> =
  Effect.fnUntraced(function* (crd) {
    const client = yield* Client
    const ref = { name: crd.metadata.name }
    const type = typeOf(crd)
    const stays = yield* isThereToStay(ref)
    const removed = Effect.andThen(
      client.delete(Builtin.CustomResourceDefinition, ref),
      Await.gone(Builtin.CustomResourceDefinition, ref)
    )
    yield* Effect.acquireRelease(client.apply(Builtin.CustomResourceDefinition, crd, { force: true }), () =>
      stays
        ? Effect.void
        : removed.pipe(Effect.timeoutOrElse({ duration: "8 seconds", orElse: () => heldUp(type) }), Effect.ignore)
    )
    yield* Await.until(
      Builtin.CustomResourceDefinition,
      ref,
      ({ status }) =>
        status?.conditions?.some(({ status, type }) => type === "Established" && status === "True") ?? false
    )
    // Between the acceptance and the first answer for the kind lies a moment, about which no event tells.
    const soon = Schedule.spaced("20 millis")
    yield* Effect.retry(client.list(type), { while: ({ _tag }) => _tag === "NotFound", schedule: soon })
  })

const typeOf = ({ spec: { group, names, scope, versions } }: Crd): ResourceType.ResourceType =>
  ResourceType.make({ group, version: versions[0]?.name ?? "", kind: names.kind, plural: names.plural, scope })

/** One that is being deleted still serves its kind, and then is gone whatever is applied to it meanwhile. */
const isThereToStay = Effect.fnUntraced(function* (ref: { readonly name: string }) {
  const client = yield* Client
  const found = yield* KubeError.orNone(client.get(Builtin.CustomResourceDefinition, ref))
  if (Option.isNone(found)) return false
  if (found.value.metadata.deletionTimestamp === undefined) return true
  yield* Await.gone(Builtin.CustomResourceDefinition, ref)
  return false
})

const namesMax = 3

/** A test that ended before its controller had let go of everything. */
const heldUp = Effect.fnUntraced(function* (type: ResourceType.ResourceType) {
  const client = yield* Client
  const { items } = yield* client.list(type)
  const held = items
    .slice(0, namesMax)
    .map(({ metadata }) => `${KubeObject.key(metadata)} by ${metadata.finalizers?.join(", ") ?? "nothing"}`)
  yield* Effect.logWarning(
    `The definition of ${ResourceType.qualified(type)} is still there, since finalizers hold objects: ${held.join("; ")}`
  )
})
