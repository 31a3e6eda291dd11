/** Speaks to a cluster in plain HTTP and writes down every answer. */
import { Transport, type TransportRequest } from "@berth/kube/Transport"
import { Effect, Schedule, type Scope, Stream } from "effect"
import { at, type Entry, type Json, textAt } from "./normal.ts"

export type Method = TransportRequest["method"]

export interface Sent {
  /** Default: JSON; of a PATCH: a merge patch. */
  readonly type?: string
  readonly accept?: string
  /** The user for whom the administrator asks. */
  readonly as?: string
}

export interface Answer {
  readonly status: number
  readonly body: Json
  readonly warning: string | undefined
}

export interface Watched {
  /** Writes down the next lines. */
  readonly take: (count: number) => Effect.Effect<ReadonlyArray<Json>>
  /** The next lines, not written down. */
  readonly quietly: (count: number) => Effect.Effect<ReadonlyArray<Json>>
  /** Writes down everything until the server ends the watch. */
  readonly rest: Effect.Effect<ReadonlyArray<Json>>
}

/**
 * In paths and bodies `{ns}` stands for the namespace of the case, `{group}` for an API group of its own, and a path that
 * begins with `~/` is in the core group and that namespace.
 */
export interface Api {
  readonly send: (method: Method, path: string, body?: unknown, sent?: Sent) => Effect.Effect<Answer>
  readonly get: (path: string, sent?: Sent) => Effect.Effect<Answer>
  readonly post: (path: string, body: unknown) => Effect.Effect<Answer>
  readonly put: (path: string, body: unknown) => Effect.Effect<Answer>
  readonly merge: (path: string, body: unknown) => Effect.Effect<Answer>
  readonly json: (path: string, body: unknown) => Effect.Effect<Answer>
  readonly strategic: (path: string, body: unknown) => Effect.Effect<Answer>
  /** Server-side apply. */
  readonly apply: (path: string, manager: string, body: unknown, query?: string) => Effect.Effect<Answer>
  readonly remove: (path: string, options?: unknown) => Effect.Effect<Answer>
  readonly watch: (path: string, accept?: string) => Effect.Effect<Watched, never, Scope.Scope>
  /** Writes down what a case found out by requests that were not. */
  readonly note: (what: string, found: Json) => Effect.Effect<void>
  /** The same requests, not written down. */
  readonly quietly: (method: Method, path: string, body?: unknown, sent?: Sent) => Effect.Effect<Answer>
  /** Reads until it is so; not written down. */
  readonly until: (path: string, holds: (answer: Answer) => boolean) => Effect.Effect<Answer>
  /** Makes a definition and waits until its kind is served; it goes with the case. */
  readonly define: (definition: unknown) => Effect.Effect<void, never, Scope.Scope>
}

export const types = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml"
} as const

export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

const parsed = (text: string): Json => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** What differs from run to run is not told. */
const labelOf = (path: string) =>
  path.replace(/([?&]continue=)[^&]+/u, "$1<token>").replace(/([?&]resourceVersion=)[1-9]\d*/u, "$1<version>")

const about = { verb: "conformance", resource: "", namespace: undefined, name: undefined }

const isEstablished = ({ body }: Answer) => {
  const conditions = at(body, "status.conditions")
  return (
    Array.isArray(conditions) &&
    conditions.some((each) => at(each, "type") === "Established" && at(each, "status") === "True")
  )
}

/** An API that keeps its entries, of one case with its namespace. */
export const make = Effect.fnUntraced(function* (names: { readonly namespace: string; readonly group: string }) {
  const transport = yield* Transport
  const entries: Array<Entry> = []
  const expand = (text: string) =>
    text
      .replace(/^~\//u, `/api/v1/namespaces/${names.namespace}/`)
      .replaceAll("{ns}", names.namespace)
      .replaceAll("{group}", names.group)
  const reduce = (text: string) => text.replaceAll(names.namespace, "{ns}").replaceAll(names.group, "{group}")

  const request = (method: Method, path: string, body: unknown, sent: Sent) =>
    transport.request({
      about,
      method,
      path: expand(path),
      headers: {
        accept: sent.accept ?? "application/json",
        "user-agent": "conformance/1",
        ...(sent.as === undefined ? {} : { "impersonate-user": expand(sent.as) }),
        ...(body === undefined
          ? {}
          : { "content-type": sent.type ?? (method === "PATCH" ? types.merge : "application/json") })
      },
      body: body === undefined ? undefined : expand(typeof body === "string" ? body : JSON.stringify(body))
    })

  const quietly: Api["quietly"] = (method, path, body, sent = {}) =>
    Effect.gen(function* () {
      const { headers, status, text } = yield* request(method, path, body, sent)
      return { status, body: parsed(reduce(yield* text)), warning: headers["warning"] }
    }).pipe(Effect.scoped, Effect.orDie)

  const send: Api["send"] = (method, path, body, sent) =>
    Effect.tap(quietly(method, path, body, sent), (answer) =>
      Effect.sync(() => {
        const { status, warning } = answer
        const label = labelOf(path)
        const entry = { request: `${method} ${label}`, status, body: answer.body }
        entries.push(warning === undefined ? entry : { ...entry, warning: reduce(warning) })
      })
    )

  const until: Api["until"] = (path, holds) =>
    Effect.repeat(quietly("GET", path), { until: holds, schedule: Schedule.spaced("50 millis") })

  const watch: Api["watch"] = Effect.fnUntraced(
    function* (path, accept) {
      const { body } = yield* request("GET", path, undefined, accept === undefined ? {} : { accept })
      const lines = yield* Stream.toQueue(
        body.pipe(
          Stream.decodeText(),
          Stream.splitLines,
          Stream.map((line) => parsed(reduce(line)))
        ),
        { capacity: "unbounded" }
      )
      const written = (found: ReadonlyArray<Json>) => {
        entries.push({ request: `WATCH ${labelOf(path)}`, status: 200, body: found })
        return found
      }
      const quietly = (count: number) => Effect.orDie(Stream.runCollect(Stream.take(Stream.fromQueue(lines), count)))
      const take = (count: number) => Effect.map(quietly(count), written)
      return { take, quietly, rest: take(Infinity) }
    },
    (effect) => Effect.orDie(effect)
  )

  const define: Api["define"] = Effect.fnUntraced(function* (definition) {
    const name = expand(textAt(definition, "metadata.name"))
    const { body, status } = yield* Effect.acquireRelease(quietly("POST", definitions, definition), () =>
      quietly("DELETE", `${definitions}/${name}`)
    )
    if (status !== 201) return yield* Effect.die(new Error(`the definition was refused: ${JSON.stringify(body)}`))
    yield* until(`${definitions}/${name}`, isEstablished)
    const spec = at(definition, "spec")
    const version = textAt(spec, "versions.0.name")
    yield* until(`/apis/{group}/${version}/${textAt(spec, "names.plural")}`, (answer) => answer.status === 200)
  })

  const note: Api["note"] = (what, found) =>
    Effect.sync(() => void entries.push({ request: `NOTE ${what}`, status: 0, body: found }))

  const api: Api = {
    note,
    send,
    quietly,
    until,
    watch,
    define,
    get: (path, sent) => send("GET", path, undefined, sent),
    post: (path, body) => send("POST", path, body),
    put: (path, body) => send("PUT", path, body),
    merge: (path, body) => send("PATCH", path, body),
    json: (path, body) => send("PATCH", path, body, { type: types.json }),
    strategic: (path, body) => send("PATCH", path, body, { type: types.strategic }),
    apply: (path, manager, body, query = "") =>
      send("PATCH", `${path}?fieldManager=${manager}${query}`, body, { type: types.apply }),
    remove: (path, options) => send("DELETE", path, options)
  }
  return { api, entries }
})
