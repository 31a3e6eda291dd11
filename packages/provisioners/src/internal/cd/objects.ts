/** The objects of a release: which they are, whether they are there, and how they are. */
import * as Client from "@berth/kube/Client"
import * as Impersonation from "@berth/kube/Impersonation"
import type * as KubeError from "@berth/kube/KubeError"
import type { KubeObject } from "@berth/kube/KubeObject"
import { Effect, Option } from "effect"
import { parseAllDocuments } from "yaml"
import type { Observed, Removing } from "../../CdDriver.ts"
import { isJsonObject, type JsonObject } from "../json.ts"
import * as Discovery from "./discovery.ts"
import { type Status, statusOf } from "./kstatus.ts"

/** One object as the manifest names it. */
export interface Listed {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace: string
  /** Helm leaves it when the release goes. */
  readonly kept: boolean
}

const listed = (document: JsonObject, namespace: string): ReadonlyArray<Listed> => {
  const { apiVersion, items, kind, metadata } = document
  if (Array.isArray(items)) return items.filter(isJsonObject).flatMap((item) => listed(item, namespace))
  if (typeof apiVersion !== "string" || typeof kind !== "string" || !isJsonObject(metadata)) return []
  const { annotations, name, namespace: own } = metadata
  if (typeof name !== "string") return []
  const policy = isJsonObject(annotations) ? annotations["helm.sh/resource-policy"] : undefined
  const place = typeof own === "string" && own !== "" ? own : namespace
  return [{ apiVersion, kind, name, namespace: place, kept: policy === "keep" }]
}

/** What a release's manifest, in YAML, consists of. */
export const ofManifest = (manifest: string, namespace: string): ReadonlyArray<Listed> =>
  parseAllDocuments(manifest).flatMap((document) => {
    const value: unknown = document.toJS()
    return isJsonObject(value) ? listed(value, namespace) : []
  })

export const nameOf = ({ kind, name }: Listed): string => `${kind}/${name}`

/** Nothing where the object is not there, or its kind is not any more. What an account may not see, it has not made. */
const read = Effect.fnUntraced(function* ({
  apiVersion,
  kind,
  name,
  namespace
}: Listed): Effect.fn.Return<KubeObject | undefined, KubeError.KubeError, Client.Client> {
  const type = yield* Discovery.find(apiVersion, kind)
  if (type === undefined) return undefined
  const client = yield* Client.Client
  const ref = type.scope === "Namespaced" ? { name, namespace } : { name }
  const isAccount = (yield* Impersonation.User) !== undefined
  const found = yield* Effect.catchTags(Effect.asSome(client.get(type, ref)), {
    NotFound: () => Effect.succeedNone,
    Forbidden: (error) => (isAccount ? Effect.succeedNone : Effect.fail(error))
  })
  return Option.getOrUndefined(found)
})

/** Charts have tens of objects: a few at a time keep the API server free for others. */
const concurrency = 8

const readAll = (objects: ReadonlyArray<Listed>) =>
  Effect.forEach(objects, (each) => Effect.map(read(each), (object) => ({ each, object })), { concurrency })

export interface Health {
  /** Not there, though nothing that finishes by itself. */
  readonly missing: ReadonlyArray<string>
  readonly failed: ReadonlyArray<string>
  readonly waiting: ReadonlyArray<string>
  readonly why: string
}

/** Those that may go once they are done. */
const finishes = new Set(["Job", "Pod"])

interface State {
  readonly name: string
  readonly state: Status["state"] | "Missing"
  readonly why: string
}

const stateOf = (each: Listed, object: KubeObject | undefined): State => {
  const name = nameOf(each)
  if (object !== undefined) return { name, ...statusOf(object) }
  return finishes.has(each.kind)
    ? { name, state: "Current", why: "" }
    : { name, state: "Missing", why: "it is not there" }
}

/** How all of them are. */
export const healthOf = Effect.fnUntraced(function* (objects: ReadonlyArray<Listed>) {
  const states = (yield* readAll(objects)).map(({ each, object }) => stateOf(each, object))
  const named = (...wanted: ReadonlyArray<State["state"]>) =>
    states.filter(({ state }) => wanted.includes(state)).map(({ name }) => name)
  const why = states.filter(({ state }) => state !== "Current").map((each) => `${each.name}: ${each.why}`)
  const health: Health = {
    missing: named("Missing"),
    failed: named("Failed"),
    waiting: named("InProgress", "Terminating"),
    why: why.join("; ")
  }
  return health
})

/** The same as a driver says it. */
export const observed = ({ failed, missing, waiting, why }: Health): Observed => {
  if (failed.length > 0) return { _tag: "Degraded", objects: failed, why }
  const objects = [...missing, ...waiting]
  return objects.length === 0 ? { _tag: "Ready" } : { _tag: "Progressing", objects, why }
}

/** What is still there of those that go with the release; nothing when all are gone. */
export const leftOf = Effect.fnUntraced(function* (
  objects: ReadonlyArray<Listed>
): Effect.fn.Return<Removing | undefined, KubeError.KubeError, Client.Client> {
  const found = yield* readAll(objects.filter(({ kept }) => !kept))
  const left = found.flatMap(({ each, object }) => (object === undefined ? [] : [stateOf(each, object)]))
  if (left.length === 0) return undefined
  const why = left.map((each) => `${each.name}: ${each.why}`).join("; ")
  return { _tag: "Removing", objects: left.map(({ name }) => name), why }
})
