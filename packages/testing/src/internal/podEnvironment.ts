/**
 * The environment of a container, as the kubelet makes it: `$(VAR)` references, values from Secrets, ConfigMaps and the Pod
 * itself, and what is wrong with them.
 */
import { Data, Effect } from "effect"
import type { Container, EnvSource, EnvVar, KeySelector, Pod } from "./workloadTypes.ts"

/** The container cannot be made yet: something that it refers to is missing. The message is the kubelet's. */
export class ConfigMissing extends Data.TaggedError("ConfigMissing")<{ readonly why: string }> {
  override get message() {
    return this.why
  }
}

/** The data of a Secret or ConfigMap; undefined where there is no such object. */
export type Lookup<E> = (
  kind: "Secret" | "ConfigMap",
  name: string
) => Effect.Effect<ReadonlyMap<string, Buffer> | undefined, E>

/**
 * Replaces `$(NAME)` by its value. `$$(NAME)` stands for the text `$(NAME)`; a name without a value stays as it is.
 */
export const expand = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replaceAll(/\$\$|\$\(([^()\s]+)\)/gu, (whole: string, name: string | undefined) =>
    name === undefined ? "$" : (values.get(name) ?? whole)
  )

const entry = /^metadata\.(labels|annotations)\['([^']+)'\]$/u

const lines = (record: Readonly<Record<string, string>>): string =>
  Object.entries(record)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join("\n")

/** The value of a field of the Pod; undefined for one that the downward API does not know. */
export const field = (pod: Pod, path: string): string | undefined => {
  const { annotations = {}, labels = {}, name, namespace = "default", uid = "" } = pod.metadata
  const fixed: Readonly<Record<string, string>> = {
    "metadata.name": name,
    "metadata.namespace": namespace,
    "metadata.uid": uid,
    "metadata.labels": lines(labels),
    "metadata.annotations": lines(annotations),
    "spec.nodeName": pod.spec.nodeName ?? "",
    "spec.serviceAccountName": pod.spec.serviceAccountName ?? "default",
    "status.podIP": "127.0.0.1",
    "status.podIPs": "127.0.0.1",
    "status.hostIP": "127.0.0.1"
  }
  const [, from, key] = entry.exec(path) ?? []
  return key === undefined ? fixed[path] : ((from === "labels" ? labels : annotations)[key] ?? "")
}

const missing = (kind: "Secret" | "ConfigMap", name: string) =>
  new ConfigMissing({ why: `${kind === "Secret" ? "secret" : "configmap"} ${JSON.stringify(name)} not found` })

const keyOf = Effect.fnUntraced(function* <E>(
  lookup: Lookup<E>,
  kind: "Secret" | "ConfigMap",
  selector: KeySelector,
  namespace: string
): Effect.fn.Return<string | undefined, E | ConfigMissing> {
  const name = selector.name ?? ""
  const data = yield* lookup(kind, name)
  const value = data?.get(selector.key)
  if (value !== undefined || selector.optional === true) {
    return value?.toString()
  }
  return yield* data === undefined
    ? missing(kind, name)
    : new ConfigMissing({ why: `couldn't find key ${selector.key} in ${kind} ${namespace}/${name}` })
})

const fromSource = Effect.fnUntraced(function* <E>(
  lookup: Lookup<E>,
  { configMapRef, prefix = "", secretRef }: EnvSource
): Effect.fn.Return<ReadonlyArray<readonly [string, string]>, E | ConfigMissing> {
  const kind = secretRef === undefined ? "ConfigMap" : "Secret"
  const ref = secretRef ?? configMapRef
  const name = ref?.name ?? ""
  const data = yield* lookup(kind, name)
  if (data === undefined && ref?.optional !== true) {
    return yield* missing(kind, name)
  }
  return [...(data ?? [])].map(([key, value]) => [`${prefix}${key}`, value.toString()] as const)
})

const valueOf = <E>(
  pod: Pod,
  variable: EnvVar,
  lookup: Lookup<E>,
  literal: (text: string) => string
): Effect.Effect<string | undefined, E | ConfigMissing> => {
  const { configMapKeyRef, fieldRef, resourceFieldRef, secretKeyRef } = variable.valueFrom ?? {}
  const namespace = pod.metadata.namespace ?? "default"
  if (secretKeyRef !== undefined) {
    return keyOf(lookup, "Secret", secretKeyRef, namespace)
  }
  if (configMapKeyRef !== undefined) {
    return keyOf(lookup, "ConfigMap", configMapKeyRef, namespace)
  }
  const value = fieldRef === undefined ? literal(variable.value ?? "") : field(pod, fieldRef.fieldPath)
  return value === undefined || resourceFieldRef !== undefined
    ? Effect.fail(
        new ConfigMissing({ why: `the value of ${variable.name} comes from a field that is not supported here` })
      )
    : Effect.succeed(value)
}

/**
 * The variables of a container: `base`, then `envFrom`, then `env`, each over what came before. `literal` is applied to the
 * texts that stand in the Pod itself, before references in them are replaced.
 */
export const environment = Effect.fnUntraced(function* <E>(options: {
  readonly pod: Pod
  readonly container: Container
  readonly base: Readonly<Record<string, string>>
  readonly lookup: Lookup<E>
  readonly literal: (text: string) => string
}): Effect.fn.Return<ReadonlyMap<string, string>, E | ConfigMissing> {
  const { base, container, literal, lookup, pod } = options
  const values = new Map(Object.entries(base))
  for (const source of container.envFrom ?? []) {
    for (const [name, value] of yield* fromSource(lookup, source)) {
      values.set(name, value)
    }
  }
  for (const variable of container.env ?? []) {
    const value = yield* valueOf(pod, variable, lookup, literal)
    if (value !== undefined) {
      // Only what the Pod says itself is searched for references: a password may hold one by chance.
      values.set(variable.name, variable.valueFrom === undefined ? expand(value, values) : value)
    }
  }
  return values
})
