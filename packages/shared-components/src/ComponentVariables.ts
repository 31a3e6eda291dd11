/**
 * The variables of an environment's components: rendered, and kept in a Secret beside each component.
 *
 * **Guarantees**
 * - S12: the Secret is only written. What a slice's keys are is read from the kept binding, in the management namespace.
 * - S23: a key that does not exist is an error with its place, never an empty text.
 * - S25: no value is in an error, a condition or a log.
 * - S32: a Secret that an environment names must be labelled `berth.dev/for-environments: "true"`.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as SecretData from "@berth/kube/SecretData"
import * as KubeObjects from "@berth/kube/KubeObject"
import * as CdDriver from "@berth/provisioners/CdDriver"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Option } from "effect"
import type { Environment } from "./Environment.ts"
import type { Component } from "./EnvironmentTemplate.ts"
import { Reasons } from "./internal/environments/reasons.ts"
import * as exactSecret from "./internal/exactSecret.ts"
import * as Names from "./Names.ts"
import { componentLabel, environmentUidLabel, Records } from "./Records.ts"
import { Settings } from "./Settings.ts"
import * as Template from "./Template.ts"

type ProvisionError = Disposition.ProvisionError
type Texts = Readonly<Record<string, string>>
type Variable = NonNullable<Environment["spec"]["env"][string]>[string]

/**
 * The label that a Secret in the management namespace must have for environments to name it.
 *
 * @category constants
 * @since 0.1.0
 */
export const forEnvironmentsLabel = "berth.dev/for-environments"

/**
 * Whether environments may name this Secret.
 *
 * @category guards
 * @since 0.1.0
 */
export const isForEnvironments = ({ metadata }: KubeObjects.KubeObject): boolean =>
  metadata.labels?.[forEnvironmentsLabel] === "true"

/**
 * Where variables are rendered.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place {
  readonly environment: Environment
  /** The environment's own. */
  readonly namespace: string
  readonly url: string | undefined
  /** What the components that are ready offer others, by name. */
  readonly offers: ReadonlyMap<string, Texts>
}

/**
 * Whether the component has any variables, its own or the environment's.
 *
 * @category getters
 * @since 0.1.0
 */
export const hasAny = ({ spec }: Environment, { env, name }: Component): boolean =>
  Object.keys({ ...env, ...spec.env[name] }).length > 0

/**
 * The same, as far as templates see it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Scene extends Pick<Place, "namespace" | "offers" | "url"> {
  readonly environment: { readonly metadata: { readonly name: string }; readonly spec: Environment["spec"] }
}

/**
 * What the templates of a component read.
 *
 * @category constructors
 * @since 0.1.0
 */
export const context = ({ environment, namespace, offers, url }: Scene, component: Component): Template.Context => {
  const { metadata, spec } = environment
  const { branch, repo, sha } = spec.source
  return {
    Env: { Name: metadata.name, Slug: Names.slug(metadata.name), Namespace: namespace, Url: url },
    Source: { Repo: repo, Branch: branch, Sha: sha },
    Values: spec.values[component.name] ?? {},
    Components: Object.fromEntries(offers)
  }
}

/**
 * The component's variables. Those of the environment go over those of the template.
 *
 * **Errors**: of `Environments.Reasons`, those about Secrets, keys and rendering.
 *
 * @category operations
 * @since 0.1.0
 */
export const render = Effect.fn("ComponentVariables.render")(function* (
  place: Place,
  component: Component,
  index: number
): Effect.fn.Return<Texts, ProvisionError, Client | Settings> {
  const given = place.environment.spec.env[component.name] ?? {}
  const own = Object.entries(component.env).filter(([name]) => !Object.hasOwn(given, name))
  const rendered = yield* Effect.mapError(
    Effect.fromResult(
      Template.renderRecord(Object.fromEntries(own), context(place, component), {
        name: `spec.components[${index}].env`
      })
    ),
    (error) => {
      const at = Option.getOrElse(Identifier.fromString(Template.at(error)), () => component.name)
      return Reasons.variables_failed({ component: component.name, place: at }, { why: error.message })
    }
  )
  const overridden = yield* Effect.forEach(Object.entries(given), ([name, variable]) =>
    Effect.map(valueOf(place, component, name, variable), (text) => [name, text] as const)
  )
  return { ...rendered, ...Object.fromEntries(overridden) }
})

/**
 * Makes the component's Secret hold exactly these variables.
 *
 * @category operations
 * @since 0.1.0
 */
export const write = (
  { environment, namespace }: Place,
  { name }: Component,
  values: Texts
): Effect.Effect<void, ProvisionError, Client> =>
  exactSecret.write({
    name: Names.componentEnv(name),
    namespace,
    labels: { [componentLabel]: Names.labelValue(name), [environmentUidLabel]: environment.metadata.uid },
    annotations: {},
    type: "Opaque",
    values
  })

/**
 * Removes the Secrets of components that are not among these.
 *
 * @category operations
 * @since 0.1.0
 */
export const removeOthers = Effect.fn("ComponentVariables.removeOthers")(function* (
  namespace: string,
  kept: ReadonlyArray<Component>
): Effect.fn.Return<void, ProvisionError, Client | Records> {
  const client = yield* Client
  const names = new Set(kept.map(({ name }) => Names.componentEnv(name)))
  const all = (yield* CdDriver.Destination) === undefined ? yield* known(namespace) : yield* listed(namespace)
  const left = all.filter(({ metadata }) => !names.has(metadata.name))
  yield* Effect.forEach(
    left,
    (secret) =>
      KubeFailure.orNone(
        client.delete(Builtin.Secret, KubeObjects.ref(secret), { preconditions: { uid: secret.metadata.uid } })
      ),
    { discard: true }
  )
})

const known = (namespace: string) => Effect.flatMap(Records, ({ componentSecrets }) => componentSecrets(namespace))

/** The caches are those of the operator's own cluster. */
const listed = (namespace: string) =>
  KubeFailure.classified(
    Client.use((client) =>
      client.list(Builtin.Secret, { namespace, labelSelector: componentLabel, metadataOnly: true })
    )
  ).pipe(Effect.map(({ items }): ReadonlyArray<KubeObjects.KubeObject> => items))

/** A name of a variable is one of an identifier, but for what may stand in front. */
const shown = (name: string, component: Component): Identifier.Identifier =>
  Option.getOrElse(Identifier.fromString(name.replace(/^_+|_+$/gu, "")), () => component.name)

const valueOf = Effect.fnUntraced(function* (
  { offers }: Place,
  component: Component,
  name: string,
  { secretKeyRef, sliceKeyRef, value }: Variable
): Effect.fn.Return<string, ProvisionError, Client | Settings> {
  const about = { variable: shown(name, component), component: component.name }
  if (secretKeyRef !== undefined) return yield* fromSecret(secretKeyRef, about)
  if (sliceKeyRef === undefined) return value ?? ""
  const found = offers.get(sliceKeyRef.component)?.[sliceKeyRef.key]
  return found ?? (yield* Reasons.slice_key_missing({ ...about, slice: sliceKeyRef.component }))
})

const fromSecret = Effect.fnUntraced(function* (
  { key, name: secret }: NonNullable<Variable["secretKeyRef"]>,
  about: { readonly variable: Identifier.Identifier; readonly component: Identifier.Identifier }
): Effect.fn.Return<string, ProvisionError, Client | Settings> {
  const { managementNamespace } = yield* Settings
  const found = yield* Manager.input(Builtin.Secret, { name: secret, namespace: managementNamespace })
  if (Option.isNone(found)) {
    const namespace = Identifier.Identifier.make(managementNamespace)
    return yield* Reasons.secret_missing({ ...about, secret, namespace })
  }
  if (!isForEnvironments(found.value)) {
    return yield* Reasons.secret_not_allowed({ ...about, secret })
  }
  const text = SecretData.decode(found.value)[key]
  return text ?? (yield* Reasons.secret_key_missing({ ...about, secret }))
})
