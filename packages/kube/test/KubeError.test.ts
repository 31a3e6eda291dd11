import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Logger, Option, References, Stream, Tracer } from "effect"
import { inspect } from "node:util"
import * as Builtin from "../src/Builtin.ts"
import * as Client from "../src/Client.ts"
import * as Connection from "../src/Connection.ts"
import * as KubeError from "../src/KubeError.ts"
import * as Transport from "../src/Transport.ts"
import { type Answer, serve } from "./support/server.ts"
import { json, refusal, wire } from "./support/wire.ts"

const web = { namespace: "shop", name: "web" }

/** What a get fails with when the server answers so. */
const failure = (answer: Transport.TransportResponse) =>
  Effect.flatMap(Client.Client, (client) =>
    Effect.flip(client.get(Builtin.ConfigMap, web, { deadline: "100 millis" }))
  ).pipe(Effect.provide(wire(() => answer).layer))

type Row = { readonly status: number; readonly reason: string; readonly tag: KubeError.KubeError["_tag"] }

const rows: ReadonlyArray<Row> = [
  { status: 400, reason: "BadRequest", tag: "Invalid" },
  { status: 401, reason: "Unauthorized", tag: "Unauthorized" },
  { status: 403, reason: "Forbidden", tag: "Forbidden" },
  { status: 404, reason: "NotFound", tag: "NotFound" },
  { status: 405, reason: "MethodNotAllowed", tag: "Invalid" },
  { status: 406, reason: "NotAcceptable", tag: "Invalid" },
  { status: 409, reason: "AlreadyExists", tag: "AlreadyExists" },
  { status: 409, reason: "Conflict", tag: "Conflict" },
  { status: 410, reason: "Gone", tag: "Gone" },
  { status: 410, reason: "Expired", tag: "Gone" },
  { status: 413, reason: "RequestEntityTooLarge", tag: "Invalid" },
  { status: 415, reason: "UnsupportedMediaType", tag: "Invalid" },
  { status: 422, reason: "Invalid", tag: "Invalid" },
  { status: 429, reason: "TooManyRequests", tag: "TooManyRequests" },
  { status: 500, reason: "InternalError", tag: "ServerError" },
  { status: 503, reason: "ServiceUnavailable", tag: "ServerError" },
  { status: 504, reason: "Timeout", tag: "ServerError" },
  { status: 418, reason: "", tag: "ServerError" }
]

describe("KubeError", () => {
  it.effect.each(rows)("K3: $status $reason is $tag", ({ reason, status, tag }) =>
    Effect.gen(function* () {
      const error = yield* failure(json(status, refusal(status, reason)))

      assert.deepInclude(error, { _tag: tag, verb: "get", resource: "configmaps", ...web })
      assert.deepInclude(error, { status, reason, detail: `said with ${status}` })
    })
  )

  it.effect.each([
    ...rows.filter(({ reason, tag }) => reason !== "AlreadyExists" && tag !== "NotFound"),
    { status: 302, tag: "ServerError" as const },
    { status: 404, tag: "ServerError" as const },
    { status: 407, tag: "ServerError" as const },
    { status: 502, tag: "ServerError" as const }
  ])("K3, K6: a $status whose body is no Status is $tag, and has none of the body", ({ status, tag }) =>
    Effect.gen(function* () {
      const error = yield* failure(Transport.response(status, "<html>blocked: geheim</html>", {}))

      assert.deepInclude(error, { _tag: tag, status, reason: "", detail: "" })
      assert.notInclude(inspect(error), "geheim")
    })
  )

  it.effect.each([
    {
      body: "404 page not found\n",
      tag: "NotFound" as const,
      reason: "it is the API server that does not serve the kind"
    },
    { body: "default backend - 404", tag: "ServerError" as const, reason: "a proxy has lost its server" },
    { body: "", tag: "ServerError" as const, reason: "nobody knows who says so" }
  ])("K3: a 404 that says '$body' is $tag, since $reason", ({ body, tag }) =>
    Effect.gen(function* () {
      const error = yield* failure(Transport.response(404, body, { "content-type": "text/plain" }))

      assert.deepInclude(error, { _tag: tag, status: 404, reason: "" })
    })
  )

  it.effect("K3: an Invalid carries its causes by field", () =>
    Effect.gen(function* () {
      const causes = [
        { field: "spec.size", reason: "FieldValueInvalid", message: "Invalid value: 0: must be positive" },
        { reason: "FieldValueForbidden", message: "immutable" }
      ]

      const error = yield* failure(json(422, refusal(422, "Invalid", { details: { causes } })))

      assert.strictEqual(error._tag, "Invalid")
      if (error._tag !== "Invalid") return
      assert.deepStrictEqual(error.causes, [
        { field: "spec.size", reason: "FieldValueInvalid", message: "Invalid value: 0: must be positive" },
        { field: "", reason: "FieldValueForbidden", message: "immutable" }
      ])
      assert.strictEqual(
        error.message,
        "get configmaps shop/web: invalid: spec.size (FieldValueInvalid), object (FieldValueForbidden)"
      )
    })
  )

  it.effect("K6: of a Secret that is refused nothing is quoted but the fields", () => {
    const causes = [{ field: "data[key]", reason: "FieldValueInvalid", message: `Invalid value: "geheim"` }]
    const body = { ...refusal(422, "Invalid", { details: { causes } }), message: `Secret: Invalid value: "geheim"` }
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const error = yield* Effect.flip(client.create(Builtin.Secret, { metadata: web }))
      const watched = yield* Effect.flip(Stream.runDrain(client.watch(Builtin.Secret)))
      const byPath = yield* Effect.flip(client.getPath("/api/v1/secrets?limit=1"))

      assert.deepInclude(error, { _tag: "Invalid", detail: "" })
      if (error._tag === "Invalid") {
        assert.deepStrictEqual(error.causes, [{ field: "data[key]", reason: "FieldValueInvalid", message: "" }])
      }
      for (const one of [error, watched, byPath]) assert.notInclude(inspect(one, { depth: null }), "geheim")
    }).pipe(Effect.provide(wire(() => json(422, body)).layer))
  })
})

const secrets = {
  token: "eyJ0b2tlbi1nZWhlaW0",
  password: "pass-geheim",
  data: Buffer.from("data-geheim").toString("base64"),
  key: "-----BEGIN PRIVATE KEY-----geheim",
  proxy: "proxy-geheim"
}
const stored = { apiVersion: "v1", kind: "Secret", metadata: web, data: { key: secrets.data } }

/** Answers that quote all that they were told. */
const echoes = (status: number): Answer => ({
  status,
  headers: { "x-echo": secrets.token, "retry-after": "100" },
  body: refusal(status, "Invalid", {
    message: JSON.stringify(secrets),
    details: { causes: [{ field: "data", reason: "FieldValueInvalid", message: JSON.stringify(secrets) }] }
  })
})

const script = (index: number): Answer =>
  index % 10 === 0
    ? { body: stored }
    : index % 10 === 9
      ? (response) => response.socket?.destroy()
      : index % 10 === 8
        ? { body: `not JSON: ${JSON.stringify(secrets)}` }
        : echoes([400, 401, 403, 404, 409, 422, 500][(index % 10) - 1] ?? 503)

describe("Nothing secret is told", () => {
  it.effect("K6: no log, span, error or connection shows a token, a key, a password, or the data of a Secret", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const tell = (value: unknown) => {
        told.push(inspect(value, { depth: null, showHidden: true }), String(value), JSON.stringify(value) ?? "")
      }
      const logger = Logger.make((options) => {
        told.push(inspect(options.message, { depth: null }), Cause.pretty(options.cause))
      })
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const spans: Array<Tracer.NativeSpan> = []
      const server = yield* serve((_, index) => script(index))
      const connections = [
        Connection.make({ server: server.url, token: secrets.token }),
        Connection.make({ server: server.url.replace("://", `://anna:${secrets.password}@`) }),
        Connection.make({ server: server.url, token: `broken\n${secrets.token}` }),
        Connection.make({ server: server.url.replace("http", "https"), ca: "none", clientKey: secrets.key }),
        Connection.make({ server: "http://127.0.0.1:1", proxyUrl: `http://x:${secrets.proxy}@127.0.0.1:1` })
      ]

      const failures = yield* Effect.forEach(connections, (connection) => {
        tell(connection)
        return Effect.forEach(everything, (use) =>
          Effect.flatMap(Client.Client, use).pipe(
            Effect.tapCause((cause) => Effect.logError("failed", cause)),
            Effect.flip,
            Effect.tap((error) => Effect.logFatal(error)),
            Effect.tap((error) => Effect.sync(() => tell(error))),
            Effect.option
          )
        ).pipe(Effect.provide(Client.layerFromConnection(connection)))
      }).pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.provide(Layer.succeed(References.MinimumLogLevel, "Trace")),
        Effect.withTracer(tracer)
      )
      for (const { attributes, events, name, status } of spans) {
        // The value of a success is the program's own, and no exporter sends it.
        const failed = status._tag === "Ended" && Exit.isFailure(status.exit) ? Cause.pretty(status.exit.cause) : ""
        told.push(inspect({ attributes, events, name, failed }, { depth: null }))
      }

      assert.isAbove(failures.flat().length, 30)
      assert.isAbove(spans.length, 30)
      const all = told.join("\n")
      const never = { ...secrets, basic: Buffer.from(`anna:${secrets.password}`).toString("base64"), bearer: "Bearer " }
      assert.deepStrictEqual(
        Object.entries(never).filter(([, secret]) => all.includes(secret)),
        []
      )
    })
  )
})

const everything: ReadonlyArray<(client: Client.Client["Service"]) => Effect.Effect<unknown, KubeError.KubeError>> = [
  (client) => client.get(Builtin.Secret, web),
  (client) => client.get(Builtin.Secret, web, { subresource: "status" }),
  (client) => client.list(Builtin.Secret),
  (client) => Stream.runDrain(client.watch(Builtin.Secret)),
  (client) => client.create(Builtin.Secret, stored),
  (client) => client.update(Builtin.Secret, stored),
  (client) => client.patch(Builtin.Secret, web, { type: "merge", patch: stored }),
  (client) => client.apply(Builtin.Secret, stored),
  (client) => client.delete(Builtin.Secret, web),
  (client) => client.getPath("/api/v1/secrets"),
  (client) => client.getPath("/api/v1/namespaces/shop/secrets/web")
]

const about = { verb: "get", resource: "configmaps", namespace: "shop", name: "settings" }
const missing = new KubeError.NotFound({ ...about, status: 404, reason: "NotFound", detail: "" })

describe("KubeError.orNone", () => {
  it.effect("K3: what is not there is none, what is there is some, and whatever else fails goes on failing", () =>
    Effect.gen(function* () {
      const down: Effect.Effect<number, KubeError.KubeError> = Effect.fail(
        new KubeError.Unreachable({ ...about, cause: "unplugged" })
      )

      assert.deepStrictEqual(yield* KubeError.orNone(Effect.fail(missing)), Option.none())
      assert.deepStrictEqual(yield* KubeError.orNone(Effect.succeed(1)), Option.some(1))
      assert.strictEqual((yield* Effect.flip(KubeError.orNone(down)))._tag, "Unreachable")
    })
  )
})
