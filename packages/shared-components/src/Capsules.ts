/**
 * What a slice and its binding are made from, put into its record before the first script runs, or a backend is asked for it.
 *
 * **Guarantees**
 * - S11: a capsule has everything that a teardown needs but credentials, which it refers to: later changes of the provider, the
 *   shared component or the template do not reach it, unless somebody asks for it.
 * - S9: a digest of a script's inputs changes with every one of them, and gives no secret away.
 *
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import { Effect, Option, Result } from "effect"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Disposition from "@berth/provisioners/Disposition"
import { canonical } from "./internal/canonical.ts"
import * as instanceSource from "./internal/instanceSource.ts"
import { consumerOf } from "./Records.ts"
import * as Names from "./Names.ts"
import * as Parameters from "./Parameters.ts"
import type * as ScriptJob from "./ScriptJob.ts"
import type { SharedComponent } from "./SharedComponent.ts"
import type { SharedComponentProvider } from "./SharedComponentProvider.ts"
import { databaseProvider as databaseProviderName, type Offer } from "./SliceBackend.ts"
import { type Capsule, Slice } from "./Slice.ts"
import * as Template from "./Template.ts"

/**
 * Why a slice cannot be made from its provider.
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("capsule", {
  unsupported_backend: Disposition.userActionRequired(
    "The provider {provider} has neither scripts with an instance nor another backend that slices can be made by: correct it."
  ),
  binding_failed: Disposition.userActionRequired(
    "The binding of the provider {provider} cannot be rendered: see {place}, which reads what is not there or does not fit."
  )
})

/**
 * The capsule of a slice that scripts make.
 *
 * @category models
 * @since 0.1.0
 */
export type ScriptCapsule = Capsule & Required<Pick<Capsule, "instance" | "provision" | "deprovision">>

/**
 * Whether scripts make the slice.
 *
 * @category guards
 * @since 0.1.0
 */
export const hasScripts = (capsule: Capsule): capsule is ScriptCapsule =>
  capsule.instance !== undefined && capsule.provision !== undefined && capsule.deprovision !== undefined

/**
 * The capsule of a slice that is provisioned now.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  slice: Slice,
  shared: SharedComponent,
  provider: SharedComponentProvider,
  sharedNamespace: Identifier.Identifier
): Result.Result<Capsule, Disposition.ProvisionError> => {
  const consumer = consumerOf(slice)
  return Result.map(madeBy(provider, shared.metadata), (maker) => ({
    ...maker,
    ...sourceOf(provider),
    env: { name: consumer.name, slug: Identifier.Identifier.make(Names.slug(consumer.name)) },
    sharedNamespace,
    // With the schema's defaults; parameters that do not fit keep the shared component from being Ready.
    parameters: Result.getOrElse(
      Parameters.check(provider.spec.parameters, shared.spec.parameters),
      () => shared.spec.parameters
    )
  }))
}

/**
 * The capsule with the scripts, or the settings of its backend, and the binding that the provider has now. What addresses the slice
 * outside stays: its instance, its parameters and its names. A slice of another backend than the provider has now cannot be revised.
 *
 * @category combinators
 * @since 0.1.0
 */
export const revised = (
  capsule: Capsule,
  provider: SharedComponentProvider
): Result.Result<Capsule, Disposition.ProvisionError> =>
  Result.flatMap(madeBy(provider, provider.metadata), ({ instance: _, ...maker }) =>
    maker.backend?.name === capsule.backend?.name
      ? Result.succeed({ ...capsule, ...maker, ...sourceOf(provider) })
      : Result.fail(Reasons.unsupported_backend({ provider: provider.metadata.name }))
  )

const sourceOf = ({ metadata: { generation, name, uid }, spec }: SharedComponentProvider) => ({
  provider: { name, uid, generation },
  binding: spec.binding
})

type Maker = Pick<Capsule, "backend" | "instance" | "provision" | "deprovision">

const madeBy = (
  { metadata, spec }: SharedComponentProvider,
  shared: Names.Identity
): Result.Result<Maker, Disposition.ProvisionError> => {
  const backend = backendOf(spec)
  if (backend !== undefined) return Result.succeed({ backend })
  const { deprovision, provision } = spec
  const instance = instanceSource.of(spec, shared)
  return instance === undefined || provision === undefined || deprovision === undefined
    ? Result.fail(Reasons.unsupported_backend({ provider: metadata.name }))
    : Result.succeed({ instance, provision, deprovision })
}

/**
 * Which backend a provider's slices are made by, and what it is told; none where they are made by scripts.
 *
 * @category getters
 * @since 0.1.0
 */
export const backendOf = ({
  custom,
  databaseProvider
}: Pick<SharedComponentProvider["spec"], "custom" | "databaseProvider">): Capsule["backend"] => {
  if (databaseProvider !== undefined) return { name: databaseProviderName, settings: { ...databaseProvider } }
  return custom === undefined ? undefined : { name: custom.backend, settings: custom.settings }
}

/**
 * What a script's templates read, but for `.Attempt`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const context = (
  capsule: Capsule,
  sliceId: string,
  instance: Readonly<Record<string, string>>,
  generatedSecret: string | undefined
): Template.Context => ({
  Env: { Name: capsule.env.name, Slug: capsule.env.slug, GeneratedSecret: generatedSecret },
  Slice: { Id: sliceId },
  Parameters: capsule.parameters,
  Instance: instance
})

/**
 * The binding's keys: those that the slice's backend gives by itself, and over them those of the templates.
 *
 * @category operations
 * @since 0.1.0
 */
export const binding = (
  capsule: Capsule,
  sliceId: string,
  offer: Offer
): Effect.Effect<Readonly<Record<string, string>>, Disposition.ProvisionError> => {
  const { generatedSecret, host, instance, keys, outputs, port } = offer
  const all = { ...context(capsule, sliceId, instance, generatedSecret), Outputs: outputs, Host: host, Port: port }
  const rendered = Result.map(Template.renderRecord(capsule.binding, all, { name: "binding" }), (own) => ({
    ...keys,
    ...own
  }))
  return Effect.mapError(Effect.fromResult(rendered), (error) => {
    const place = Option.getOrElse(
      Identifier.fromString(`${error.template}:${error.line}:${error.column}`),
      () => unplaced
    )
    return Reasons.binding_failed({ provider: capsule.provider.name, place }, { why: error.message })
  })
}

const unplaced = Identifier.of("binding")

/**
 * A digest of everything that makes a difference to one of the record's scripts: 64 hexadecimal digits.
 *
 * **Details**: `credentials` is the UID of the Secret with the credentials that the script is to set. A script that removes a slice
 * does not care which they are.
 *
 * @category getters
 * @since 0.1.0
 */
export const inputHash = (slice: Slice, action: ScriptJob.Action, credentials = ""): Effect.Effect<string> =>
  Effect.map(Effect.orDie(Slice.encodeSpec(slice.spec)), ({ capsule, sliceId }) => {
    const script = action === "provision" ? capsule?.provision : capsule?.deprovision
    const { env, instance, parameters, sharedNamespace } = capsule ?? {}
    const known = { script, env, instance, parameters, sharedNamespace, credentials }
    const inputs = { action, sliceId, uid: slice.metadata.uid, ...known }
    return createHash("sha256").update(canonical(inputs)).digest("hex")
  })
