/** Where the templates are in the kinds. */
import { Result } from "effect"
import type { Component } from "../EnvironmentTemplate.ts"
import type { Script, SharedComponentProvider } from "../SharedComponentProvider.ts"
import * as Template from "../Template.ts"
import { step } from "./shape.ts"

/** A template's source and the path of the field that holds it. */
export interface Text {
  readonly where: string
  readonly source: string
}

/** How deep structured values may be; what is deeper is not looked at here, and refused where it is rendered. */
export const depthMax = 32

/** Every text within values that are structured. */
export const within = (where: string, value: unknown, depth = 0): ReadonlyArray<Text> => {
  if (typeof value === "string") return [{ where, source: value }]
  if (depth >= depthMax || typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, inner]: readonly [string, unknown]) =>
    within(where + step(key), inner, depth + 1)
  )
}

export const ofComponent = (component: Component, index: number): ReadonlyArray<Text> => {
  const where = `spec.components[${index}]`
  const { env, helm, readiness } = component
  return [
    ...within(`${where}.env`, env),
    ...within(`${where}.helm.values`, helm?.values),
    ...within(`${where}.helm.suspendedValues`, helm?.suspendedValues),
    ...(readiness === undefined ? [] : [{ where: `${where}.readiness.httpGet.url`, source: readiness.httpGet.url }])
  ]
}

const ofScript = (where: string, script: Script): ReadonlyArray<Text> => [
  ...within(`${where}.script`, script.script),
  ...script.env.flatMap(({ value }, index) => within(`${where}.env[${index}].value`, value))
]

type Provider = SharedComponentProvider["spec"]

/** Templates by what they may read. */
export interface ProviderTexts {
  readonly chart: ReadonlyArray<Text>
  /** Of scripts that are about one slice. */
  readonly slice: ReadonlyArray<Text>
  /** Of scripts that are about the instance as a whole. */
  readonly instance: ReadonlyArray<Text>
  readonly binding: ReadonlyArray<Text>
}

export const ofProvider = (provider: Provider): ProviderTexts => {
  const scripts = (names: ReadonlyArray<"provision" | "deprovision" | "rotate" | "check" | "list">) =>
    names.flatMap((name) => {
      const script = provider[name]
      return script === undefined ? [] : ofScript(`spec.${name}`, script)
    })
  return {
    chart: [
      ...within("spec.workload.values", provider.workload?.values),
      ...within("spec.workload.suspendedValues", provider.workload?.suspendedValues),
      ...within("spec.workload.service.name", provider.workload?.service?.name)
    ],
    slice: scripts(["provision", "deprovision", "rotate"]),
    instance: scripts(["check", "list"]),
    binding: within("spec.binding", provider.binding)
  }
}

/** What a text's template reads; nothing where it is not a template. */
export const references = ({ source, where }: Text): ReadonlyArray<Template.Reference> =>
  Result.match(Template.parse(source, { name: where }), { onFailure: () => [], onSuccess: Template.references })
