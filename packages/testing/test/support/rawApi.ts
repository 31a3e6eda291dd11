/**
 * Speaks to an embedded cluster in plain HTTP, for what no client shows: statuses, headers, forms of answers.
 */
import { Context, Effect, Layer, Stream } from "effect"
import * as EmbeddedCluster from "../../src/EmbeddedCluster.ts"

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** What the JSON of the answer has at a path such as `details.causes.0.field`; the whole for an empty path. */
  readonly at: (path: string) => unknown
}

/** What JSON has at a path. */
export const at = (json: unknown, path: string): unknown =>
  path
    .split(".")
    .filter((name) => name !== "")
    .reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), json)

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** The names of a list's objects. */
export const namesOf = (answer: Answer): ReadonlyArray<unknown> => {
  const items = answer.at("items")
  return Array.isArray(items) ? items.map((item) => at(item, "metadata.name")) : []
}

export interface Sent {
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown
  readonly type?: string
  readonly accept?: string
  readonly token?: string
}

const merge = "application/merge-patch+json"

export class RawApi extends Context.Service<
  RawApi,
  {
    readonly send: (method: string, path: string, sent?: Sent) => Effect.Effect<Answer>
    readonly get: (path: string, sent?: Sent) => Effect.Effect<Answer>
    readonly post: (path: string, body: unknown, sent?: Sent) => Effect.Effect<Answer>
    readonly put: (path: string, body: unknown, sent?: Sent) => Effect.Effect<Answer>
    readonly merge: (path: string, body: unknown, sent?: Sent) => Effect.Effect<Answer>
    readonly delete: (path: string, body?: unknown) => Effect.Effect<Answer>
    /** The lines of a watch, from when the answer has begun. */
    readonly watch: (path: string, sent?: Sent) => Effect.Effect<Stream.Stream<unknown>>
  }
>()("test/RawApi") {}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isAsItIs = (body: unknown): body is string | Uint8Array<ArrayBuffer> =>
  typeof body === "string" || body instanceof Uint8Array

const request = (url: string, method: string, path: string, sent: Sent) =>
  Effect.promise((signal) =>
    fetch(`${url}${path}`, {
      method,
      signal,
      headers: {
        ...(sent.body === undefined ? {} : { "content-type": sent.type ?? "application/json" }),
        ...(sent.accept === undefined ? {} : { accept: sent.accept }),
        ...(sent.token === undefined ? {} : { authorization: `Bearer ${sent.token}` })
      },
      ...(sent.body === undefined ? {} : { body: isAsItIs(sent.body) ? sent.body : JSON.stringify(sent.body) })
    })
  )

const make = (url: string): RawApi["Service"] => {
  const send = Effect.fnUntraced(function* (method: string, path: string, sent: Sent = {}) {
    const response = yield* request(url, method, path, sent)
    const text = yield* Effect.promise(() => response.text())
    const json = parsed(text)
    return { status: response.status, headers: response.headers, text, at: (name: string) => at(json, name) }
  })
  return {
    send,
    get: (path, sent) => send("GET", path, sent),
    post: (path, body, sent) => send("POST", path, { ...sent, body }),
    put: (path, body, sent) => send("PUT", path, { ...sent, body }),
    merge: (path, body, sent) => send("PATCH", path, { type: merge, ...sent, body }),
    delete: (path, body) => send("DELETE", path, body === undefined ? {} : { body }),
    watch: (path, sent = {}) =>
      Effect.map(request(url, "GET", path, sent), (response) =>
        Stream.fromReadableStream({
          evaluate: () => response.body ?? new ReadableStream(),
          onError: (cause) => cause
        }).pipe(Stream.decodeText(), Stream.splitLines, Stream.map(parsed), Stream.orDie)
      )
  }
}

/** Runs a test against a fresh cluster. */
export const scenario = <A, E, R>(
  run: (api: RawApi["Service"], cluster: EmbeddedCluster.EmbeddedCluster["Service"]) => Effect.Effect<A, E, R>,
  options?: EmbeddedCluster.Options
) =>
  Effect.gen(function* () {
    return yield* run(yield* RawApi, yield* EmbeddedCluster.EmbeddedCluster)
  }).pipe(Effect.provide(rawApi(options)))

/** A fresh cluster and a plain way to speak to it. */
export const rawApi = (options?: EmbeddedCluster.Options): Layer.Layer<RawApi | EmbeddedCluster.EmbeddedCluster> =>
  Layer.effectContext(
    Effect.map(EmbeddedCluster.make(options), (handle) =>
      Context.make(EmbeddedCluster.EmbeddedCluster, handle).pipe(Context.add(RawApi, make(handle.url)))
    )
  )

export const core = "/api/v1/namespaces/default"

/** A definition of the kind Widget, namespaced, of the group `test.io`. */
export const widgets = (schema: object = {}, version: object = {}) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.test.io" },
  spec: {
    group: "test.io",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", ...schema },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true }
            }
          }
        },
        ...version
      }
    ]
  }
})

export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
export const widgetsPath = "/apis/test.io/v1/namespaces/default/widgets"

export const widget = (name: string, spec: object = {}, more: object = {}) => ({
  apiVersion: "test.io/v1",
  kind: "Widget",
  metadata: { name },
  spec,
  ...more
})
