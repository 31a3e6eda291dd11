import {
  arrayOf,
  at,
  canonical,
  compareText,
  isObject,
  type JsonObject,
  objectOf
} from "../../src/internal/engines/json.ts"
import type { Schema } from "../../src/internal/engines/schema.ts"
import { histories, schema, type Step } from "./cases/apply.ts"
import { histories as builtins } from "./cases/applyBuiltins.ts"
import { isSuccess, type Oracle, refusalOf } from "./oracle.ts"

export const GROUP = "golden.example"

/** A CustomResourceDefinition with one version. */
export const crdOf = (plural: string, kind: string, openAPIV3Schema: Schema) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: "Namespaced",
    names: { plural, kind, singular: kind.toLowerCase() },
    versions: [{ name: "v1", served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema } }]
  }
})

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/** Runs with a kind that exists for as long as the run takes. */
export const withKind = async <A>(
  oracle: Oracle,
  plural: string,
  kind: string,
  openAPIV3Schema: Schema,
  run: (path: string) => Promise<A>
): Promise<A> => {
  const made = await oracle.call("POST", CRDS, crdOf(plural, kind, openAPIV3Schema))
  if (!isSuccess(made)) throw new Error(JSON.stringify(made.body))
  const path = `/apis/${GROUP}/v1/namespaces/default/${plural}`
  try {
    while ((await oracle.call("GET", path)).code !== 200 || !(await isPublished(oracle, plural))) continue
    return await run(path)
  } finally {
    await oracle.call("DELETE", `${CRDS}/${plural}.${GROUP}`)
    while ((await oracle.call("GET", `${CRDS}/${plural}.${GROUP}`)).code !== 404) continue
  }
}

/** Server-side apply needs the kind in the published OpenAPI. */
const isPublished = async (oracle: Oracle, plural: string): Promise<boolean> => {
  const answer = await oracle.call("GET", `/openapi/v3/apis/${GROUP}/v1`)
  return JSON.stringify(answer.body).includes(`/${plural}/{name}`)
}

const VERBS = {
  create: { method: "POST", type: "application/json" },
  update: { method: "PUT", type: "application/json" },
  merge: { method: "PATCH", type: "application/merge-patch+json" },
  apply: { method: "PATCH", type: "application/apply-patch+yaml" }
}

/** Where an object lives, and what it is. */
export interface Target {
  readonly path: string
  readonly kind: string
  readonly apiVersion: string
}

const runStep = (oracle: Oracle, { path, kind, apiVersion }: Target, name: string, step: Step) => {
  const { method, type } = VERBS[step.verb]
  const below = step.subresource === undefined ? "" : `/${step.subresource}`
  const target = step.verb === "create" ? path : `${path}/${name}${below}`
  const body = { apiVersion, kind, ...step.body, metadata: { name, ...objectOf(step.body["metadata"]) } }
  const force = step.force === true ? "&force=true" : ""
  return oracle.call(method, `${target}?fieldManager=${step.manager}${force}`, body, type)
}

const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gu

/** What is the same in every run: no names that the server makes up, no times, no order by times. */
export const normalize = (object: unknown): JsonObject => {
  const { managedFields, labels, annotations, finalizers, ownerReferences } = objectOf(at(object, "metadata"))
  const metadata = Object.fromEntries(
    Object.entries({ labels, annotations, finalizers, ownerReferences }).filter(([, value]) => value !== undefined)
  )
  const entries = arrayOf(managedFields)
    .filter(isObject)
    .map(({ time, ...entry }) => ({ ...entry, timed: time !== undefined }))
    .sort((left, right) => compareText(canonical(left), canonical(right)))
  const { metadata: _metadata, ...rest } = objectOf(object)
  const spec = rest["spec"]
  if (rest["kind"] === "Service" && isObject(spec)) {
    const { clusterIP: _ip, clusterIPs: _ips, ...kept } = spec
    rest["spec"] = kept
  }
  return JSON.parse(
    JSON.stringify({ ...rest, metadata, managedFields: entries })
      .replaceAll(UID, "UID")
      .replaceAll(/"h\d+"/gu, '"NAME"')
  )
}

const recordHistory = async (oracle: Oracle, target: Target, name: string, steps: ReadonlyArray<Step>) => {
  const outcomes = []
  let before = ""
  for (const step of steps) {
    const answer = await runStep(oracle, target, name, step)
    const version = String(at(answer.body, "metadata", "resourceVersion"))
    outcomes.push(
      isSuccess(answer)
        ? { object: normalize(answer.body), changed: version !== before }
        : { refused: refusalOf(answer) }
    )
    if (isSuccess(answer)) before = version
  }
  const free = { metadata: { finalizers: null } }
  await oracle.call("PATCH", `${target.path}/${name}`, free, "application/merge-patch+json")
  await oracle.call("DELETE", `${target.path}/${name}?propagationPolicy=Background`)
  return outcomes
}

export const recordApply = (oracle: Oracle) =>
  withKind(oracle, "applies", "Applied", schema, async (path) => {
    const target = { path, kind: "Applied", apiVersion: `${GROUP}/v1` }
    const goldens = []
    for (const [index, { title, steps }] of histories.entries()) {
      goldens.push({ title, outcomes: await recordHistory(oracle, target, `h${index}`, steps) })
    }
    return goldens
  })

export const recordApplyBuiltins = async (oracle: Oracle) => {
  const goldens = []
  for (const [index, { title, steps, ...target }] of builtins.entries()) {
    goldens.push({ title, outcomes: await recordHistory(oracle, target, `h${index}`, steps) })
  }
  return goldens
}
