import { at, canonical, isObject, type JsonObject, objectOf, stringOf } from "../../src/internal/engines/json.ts"
import { type Case, cases } from "./cases/builtins.ts"
import { isSuccess, type Oracle, refusalOf } from "./oracle.ts"

/** What a real server makes up for each object: times, addresses, and its own numbers. */
const MADE_UP = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "managedFields",
  "generation",
  "deletionTimestamp",
  "namespace"
])

/** An object without what differs from run to run. */
export const normalize = (object: unknown): JsonObject => {
  const { metadata, ...rest } = objectOf(object)
  const uid = stringOf(at(metadata, "uid"))
  const kept = Object.fromEntries(Object.entries(objectOf(metadata)).filter(([key]) => !MADE_UP.has(key)))
  const spec = rest["spec"]
  if (isObject(spec) && rest["kind"] === "Service") {
    for (const key of ["clusterIP", "clusterIPs"])
      if (spec[key] !== "None" && canonical(spec[key]) !== '["None"]') delete spec[key]
  }
  const text = JSON.stringify({ metadata: kept, ...rest })
  return JSON.parse(uid === "" ? text : text.replaceAll(uid, "UID"))
}

const run = async (oracle: Oracle, { path, object, change }: Case) => {
  if (change === undefined) return oracle.call("POST", `${path}?dryRun=All`, object)
  const made = await oracle.call("POST", path, object)
  if (!isSuccess(made)) return made
  const target = `${path}/${stringOf(at(object, "metadata", "name"))}`
  const answer = await oracle.call("PATCH", `${target}?dryRun=All`, change, "application/merge-patch+json")
  await oracle.call("DELETE", `${target}?gracePeriodSeconds=0&propagationPolicy=Background`)
  while ((await oracle.call("GET", target)).code !== 404) continue
  return answer
}

export const recordBuiltins = async (oracle: Oracle) => {
  const goldens = []
  for (const one of cases) {
    const answer = await run(oracle, one)
    goldens.push({
      title: one.title,
      ...(isSuccess(answer) ? { object: normalize(answer.body) } : { refused: shorten(refusalOf(answer)) })
    })
  }
  return goldens
}

/**
 * A cause without what cannot be the same: uids, and values that the real server prints as its own Go structs.
 */
export const comparable = (cause: unknown): JsonObject => {
  const { field, reason, message } = objectOf(cause)
  const text = stringOf(message).replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gu, "UID")
  const short = text.length > 400 ? text.replace(/^(Invalid value: )[\s\S]*(: [a-z ]+)$/u, "$1…$2") : text
  return { field: field ?? "", reason, message: short }
}

const shorten = (refusal: { readonly code: number; readonly causes: ReadonlyArray<unknown> }) => ({
  code: refusal.code,
  causes: refusal.causes.map(comparable)
})
