/**
 * What this package watches, and the lookups that its controllers make: answered from memory, at the cost of the answer's size.
 *
 * Nothing that must never be wrong is decided on what is found here: it may be a moment old.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import { Caches } from "@berth/kube/Caches"
import type * as Kind from "@berth/kube/Kind"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import { Context, Effect, Layer, type Option } from "effect"
import { Environment } from "./Environment.ts"
import { EnvironmentTemplate } from "./EnvironmentTemplate.ts"
import { isPaused } from "./internal/paused.ts"
import { sliceIdLabel } from "./ScriptJob.ts"
import { Settings } from "./Settings.ts"
import { SharedComponent } from "./SharedComponent.ts"
import { SharedComponentProvider } from "./SharedComponentProvider.ts"
import { Slice } from "./Slice.ts"

/**
 * A Slice as it is on the wire.
 *
 * @category models
 * @since 0.1.0
 */
export type RawSlice = Kind.Raw<typeof Slice>

/**
 * Who has the slice: its first consumer, or who adopted it.
 *
 * @category getters
 * @since 0.1.0
 */
export const consumerOf = <N extends string>({ spec }: { readonly spec: Consumed<N> }): Consumer<N> => {
  const { name, namespace, uid } = spec.adoptedBy ?? spec.consumer
  return { name, uid, namespace, component: spec.consumer.component }
}

interface Adopter<N> {
  readonly name: N
  readonly uid: N
  readonly namespace: N
}

/**
 * An environment's component. The names are identifiers where the record is decoded.
 *
 * @category models
 * @since 0.1.0
 */
export interface Consumer<N extends string = string> extends Adopter<N> {
  readonly component: N
}

interface Consumed<N extends string> {
  readonly consumer: Consumer<N>
  readonly adoptedBy?: Adopter<N>
}

/**
 * What the slice is of: the shared component that it was made at, or the one of the same name that it was adopted with.
 *
 * @category getters
 * @since 0.1.0
 */
export const sharedComponentOf = <N extends string>({ spec }: { readonly spec: Sliced<N> }): Identity<N> => ({
  name: spec.sharedComponent.name,
  uid: spec.adoptedBy?.sharedComponentUid ?? spec.sharedComponent.uid
})

interface Identity<N> {
  readonly name: N
  readonly uid: N
}

interface Sliced<N extends string> {
  readonly sharedComponent: Identity<N>
  readonly adoptedBy?: { readonly sharedComponentUid?: N }
}

/**
 * How far a slice is; a record that was just written waits.
 *
 * @category getters
 * @since 0.1.0
 */
export const phaseOf = ({ status }: Pick<RawSlice, "status">) => status?.phase ?? "Waiting"

/**
 * Whether a record waits for a place: it is neither being deleted nor given up, and nobody has paused it.
 *
 * @category guards
 * @since 0.1.0
 */
export const isInLine = (slice: RawSlice): boolean =>
  phaseOf(slice) === "Waiting" &&
  slice.metadata.deletionTimestamp === undefined &&
  slice.spec.desired !== "Released" &&
  !isPaused(slice)

/**
 * The caches of the controllers. One definition is one cache, whoever opens it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const definitions = ({
  managementNamespace,
  sharedNamespace
}: Pick<Settings["Service"], "managementNamespace" | "sharedNamespace">) => {
  const namespaces = [managementNamespace]
  return {
    environments: Cache.define(Environment, {
      namespaces,
      indexes: {
        uid: ({ metadata }) => [metadata.uid ?? ""],
        template: ({ spec }) => [spec.templateRef.name]
      }
    }),
    templates: Cache.define(EnvironmentTemplate, {
      namespaces,
      indexes: { sharedComponent: ({ spec }) => spec.components.flatMap((each) => each.sharedComponentRef?.name ?? []) }
    }),
    sharedComponents: Cache.define(SharedComponent, {
      namespaces,
      indexes: { provider: ({ spec }) => [spec.providerRef.name] }
    }),
    providers: Cache.define(SharedComponentProvider, { namespaces }),
    slices: Cache.define(Slice, {
      namespaces,
      indexes: {
        consumer: (slice) => [consumerOf(slice).uid],
        sharedComponent: (slice) => [sharedComponentOf(slice).uid],
        inLine: (slice) => (isInLine(slice) ? [sharedComponentOf(slice).uid] : []),
        sliceId: ({ spec }) => [spec.sliceId]
      }
    }),
    jobs: Cache.define(Builtin.Job, {
      namespaces: [sharedNamespace],
      labelSelector: sliceIdLabel,
      drop: ["spec.template"]
    }),
    /** The copies of bindings in the environments' namespaces, and the operator's own Secrets of slices. */
    sliceSecrets: Cache.define(Builtin.Secret, { labelSelector: sliceIdLabel, metadataOnly: true }),
    /** The Secrets with components' variables, in the environments' namespaces. */
    componentSecrets: Cache.define(Builtin.Secret, { labelSelector: componentLabel, metadataOnly: true }),
    /** What platform teams provide: instance Secrets. */
    sharedSecrets: Cache.define(Builtin.Secret, { namespaces: [sharedNamespace], metadataOnly: true }),
    /** What environments name in `secretKeyRef`. */
    managementSecrets: Cache.define(Builtin.Secret, { namespaces, metadataOnly: true }),
    /** The ledgers among them tell when a place is given back. */
    managementConfigMaps: Cache.define(Builtin.ConfigMap, { namespaces }),
    namespaces: Cache.define(Builtin.Namespace, { labelSelector: environmentUidLabel, metadataOnly: true })
  }
}

/**
 * The label on an environment's namespace, its records and what else is made for it. An index only.
 *
 * @category constants
 * @since 0.1.0
 */
export const environmentUidLabel = "berth.dev/environment-uid"

/**
 * The label on records: which shared component they are of. An index only.
 *
 * @category constants
 * @since 0.1.0
 */
export const sharedComponentUidLabel = "berth.dev/shared-component-uid"

/**
 * The label on the Secret with a component's variables: its value is the component. An index only.
 *
 * @category constants
 * @since 0.1.0
 */
export const componentLabel = "berth.dev/component"

/**
 * @category models
 * @since 0.1.0
 */
export type Definitions = ReturnType<typeof definitions>

/**
 * @category services
 * @since 0.1.0
 */
export class Records extends Context.Service<
  Records,
  {
    readonly definitions: Definitions
    /** Who waits for a place at the shared component of this UID, first come first. */
    readonly line: (sharedComponentUid: string) => Effect.Effect<ReadonlyArray<RawSlice>>
    readonly slicesOfConsumer: (environmentUid: string) => Effect.Effect<ReadonlyArray<RawSlice>>
    readonly slicesOfSharedComponent: (sharedComponentUid: string) => Effect.Effect<ReadonlyArray<RawSlice>>
    readonly slicesById: (sliceId: string) => Effect.Effect<ReadonlyArray<RawSlice>>
    readonly environment: (ref: Ref) => Effect.Effect<Option.Option<Kind.Raw<typeof Environment>>>
    readonly environmentsByUid: (uid: string) => Effect.Effect<ReadonlyArray<Kind.Raw<typeof Environment>>>
    readonly environmentsOfTemplate: (name: string) => Effect.Effect<ReadonlyArray<Kind.Raw<typeof Environment>>>
    readonly template: (name: string) => Effect.Effect<Option.Option<Kind.Raw<typeof EnvironmentTemplate>>>
    readonly templatesOfSharedComponent: (
      name: string
    ) => Effect.Effect<ReadonlyArray<Kind.Raw<typeof EnvironmentTemplate>>>
    readonly sharedComponent: (name: string) => Effect.Effect<Option.Option<Kind.Raw<typeof SharedComponent>>>
    readonly sharedComponentsOfProvider: (
      name: string
    ) => Effect.Effect<ReadonlyArray<Kind.Raw<typeof SharedComponent>>>
    readonly provider: (name: string) => Effect.Effect<Option.Option<Kind.Raw<typeof SharedComponentProvider>>>
    readonly namespace: (name: string) => Effect.Effect<Option.Option<KubeObject>>
    /** Of the management namespace. */
    readonly configMap: (name: string) => Effect.Effect<Option.Option<Builtin.ConfigMap>>
    /** The Secrets with components' variables in a namespace. */
    readonly componentSecrets: (namespace: string) => Effect.Effect<ReadonlyArray<KubeObject>>
  }
>()("@berth/shared-components/Records") {
  /**
   * Opens the caches that lookups need.
   *
   * @since 0.1.0
   */
  static readonly layer: Layer.Layer<Records, never, Caches | Settings> = Layer.effect(
    Records,
    Effect.gen(function* () {
      const caches = yield* Caches
      const settings = yield* Settings
      const all = definitions(settings)
      const managed = (name: string): Ref => ({ name, namespace: settings.managementNamespace })
      const slices = yield* caches.open(all.slices)
      const environments = yield* caches.open(all.environments)
      const templates = yield* caches.open(all.templates)
      const sharedComponents = yield* caches.open(all.sharedComponents)
      const providers = yield* caches.open(all.providers)
      const namespaces = yield* caches.open(all.namespaces)
      const componentSecrets = yield* caches.open(all.componentSecrets)
      const configMaps = yield* caches.open(all.managementConfigMaps)
      return {
        definitions: all,
        line: (uid) => Effect.map(slices.byIndex("inLine", uid), (waiting) => waiting.toSorted(byArrival)),
        slicesOfConsumer: (uid) => slices.byIndex("consumer", uid),
        slicesOfSharedComponent: (uid) => slices.byIndex("sharedComponent", uid),
        slicesById: (id) => slices.byIndex("sliceId", id),
        environment: environments.get,
        environmentsByUid: (uid) => environments.byIndex("uid", uid),
        environmentsOfTemplate: (name) => environments.byIndex("template", name),
        template: (name) => templates.get(managed(name)),
        templatesOfSharedComponent: (name) => templates.byIndex("sharedComponent", name),
        sharedComponent: (name) => sharedComponents.get(managed(name)),
        sharedComponentsOfProvider: (name) => sharedComponents.byIndex("provider", name),
        provider: (name) => providers.get(managed(name)),
        namespace: (name) => namespaces.get({ name }),
        configMap: (name) => configMaps.get(managed(name)),
        componentSecrets: (namespace) => componentSecrets.list(namespace)
      }
    })
  )
}

/**
 * The order of a line: by arrival. The ids break ties, the same way everywhere.
 *
 * @category orders
 * @since 0.1.0
 */
export const byArrival = (a: RawSlice, b: RawSlice): number =>
  a.spec.arrivedAt < b.spec.arrivedAt || (a.spec.arrivedAt === b.spec.arrivedAt && a.spec.sliceId < b.spec.sliceId)
    ? -1
    : 1
