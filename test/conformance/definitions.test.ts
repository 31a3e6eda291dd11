import { Effect } from "effect"
import { type Api, definitions } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { gadget, gadgets, path } from "./support/kinds.ts"
import { textAt } from "./support/normal.ts"

const run = Effect.fnUntraced

/** A schema with something of everything. */
const rich = gadgets({
  required: ["size"],
  properties: {
    size: { type: "string", enum: ["small", "large"] },
    count: { type: "integer", minimum: 1, maximum: 5, default: 2 },
    name: { type: "string", maxLength: 5, pattern: "^[a-z]+$" },
    tags: { type: "array", maxItems: 2, items: { type: "string" }, "x-kubernetes-list-type": "set" },
    ports: {
      type: "array",
      items: {
        type: "object",
        required: ["port"],
        properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP" } }
      },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["port"]
    },
    either: { "x-kubernetes-int-or-string": true },
    when: { type: "string", format: "date-time" },
    nothing: { type: "string", nullable: true },
    options: { type: "object", default: {}, properties: { depth: { type: "integer", default: 3 } } }
  }
})

const ruled = gadgets({
  properties: { min: { type: "integer" }, max: { type: "integer" }, fixed: { type: "string", maxLength: 9 } },
  "x-kubernetes-validations": [
    { rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: "min is at most max" },
    { rule: "!has(oldSelf.fixed) || self.fixed == oldSelf.fixed", message: "fixed stays", fieldPath: ".fixed" },
    {
      rule: "self.max < 100",
      messageExpression: "self.max > 200 ? 'far too large' : 'too large'",
      reason: "FieldValueForbidden"
    }
  ]
})

const loose = gadgets({ "x-kubernetes-preserve-unknown-fields": true })

conform("definitions", {
  "T3, T4: what the schema refuses is named field by field": run(function* (api: Api) {
    yield* api.define(rich)
    yield* api.post(path, gadget("g"))
    yield* api.post(path, gadget("g", { size: "huge", count: 9, name: "LONG NAME", when: "yesterday" }))
    yield* api.post(path, gadget("g", { size: "small", count: "two", tags: "a" }))
    yield* api.post(path, gadget("g", { size: "small", tags: ["a", "a"] }))
    yield* api.post(path, gadget("g", { size: "small", tags: ["a", "b", "c"] }))
    yield* api.post(path, gadget("g", { size: "small", ports: [{ port: 1 }, { port: 1 }, {}] }))
    yield* api.post(path, gadget("g", { size: "small", either: true }))
    yield* api.post(path, gadget("g", "small"))
  }),
  "T3, T4: defaults are filled in, and null falls to them": run(function* (api: Api) {
    yield* api.define(rich)
    yield* api.post(path, gadget("a", { size: "small" }))
    yield* api.post(path, gadget("b", { size: "small", count: null, nothing: null, ports: [{ port: 1 }], options: {} }))
    yield* api.merge(`${path}/a`, { spec: { count: 3, either: "50%" } })
    yield* api.merge(`${path}/a`, { spec: { count: null } })
  }),
  "T3, T4: what the schema does not know is pruned, warned of, or refused": run(function* (api: Api) {
    yield* api.define(rich)
    const odd = gadget("g", { size: "small", colour: "red", options: { width: 1 } }, { extra: true })
    yield* api.post(`${path}?fieldValidation=Ignore&dryRun=All`, odd)
    yield* api.post(`${path}?fieldValidation=Warn&dryRun=All`, odd)
    yield* api.post(`${path}?fieldValidation=Strict&dryRun=All`, odd)
  }),
  "T3, T4: unknown fields are kept where the schema says so": run(function* (api: Api) {
    yield* api.define(loose)
    yield* api.post(path, gadget("g", { any: { thing: [1, "2", null] } }))
  }),
  "T3, T4: CEL rules hold, with their messages, paths and reasons": run(function* (api: Api) {
    yield* api.define(ruled)
    yield* api.post(path, gadget("g", { min: 3, max: 2 }))
    yield* api.post(path, gadget("g", { max: 100 }))
    yield* api.post(path, gadget("g", { min: 1, max: 2, fixed: "a" }))
    yield* api.merge(`${path}/g`, { spec: { fixed: "b" } })
    yield* api.merge(`${path}/g`, { spec: { max: 3 } })
  }),
  "T3, T4: a definition whose schema is not structural is refused": run(function* (api: Api) {
    yield* api.post(definitions, gadgets({ properties: { x: {} } }))
    yield* api.post(definitions, gadgets({ properties: { x: { type: "string", default: 1 } } }))
    const { body, status } = yield* api.quietly(
      "POST",
      definitions,
      gadgets({ "x-kubernetes-validations": [{ rule: "self.none" }] })
    )
    yield* api.note("a rule about a field that is none", { status, field: textAt(body, "details.causes.0.field") })
    yield* api.post(definitions, { ...gadgets(), metadata: { name: "others.{group}" } })
  }),
  "T3, T4: the status is written by its own door": run(function* (api: Api) {
    yield* api.define(loose)
    yield* api.post(path, gadget("g", { x: 1 }, { status: { early: true } }))
    yield* api.merge(`${path}/g`, { spec: { x: 2 }, status: { early: true } })
    yield* api.merge(`${path}/g/status`, { spec: { x: 3 }, status: { ready: true }, metadata: { labels: { k: "v" } } })
    yield* api.get(`${path}/g/status`)
    const { body } = yield* api.quietly("GET", `${path}/g`)
    const metadata = { name: "g", resourceVersion: textAt(body, "metadata.resourceVersion") }
    yield* api.put(`${path}/g/status`, gadget("g", { x: 4 }, { metadata, status: { ready: false } }))
    yield* api.put(`${path}/g`, gadget("g", { x: 5 }, { metadata }))
  }),
  "T3, T4: a kind without a status subresource has no door, and its generation counts every change": run(function* (
    api: Api
  ) {
    yield* api.define(gadgets({ "x-kubernetes-preserve-unknown-fields": true }, { subresources: {} }))
    yield* api.post(path, gadget("g", { x: 1 }, { status: { early: true } }))
    yield* api.merge(`${path}/g`, { status: { early: false } })
    yield* api.merge(`${path}/g`, { metadata: { labels: { k: "v" } } })
    yield* api.merge(`${path}/g/status`, { status: { ready: true } })
  }),
  "T3, T4: the generation counts changes of what is wanted, and no others": run(function* (api: Api) {
    yield* api.define(loose)
    yield* api.post(path, gadget("g", { x: 1 }))
    yield* api.merge(`${path}/g`, { spec: { x: 1 } })
    yield* api.merge(`${path}/g`, { metadata: { annotations: { k: "v" } } })
    yield* api.merge(`${path}/g`, { spec: { x: 2 } })
    yield* api.merge(`${path}/g/status`, { status: { ready: true } })
    yield* api.merge(`${path}/g`, { metadata: { finalizers: ["example.com/held"] } })
    yield* api.remove(`${path}/g`)
    yield* api.merge(`${path}/g`, { metadata: { finalizers: null } })
  }),
  "T3, T4: a custom object is updated by its version only": run(function* (api: Api) {
    yield* api.define(loose)
    yield* api.post(path, gadget("g", { x: 1 }))
    yield* api.put(`${path}/g`, gadget("g", { x: 2 }))
    yield* api.post(path, gadget("g", { x: 2 }))
    yield* api.post(path, { ...gadget("h"), kind: "Widget" })
  }),
  "T3, T4: the scale of a kind is read and written by itself": run(function* (api: Api) {
    const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }
    const spec = { properties: { replicas: { type: "integer", minimum: 0 } } }
    yield* api.define(gadgets(spec, { subresources: { status: {}, scale } }))
    yield* api.post(path, gadget("g", { replicas: 2 }))
    yield* api.get(`${path}/g/scale`)
    yield* api.merge(`${path}/g/scale`, { spec: { replicas: 3 } })
    yield* api.get(`${path}/g`)
  }),
  "T3, T4: columns are shown, and what they are made of": run(function* (api: Api) {
    const additionalPrinterColumns = [
      { name: "Size", type: "string", jsonPath: ".spec.size" },
      { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
      { name: "Count", type: "integer", jsonPath: ".spec.count", priority: 1 },
      { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
    ]
    yield* api.define(gadgets({ "x-kubernetes-preserve-unknown-fields": true }, { additionalPrinterColumns }))
    yield* api.quietly("POST", path, gadget("g", { size: "small", count: 2 }))
    const conditions = [{ type: "Ready", status: "True" }]
    yield* api.quietly("PATCH", `${path}/g/status`, { status: { conditions } })
    yield* api.get(path, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" })
  }),
  "T3, T4: two versions of a kind are served as one storage": run(function* (api: Api) {
    const version = (name: string, storage: boolean) => ({
      name,
      served: true,
      storage,
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: { spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
        }
      }
    })
    yield* api.define(gadgets({}, {}, { versions: [version("v2", true), version("v1", false)] }))
    yield* api.post(path, gadget("g", { x: 1 }))
    yield* api.get("/apis/{group}/v2/namespaces/{ns}/gadgets/g")
    yield* api.get("/apis/{group}")
  }),
  "T3, T4: selectable fields select": run(function* (api: Api) {
    const spec = { properties: { size: { type: "string" } } }
    yield* api.define(gadgets(spec, { selectableFields: [{ jsonPath: ".spec.size" }] }))
    yield* api.quietly("POST", path, gadget("a", { size: "small" }))
    yield* api.quietly("POST", path, gadget("b", { size: "large" }))
    yield* api.get(`${path}?fieldSelector=spec.size%3Dsmall`)
    yield* api.get(`${path}?fieldSelector=spec.colour%3Dred`)
  }),
  "T3, T4: a kind is discovered as long as it is defined": run(function* (api: Api) {
    yield* Effect.scoped(
      Effect.andThen(
        api.define(gadgets({}, {}, { names: { plural: "gadgets", kind: "Gadget", shortNames: ["gd"] } })),
        api.get("/apis/{group}/v1")
      )
    )
    yield* api.until("/apis/{group}/v1/gadgets", ({ status }) => status === 404)
    yield* api.get("/apis/{group}/v1/gadgets")
  }),
  "T3, T4: objects go with their definition": run(function* (api: Api) {
    yield* Effect.scoped(
      Effect.andThen(
        api.define(loose),
        api.quietly("POST", path, gadget("g", {}, { metadata: { name: "g", finalizers: ["example.com/held"] } }))
      )
    )
    yield* api.until(`${path}/g`, ({ body }) => textAt(body, "metadata.deletionTimestamp") !== "")
    yield* api.get(`${path}/g`)
    yield* api.post(path, gadget("h"))
    yield* api.merge(`${path}/g`, { metadata: { finalizers: null } })
    yield* api.until(`${definitions}/gadgets.{group}`, ({ status }) => status === 404)
  }),
  "T3, T4: a streaming list of a custom kind": run(function* (api: Api) {
    yield* api.define(loose)
    yield* api.quietly("POST", path, gadget("g"))
    const watched = yield* api.watch(
      `${path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`
    )
    yield* watched.take(2)
  }),
  "T3, T4: what cannot be changed of a definition": run(function* (api: Api) {
    yield* api.define(rich)
    yield* api.merge(`${definitions}/gadgets.{group}`, { spec: { scope: "Cluster" } })
    yield* api.merge(`${definitions}/gadgets.{group}`, { spec: { versions: [] } })
  }),
  "T3, T4: custom kinds take a finalizer without a domain": run(function* (api: Api) {
    yield* api.define(gadgets())
    const named = (...finalizers: ReadonlyArray<string>) => ({ metadata: { name: "g", finalizers } })

    for (const finalizer of ["", "-x", "a/b/c", "Bad.Domain/x"]) {
      yield* api.post(`${path}?dryRun=All`, gadget("g", {}, named(finalizer)))
    }
    yield* api.post(path, gadget("g", {}, named("finalizers.fluxcd.io", "orphan")))
    yield* api.merge(`${path}/g`, named("finalizers.fluxcd.io", "nothing"))
    yield* api.merge(`${path}/g`, named("-x"))
    yield* api.apply(`${path}/g`, "one", { apiVersion: "{group}/v1", kind: "Gadget", ...named("more") })
    yield* api.merge(`${path}/g`, { metadata: { finalizers: null } })
  })
})
