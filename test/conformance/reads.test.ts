import { Effect } from "effect"
import type { Api } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap, gadget, gadgets, path } from "./support/kinds.ts"
import { at, textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
const labelled = (name: string, mine = "yes", data = "1") => ({
  ...configMap(name, { metadata: { name, labels: { mine } } }),
  data: { x: data }
})
const mine = "~/configmaps?labelSelector=mine"
const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
const metadataOnly = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
/** As kubectl asks. */
const kubectl = `${table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`
/** As controllers that cache metadata ask. */
const cached = `${metadataOnly},application/json`
const future = "99999999999"
const versionOf = ({ body }: { readonly body: unknown }) => textAt(body, "metadata.resourceVersion")

conform("reads", {
  "T3, T4: a list of an exact version shows what was then": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    const then = versionOf(yield* api.quietly("POST", "~/configmaps", labelled("b")))
    yield* api.quietly("PATCH", "~/configmaps/a", { data: { x: "2" } })
    yield* api.quietly("DELETE", "~/configmaps/b")
    yield* api.get(`${mine}&resourceVersion=${then}&resourceVersionMatch=Exact`)
    yield* api.get(`${mine}&resourceVersion=${then}&resourceVersionMatch=NotOlderThan`)
    yield* api.get(`${mine}&resourceVersion=${then}`)
  }),
  "T3, T4: pages of an exact version show what was then": run(function* (api: Api) {
    yield* Effect.forEach(["a", "b", "c"], (name) => api.quietly("POST", "~/configmaps", labelled(name)))
    const then = versionOf(yield* api.quietly("PATCH", "~/configmaps/c", { data: { x: "2" } }))
    yield* api.quietly("DELETE", "~/configmaps/c")
    const { body } = yield* api.get(`${mine}&resourceVersion=${then}&resourceVersionMatch=Exact&limit=2`)
    const token = encodeURIComponent(textAt(body, "metadata.continue"))
    yield* api.get(`${mine}&limit=2&continue=${token}`)
    yield* api.get(`${mine}&limit=2&continue=${token}&resourceVersion=${then}`)
  }),
  "T3, T4: a list of any version is whole, also where pages are asked for": run(function* (api: Api) {
    yield* Effect.forEach(["a", "b", "c"], (name) => api.quietly("POST", "~/configmaps", labelled(name)))
    yield* api.until(`${mine}&resourceVersion=0`, ({ body }) => at(body, "items.2") !== undefined)
    yield* api.get(`${mine}&resourceVersion=0`)
    yield* api.get(`${mine}&resourceVersion=0&limit=2`)
  }),
  "T3, T4: a get of a version to come is too early": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    yield* api.get("~/configmaps/a?resourceVersion=")
    yield* api.until("~/configmaps/a?resourceVersion=0", ({ status }) => status === 200)
    const { body, status } = yield* api.quietly("GET", `~/configmaps/a?resourceVersion=${future}`)
    yield* api.note("a get of a version to come", { status, reason: textAt(body, "reason") })
  }),
  "T3, T4: what a list may not ask for": run(function* (api: Api) {
    yield* api.get("~/configmaps?limit=many")
    yield* api.get("~/configmaps?resourceVersion=5&resourceVersionMatch=Sometimes")
    yield* api.get("~/configmaps?resourceVersion=0&resourceVersionMatch=Exact")
    yield* api.get("~/configmaps?resourceVersion=5&resourceVersionMatch=NotOlderThan&continue=x")
  }),
  "T3, T4: a page of no selector counts what is left, to the end": run(function* (api: Api) {
    yield* api.define(gadgets())
    yield* Effect.forEach(["a", "b", "c"], (name) => api.quietly("POST", path, gadget(name)))
    const first = yield* api.get(`${path}?limit=1`)
    const second = yield* api.get(
      `${path}?limit=1&continue=${encodeURIComponent(textAt(first.body, "metadata.continue"))}`
    )
    yield* api.get(`${path}?limit=1&continue=${encodeURIComponent(textAt(second.body, "metadata.continue"))}`)
    yield* api.get(`${path}?limit=3`)
  }),
  "T3, T4: a list of all namespaces, and of one that is not there": run(function* (api: Api) {
    yield* api.define(gadgets())
    yield* api.get(path)
    yield* api.quietly("POST", path, gadget("g"))
    yield* api.get("/apis/{group}/v1/gadgets")
    yield* api.get("/apis/{group}/v1/namespaces/nowhere/gadgets")
    yield* api.send("POST", "/apis/{group}/v1/gadgets", gadget("g"))
    yield* api.send("DELETE", "/apis/{group}/v1/gadgets")
  }),
  "T3, T4: a watch from a version has no bookmark where initial events are not wanted": run(function* (api: Api) {
    const then = versionOf(yield* api.quietly("POST", "~/configmaps", labelled("a")))
    const watched = yield* api.watch(
      `${mine}&watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=${then}&allowWatchBookmarks=true`
    )
    yield* api.quietly("POST", "~/configmaps", labelled("b"))
    yield* watched.take(1)
  }),
  "T3, T4: a streaming list from a version shows what is there now": run(function* (api: Api) {
    const then = versionOf(yield* api.quietly("POST", "~/configmaps", labelled("a")))
    yield* api.quietly("PATCH", "~/configmaps/a", { data: { x: "2" } })
    yield* api.quietly("POST", "~/configmaps", labelled("b"))
    yield* api.until(`${mine}&resourceVersion=0`, ({ body }) => at(body, "items.1") !== undefined)
    const watched = yield* api.watch(
      `${mine}&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${then}&allowWatchBookmarks=true`
    )
    yield* watched.take(3)
  }),
  "T3, T4: a streaming list of nothing is a bookmark": run(function* (api: Api) {
    const watched = yield* api.watch(
      "~/configmaps?labelSelector=nobody&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    )
    yield* watched.take(1)
  }),
  "T3, T4: a streaming list of metadata alone, as caches ask": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    const watched = yield* api.watch(
      `${mine}&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      cached
    )
    yield* watched.take(2)
    yield* api.quietly("PATCH", "~/configmaps/a", { data: { x: "2" } })
    yield* api.quietly("DELETE", "~/configmaps/a")
    yield* watched.take(2)
  }),
  "T3, T4: a watch of a version to come begins with it": run(function* (api: Api) {
    const watched = yield* api.watch(`${mine}&watch=true&resourceVersion=${future}&timeoutSeconds=1`)
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    yield* watched.rest
  }),
  "T3, T4: a watch that cannot be is refused before it begins": run(function* (api: Api) {
    yield* api.get(`${mine}&watch=true&resourceVersion=nonsense`)
    yield* api.get("~/configmaps?watch=true&labelSelector=a%20in")
    yield* api.get("~/configmaps?watch=true&fieldSelector=data.x%3D1")
    yield* api.get("~/configmaps?watch=true&timeoutSeconds=soon")
    yield* api.get("/apis/{group}/v1/widgets?watch=true")
  }),
  "T3, T4: a watch tells of an object that is marked, and of its end": run(function* (api: Api) {
    const held = { name: "a", labels: { mine: "yes" }, finalizers: ["example.com/held"] }
    const then = versionOf(yield* api.quietly("POST", "~/configmaps", configMap("a", { metadata: held })))
    const watched = yield* api.watch(`${mine}&watch=true&resourceVersion=${then}`)
    yield* api.quietly("DELETE", "~/configmaps/a")
    yield* api.quietly("PATCH", "~/configmaps/a", { metadata: { finalizers: null } })
    yield* watched.take(2)
  }),
  "T3, T4: a watch tells of a deletion of many, one by one": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    const then = versionOf(yield* api.quietly("POST", "~/configmaps", labelled("b")))
    const watched = yield* api.watch(`${mine}&watch=true&resourceVersion=${then}`)
    yield* api.quietly("DELETE", mine)
    const events = yield* watched.quietly(2)
    yield* api.note("the names", events.map((event) => textAt(event, "object.metadata.name")).sort())
  }),
  "T3, T4: a field selector of a watch follows an object out of its sight": run(function* (api: Api) {
    yield* api.define(
      gadgets({ properties: { size: { type: "string" } } }, { selectableFields: [{ jsonPath: ".spec.size" }] })
    )
    const then = versionOf(yield* api.quietly("POST", path, gadget("g", { size: "small" })))
    const watched = yield* api.watch(`${path}?watch=true&fieldSelector=spec.size%3Dsmall&resourceVersion=${then}`)
    yield* api.quietly("PATCH", `${path}/g`, { spec: { size: "large" } })
    yield* api.quietly("PATCH", `${path}/g`, { spec: { size: "small" } })
    yield* watched.take(2)
  }),
  "T3, T4: a custom kind without columns has a name and an age": run(function* (api: Api) {
    yield* api.define(gadgets())
    yield* api.quietly("POST", path, gadget("g"))
    yield* api.get(path, { accept: kubectl })
    yield* api.get(`${path}/g?includeObject=Object`, { accept: kubectl })
    yield* api.get(`${path}/none`, { accept: kubectl })
  }),
  "T3, T4: a table of the older version": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    yield* api.get(mine, { accept: "application/json;as=Table;v=v1beta1;g=meta.k8s.io" })
  }),
  "T3, T4: a watch as a table shows its columns once": run(function* (api: Api) {
    const then = versionOf(yield* api.quietly("POST", "~/configmaps", configMap("z")))
    const watched = yield* api.watch(`${mine}&watch=true&resourceVersion=${then}`, kubectl)
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    yield* api.quietly("PATCH", "~/configmaps/a", { data: { y: "2" } })
    yield* api.quietly("DELETE", "~/configmaps/a")
    yield* watched.take(3)
  }),
  "T3, T4: columns of every type, also of what is not there": run(function* (api: Api) {
    const column = (name: string, type: string, jsonPath: string) => ({ name, type, jsonPath })
    const additionalPrinterColumns = [
      column("Text", "string", ".spec.text"),
      column("Count", "integer", ".spec.count"),
      column("Ratio", "number", ".spec.ratio"),
      column("On", "boolean", ".spec.on"),
      column("Since", "date", ".spec.since"),
      column("List", "string", ".spec.list"),
      column("Each", "string", ".spec.list[*]"),
      column("Map", "string", ".spec.map"),
      column("Other", "integer", ".spec.text")
    ]
    yield* api.define(gadgets({ "x-kubernetes-preserve-unknown-fields": true }, { additionalPrinterColumns }))
    yield* api.quietly("POST", path, gadget("empty"))
    const spec = {
      text: "t",
      count: 2,
      ratio: 0.5,
      on: true,
      since: "2020-01-01T00:00:00Z",
      list: ["a", "b"],
      map: { a: 1 }
    }
    yield* api.quietly("POST", path, gadget("full", spec))
    yield* api.get(path, { accept: table })
  }),
  "T3, T4: writes answer with metadata alone where it is asked for": run(function* (api: Api) {
    const accept = metadataOnly
    yield* api.send("POST", "~/configmaps", labelled("a"), { accept })
    yield* api.send("PATCH", "~/configmaps/a", { data: { x: "2" } }, { accept })
    yield* api.send("DELETE", "~/configmaps/a", undefined, { accept })
    yield* api.get("~/configmaps/a", { accept })
  }),
  "T3, T4: a form that a server does not have is not acceptable": run(function* (api: Api) {
    const asked = Effect.fnUntraced(function* (accept: string) {
      const { body, status } = yield* api.quietly("GET", mine, undefined, { accept })
      yield* api.note(accept, { status, reason: textAt(body, "reason"), kind: textAt(body, "kind") })
    })
    yield* asked("application/json;as=Poem;v=v1;g=meta.k8s.io")
    yield* asked("application/json;as=Poem;v=v1;g=meta.k8s.io,application/json")
    yield* asked("application/json;as=Table;v=v2;g=meta.k8s.io")
    yield* asked("application/xml")
    yield* asked("*/*")
  }),
  "T3, T4: what label selectors take and refuse": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a", "a"))
    yield* api.quietly("POST", "~/configmaps", labelled("b", ""))
    const selected = (selector: string) => api.get(`~/configmaps?labelSelector=${encodeURIComponent(selector)}`)
    yield* selected("mine in (a, b),mine")
    yield* selected("mine=")
    yield* selected("mine in (),mine")
    yield* selected("mine notin (a) , mine")
    yield* selected("mine>1")
    yield* selected("mine>a")
    yield* selected("mine,,")
    yield* selected("mine in a")
    yield* selected(`mine=${"x".repeat(64)}`)
    yield* selected("e.com/a/b")
  }),
  "T3, T4: what field selectors take and refuse": run(function* (api: Api) {
    const selected = (resource: string, selector: string) =>
      api.get(`~/${resource}?fieldSelector=${encodeURIComponent(selector)}`)
    yield* api.quietly("POST", "~/secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s" },
      type: "e.com/t"
    })
    yield* selected("secrets", "type=e.com/t")
    yield* selected("secrets", "type!=e.com/t")
    yield* selected("secrets", "metadata.name==s,type=e.com/t")
    yield* selected("pods", "status.phase=Running,spec.nodeName=n")
    yield* selected("pods", "spec.image=x")
    yield* selected("events", "involvedObject.name=x,involvedObject.kind=Pod,type=Warning,reason=R")
    yield* selected("secrets", "type")
    yield* selected("secrets", "metadata.labels.a=b")
  }),
  "T3, T4: a get of a name or of a door that cannot be": run(function* (api: Api) {
    yield* api.get("~/configmaps/Not_A_Name")
    yield* api.get("~/configmaps/a/b")
    yield* api.get("~/configmaps/a/status")
    yield* api.define(gadgets())
    yield* api.quietly("POST", path, gadget("g"))
    yield* api.get(`${path}/g/nothing`)
    yield* api.get(`${path}/g/scale`)
    yield* api.get("/apis/{group}/v1/gadgets/g")
    yield* api.get("/apis/{group}/v9/gadgets")
    yield* api.get("/api/v1/namespaces/{ns}/namespaces")
  })
})
