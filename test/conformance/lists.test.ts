import { Effect } from "effect"
import type { Api } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap } from "./support/kinds.ts"
import { textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
const names = ["a", "b", "c", "d", "e"]
const labelled = (name: string, labels: object = { mine: name }) => configMap(name, { metadata: { name, labels } })
const filled = (api: Api) =>
  Effect.forEach(names, (name) => api.quietly("POST", "~/configmaps", labelled(name)), { discard: true })
const mine = "~/configmaps?labelSelector=mine"
const selected = (selector: string) => `~/configmaps?labelSelector=${encodeURIComponent(selector)}`
/** The state as it is, and the bookmark that ends it. */
const initial = `${mine}&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`

conform("lists", {
  "T3, T4: a list is in the order of names": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("b"))
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    yield* api.get(mine)
    yield* api.get("~/configmaps?labelSelector=nobody")
  }),
  "T3, T4: pages follow each other to the end": run(function* (api: Api) {
    yield* filled(api)
    const first = yield* api.get("~/configmaps?labelSelector=mine&limit=2")
    const next = (token: string) =>
      api.get(`~/configmaps?labelSelector=mine&limit=2&continue=${encodeURIComponent(token)}`)
    const second = yield* next(textAt(first.body, "metadata.continue"))
    yield* next(textAt(second.body, "metadata.continue"))
  }),
  "T3, T4: a page shows the state of its first page": run(function* (api: Api) {
    yield* filled(api)
    const { body } = yield* api.get("~/configmaps?labelSelector=mine&limit=3")
    yield* api.quietly("DELETE", "~/configmaps/e")
    yield* api.quietly("POST", "~/configmaps", labelled("f"))
    yield* api.get(`~/configmaps?labelSelector=mine&continue=${encodeURIComponent(textAt(body, "metadata.continue"))}`)
  }),
  "T3, T4: the rest is counted where no selector is asked for": run(function* (api: Api) {
    yield* Effect.forEach(names, (name) =>
      api.quietly("POST", "~/secrets", { apiVersion: "v1", kind: "Secret", metadata: { name } })
    )
    yield* api.get("~/secrets?limit=2")
  }),
  "T3, T4: a token that is none is refused": run(function* (api: Api) {
    const { body, status } = yield* api.quietly("GET", "~/configmaps?limit=1&continue=nonsense")
    yield* api.note("a list that goes on from nonsense", { status, reason: textAt(body, "reason") })
  }),
  "T3, T4: label selectors": run(function* (api: Api) {
    yield* filled(api)
    yield* api.quietly("POST", "~/configmaps", labelled("x", { tier: "web" }))
    for (const selector of [
      "mine=a",
      "mine==b",
      "mine!=a,mine",
      "mine in (a,c)",
      "mine notin (a,b,c,d),mine",
      "!mine,tier",
      "tier=web,mine"
    ]) {
      yield* api.get(selected(selector))
    }
  }),
  "T3, T4: a label selector that is none is refused": run(function* (api: Api) {
    yield* api.get(selected("a in"))
    yield* api.get(selected("a b"))
    yield* api.get(selected("-a=b"))
  }),
  "T3, T4: field selectors": run(function* (api: Api) {
    yield* filled(api)
    yield* api.get("~/configmaps?fieldSelector=metadata.name%3Da")
    yield* api.get("~/configmaps?labelSelector=mine&fieldSelector=metadata.name!%3Da")
    yield* api.get("/api/v1/configmaps?labelSelector=mine&fieldSelector=metadata.namespace%3D{ns},metadata.name%3Db")
    yield* api.get("~/configmaps?fieldSelector=data.x%3D1")
    yield* api.get("~/secrets?fieldSelector=type%3DOpaque")
  }),
  "T3, T4: a version of the future is too large": run(function* (api: Api) {
    const { body, status } = yield* api.quietly(
      "GET",
      "~/configmaps?resourceVersion=99999999999&resourceVersionMatch=NotOlderThan"
    )
    yield* api.note("a list of a version to come", { status, reason: textAt(body, "reason") })
    yield* api.get("~/configmaps?resourceVersionMatch=NotOlderThan")
    yield* api.get("~/configmaps?resourceVersion=nonsense")
  }),
  "T3, T4: a watch tells what happens, in order": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", labelled("a"))
    const watched = yield* api.watch(`${mine}&watch=true&resourceVersion=${textAt(body, "metadata.resourceVersion")}`)
    yield* api.merge("~/configmaps/a", { data: { x: "2" } })
    yield* api.post("~/configmaps", labelled("b"))
    yield* api.merge("~/configmaps/a", { data: { x: "2" } })
    yield* api.remove("~/configmaps/a")
    yield* watched.take(3)
  }),
  "T3, T4: a watch without a version begins with what is there": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    yield* api.quietly("POST", "~/configmaps", labelled("b"))
    const watched = yield* api.watch(`${mine}&watch=true`)
    yield* watched.take(2)
    yield* api.remove("~/configmaps/b")
    yield* watched.take(1)
  }),
  "T3, T4: a streaming list ends with a bookmark": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    const watched = yield* api.watch(initial)
    yield* watched.take(2)
    yield* api.quietly("POST", "~/configmaps", labelled("b"))
    yield* watched.take(1)
  }),
  "T3, T4: what a streaming list needs is checked": run(function* (api: Api) {
    yield* api.get("~/configmaps?watch=true&sendInitialEvents=true")
    yield* api.get("~/configmaps?sendInitialEvents=true")
    yield* api.get("~/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact&allowWatchBookmarks=true")
  }),
  "T3, T4: an object that begins or ceases to be selected is added or deleted": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", configMap("a"))
    const watched = yield* api.watch(`${mine}&watch=true&resourceVersion=${textAt(body, "metadata.resourceVersion")}`)
    yield* api.merge("~/configmaps/a", { metadata: { labels: { mine: "yes" } } })
    yield* api.merge("~/configmaps/a", { data: { x: "2" } })
    yield* api.merge("~/configmaps/a", { metadata: { labels: { mine: null } } })
    yield* watched.take(3)
  }),
  "T3, T4: a watch of one name": run(function* (api: Api) {
    const watched = yield* api.watch("~/configmaps?watch=true&fieldSelector=metadata.name%3Db&resourceVersion=0")
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    yield* api.quietly("POST", "~/configmaps", labelled("b"))
    yield* watched.take(1)
  }),
  "T3, T4: a watch ends when its time is up": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    const watched = yield* api.watch(`${mine}&watch=true&timeoutSeconds=1`)
    yield* watched.rest
  }),
  "T3, T4: a watch gives metadata or tables where it is asked to": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    const metadata = yield* api.watch(
      `${mine}&watch=true`,
      "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    )
    yield* metadata.take(1)
    const table = yield* api.watch(`${mine}&watch=true`, "application/json;as=Table;v=v1;g=meta.k8s.io")
    yield* table.take(1)
  })
})
