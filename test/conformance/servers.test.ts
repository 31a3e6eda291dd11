import { Effect, Schedule } from "effect"
import type { Api } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { gadgets } from "./support/kinds.ts"
import { at, isRecord, type Json, textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
const listOf = (json: Json | undefined): ReadonlyArray<Json> => (Array.isArray(json) ? json : [])
const without = (json: Json | undefined, ...names: ReadonlyArray<string>): Json =>
  isRecord(json) ? Object.fromEntries(Object.entries(json).filter(([name]) => !names.includes(name))) : null

/** What the embedded server serves of these groups, and how. */
const kinds = [
  "pods",
  "secrets",
  "namespaces",
  "serviceaccounts",
  "events",
  "deployments",
  "statefulsets",
  "jobs",
  "leases"
]

conform("servers", {
  "T3, T4: a server says its version": run(function* (api: Api) {
    const { body } = yield* api.quietly("GET", "/version")
    yield* api.note(
      "what it says",
      isRecord(body)
        ? Object.keys(body)
            .filter((key) => /^(major|minor|git)/u.test(key))
            .sort()
        : []
    )
  }),
  "T3, T4: a server is healthy": run(function* (api: Api) {
    yield* api.get("/healthz")
    yield* api.get("/livez")
    yield* api.get("/readyz")
  }),
  "T3, T4: paths that lead nowhere": run(function* (api: Api) {
    yield* api.get("/nothing")
    yield* api.get("/api/v9")
    yield* api.get("/api/v1/nothings")
    yield* api.get("/apis/nothing.example.com")
    yield* api.get("/apis/nothing.example.com/v1")
    yield* api.get("/apis/nothing.example.com/v1/things")
    yield* api.get("/apis/apps/v9")
    yield* api.get("/apis/apps/v9/deployments")
    yield* api.get("/apis/apps/v1/nothings")
    yield* api.get("/openapi/v3/apis/nothing.example.com/v1")
  }),
  "T3, T4: built-in kinds are discovered with their doors": run(function* (api: Api) {
    for (const path of ["/api/v1", "/apis/apps/v1", "/apis/batch/v1", "/apis/coordination.k8s.io/v1"]) {
      const { body } = yield* api.quietly("GET", path)
      const asked = listOf(at(body, "resources")).filter((each) => {
        const [kind = "", door = ""] = textAt(each, "name").split("/")
        return (
          kinds.includes(kind) &&
          ["", "status", "scale", "token", "log", "eviction", "binding", "finalize"].includes(door)
        )
      })
      yield* api.note(
        path,
        asked.map((each) => without(each, "storageVersionHash"))
      )
    }
  }),
  "T3, T4: a kind is discovered in one answer with all others": run(function* (api: Api) {
    const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }
    const names = {
      plural: "gadgets",
      kind: "Gadget",
      singular: "gadget",
      listKind: "GadgetList",
      shortNames: ["gd"],
      categories: ["all"]
    }
    yield* api.define(
      gadgets({ properties: { replicas: { type: "integer" } } }, { subresources: { status: {}, scale } }, { names })
    )
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    const found = yield* Effect.repeat(
      Effect.map(api.quietly("GET", "/apis", undefined, { accept }), ({ body }) =>
        listOf(at(body, "items")).find((item) => textAt(item, "metadata.name") === "{group}")
      ),
      { until: (item) => item !== undefined, schedule: Schedule.spaced("50 millis") }
    )
    yield* api.note("its group", found ?? null)
    const { body } = yield* api.quietly("GET", "/api", undefined, { accept })
    const pods = listOf(at(body, "items.0.versions.0.resources")).find((each) => textAt(each, "resource") === "pods")
    yield* api.note("pods", without(pods, "subresources"))
  }),
  "T3, T4: a group is discovered with its versions, the most stable first": run(function* (api: Api) {
    const version = (name: string) => ({
      name,
      served: true,
      storage: name === "v1",
      schema: { openAPIV3Schema: { type: "object" } }
    })
    yield* api.define(gadgets({}, {}, { versions: ["v1", "v2alpha1", "v10", "v1beta2", "v2", "other"].map(version) }))
    yield* api.until("/apis/{group}", ({ body }) => at(body, "versions.5") !== undefined)
    yield* api.get("/apis/{group}")
    yield* api.get("/apis/{group}/v2alpha1")
  }),
  "T3, T4: a kind's schema is published": run(function* (api: Api) {
    yield* api.define(
      gadgets({ description: "What is wanted.", properties: { size: { type: "string", enum: ["a"] } } })
    )
    const isThere = ({ status }: { readonly status: number }) => status === 200
    const { body } = yield* api.until("/openapi/v3/apis/{group}/v1", isThere)
    const schemas = at(body, "components.schemas")
    const [name, schema] =
      Object.entries(isRecord(schemas) ? schemas : {}).find(([key]) => key.endsWith(".v1.Gadget")) ?? []
    yield* api.note("its name ends so", name?.endsWith("v1.Gadget") === true)
    yield* api.note("its group, version and kind", at(schema, "x-kubernetes-group-version-kind") ?? null)
    yield* api.note("its spec", at(schema, "properties.spec") ?? null)
  })
})
