/**
 * What makes the slices of a provider, and removes them: its scripts, or a backend that the program wires.
 *
 * A backend is chosen by the provider when a slice is made, and written into the slice's capsule with its settings, before anything is
 * sent anywhere. From then on it is the capsule that says which backend a slice belongs to.
 *
 * **Guarantees**
 * - S7: before a backend is asked to make a slice, the record has the capsule and says Provisioning. Whatever it makes is named by the slice id.
 * - S11: a backend is given the capsule, and nothing of the provider as it is by then.
 * - S16: a slice whose backend this program does not have is neither served nor forgotten.
 *
 * **Caveats**
 * - Every operation may be repeated, also after it has succeeded, and by a process that knows nothing of the first time.
 *
 * @since 0.1.0
 */
import type { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import { Context, type Effect, type Option } from "effect"
import type { Settings } from "./Settings.ts"
import type { SharedComponent } from "./SharedComponent.ts"
import type { SharedComponentProvider } from "./SharedComponentProvider.ts"
import type { Capsule } from "./Slice.ts"
import type * as SliceRecord from "./SliceRecord.ts"
import type * as SliceSecrets from "./SliceSecrets.ts"

/**
 * What a backend may use. What else it needs, it brings along.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Client | Settings

type Step<A> = Effect.Effect<A, Disposition.ProvisionError, Services>
type Texts = Readonly<Record<string, string>>

/**
 * The slice that something is done for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Work {
  /** Its record. The slice id in it is what the slice is called outside. */
  readonly record: SliceRecord.SliceRecord
  /** What it was made with. */
  readonly capsule: Capsule
  /** What was kept when it was made; none before. */
  readonly kept: Option.Option<SliceSecrets.Kept>
}

/**
 * What a slice that was made offers to whoever uses it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Offer {
  /** `.Instance` of the binding's templates. */
  readonly instance: Texts
  /** `.Host` */
  readonly host?: string | undefined
  /** `.Port` */
  readonly port?: string | undefined
  /** `.Outputs`: what the backend itself knows of the slice. */
  readonly outputs: Texts
  /** Keys that the binding has without any template. A template of the same key goes over it. */
  readonly keys: Texts
  /** `.Env.GeneratedSecret`, where the slice has one. It is kept with the binding. */
  readonly generatedSecret?: string | undefined
}

/**
 * One way to make slices.
 *
 * **Details**: all operations are idempotent. They say by their failures what they wait for, and are asked again.
 *
 * @category models
 * @since 0.1.0
 */
export interface SliceBackend {
  /** Succeeds where slices of this shared component can be made now, and remembers what their removal will need. */
  readonly check: (shared: SharedComponent, provider: SharedComponentProvider) => Step<void>
  /** Makes the slice, or goes on with it. Succeeds when it can be used. */
  readonly provision: (work: Work) => Step<Offer>
  /** What a slice that was made offers now. Fails where there is none: this makes nothing. */
  readonly offer: (work: Work) => Step<Offer>
  /** Ends what still works on making it; false where nothing of it can be outside. */
  readonly settle: (work: Work) => Step<boolean>
  /** Removes the slice, or goes on with that. Succeeds when nobody can use it any more, and it will be gone without more ado. */
  readonly deprovision: (work: Work) => Step<void>
}

/**
 * The backends that a program has beside scripts, by the names that capsules give them. Without any by default.
 *
 * **Details**: a provider's `databaseProvider` is served by the one that is called {@link databaseProvider}, a provider's `custom` by
 * the one that it names. A provider whose backend is not here is not Ready.
 *
 * **Example** (A program with a backend of its own)
 * ```ts
 * import type { SliceBackend } from "@berth/shared-components/SliceBackend"
 * import * as SliceBackends from "@berth/shared-components/SliceBackend"
 * import { Effect, Layer } from "effect"
 *
 * const prefixes: SliceBackend = {
 *   check: () => Effect.void,
 *   provision: ({ record }) =>
 *     Effect.map(record.current, ({ spec }) => ({ instance: {}, outputs: {}, keys: { prefix: `${spec.sliceId}/` } })),
 *   offer: (work) => prefixes.provision(work),
 *   settle: () => Effect.succeed(true),
 *   deprovision: () => Effect.void
 * }
 *
 * export const layer = Layer.succeed(SliceBackends.Backends, new Map([["key-prefix", prefixes]]))
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export const Backends: Context.Reference<ReadonlyMap<string, SliceBackend>> = Context.Reference<
  ReadonlyMap<string, SliceBackend>
>("@berth/shared-components/SliceBackend/Backends", { defaultValue: () => new Map() })

/**
 * The backend of providers with a `databaseProvider`.
 *
 * @category constants
 * @since 0.1.0
 */
export const databaseProvider = "databaseProvider"
