import { createServer } from "node:http"
import { connect } from "node:net"
import { connect as tlsConnect, type TLSSocket } from "node:tls"
import * as Certificate from "@berth/testing/Certificate"
import * as Faults from "@berth/testing/Faults"
import { assert, describe, it as plain, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Metric, Scope } from "effect"
import { closing, listening } from "../src/internal/api/listening.ts"
import { waitSeconds } from "../src/internal/api/prefer.ts"
import * as ProviderMetrics from "../src/ProviderMetrics.ts"
import * as Bench from "./support/ApiBench.ts"

const path = Bench.databaseOf

/** What every problem document has. */
const isProblem = ({ body, headers, status }: Bench.Answer) => {
  assert.strictEqual(headers["content-type"], "application/problem+json")
  assert.strictEqual(headers["x-request-id"], body["requestId"])
  assert.strictEqual(body["status"], status)
  assert.strictEqual(body["type"], `tag:berth.dev,2026:problem/${String(body["code"])}`)
  for (const field of ["title", "detail", "requestId"]) assert.isString(body[field])
  assert.isBoolean(body["retryable"])
  assert.strictEqual(headers["cache-control"], "no-store")
}

const { parsed } = Bench
const outcome = ({ body, status }: Bench.Answer) => [status, body["code"]]

const over = "x".repeat(20_000)
const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]))

type Asking = readonly [string, string, string, Bench.Asked, number, string]

const refused: ReadonlyArray<Asking> = [
  ["an unknown path", "GET", "/v2", {}, 404, "path_not_found"],
  ["a path with a slash too many", "GET", "/v1/databases/", {}, 400, "invalid_request"],
  ["a path with two slashes", "GET", "//v1/databases", {}, 404, "path_not_found"],
  ["a path in capitals", "GET", "/V1/databases", {}, 404, "path_not_found"],
  ["a method that the list has not", "POST", "/v1/databases", {}, 405, "method_not_allowed"],
  ["a method that a database has not", "PATCH", path("x"), {}, 405, "method_not_allowed"],
  ["a method that nobody knows", "PROPFIND", path("x"), {}, 405, "method_not_allowed"],
  ["an id with a slash", "GET", "/v1/databases/a%2Fb", {}, 400, "invalid_request"],
  ["an id with a hyphen in front", "PUT", path("-a"), {}, 400, "invalid_request"],
  ["an id with a zero byte", "GET", path("a\u0000b"), {}, 400, "invalid_request"],
  ["an id that is too long", "DELETE", path("a".repeat(129)), {}, 400, "invalid_request"],
  ["an escape that is none", "GET", "/v1/databases/%zz", {}, 400, "invalid_request"],
  ["a path that is too long", "GET", `/v1/databases?cursor=${"a".repeat(2_048)}`, {}, 414, "path_too_long"],
  ["an end of the path that only some know", "DELETE", `${path("x")};y`, {}, 400, "invalid_request"],
  ["the same without a value, for a list", "GET", "/v1/databases;limit=5", {}, 400, "invalid_request"],
  ["a fragment", "GET", `${path("x")}#y`, {}, 400, "invalid_request"],
  ["dots for a path", "GET", "/v1/databases/../databases", {}, 404, "path_not_found"],
  ["dots for an id", "GET", "/v1/databases/%2e%2e", {}, 400, "invalid_request"],
  ["a line's end in an id", "GET", "/v1/databases/a%0A", {}, 400, "invalid_request"],
  ["a cursor that nobody gave", "GET", "/v1/databases?cursor=YWZ0ZXI6YQ==", {}, 400, "invalid_request"],
  ["a parameter for another operation", "GET", `${path("x")}?limit=5`, {}, 400, "invalid_request"],
  ["a preference for a parameter", "PUT", `${path("x")}?wait=5`, {}, 400, "invalid_request"],
  ["a parameter that nobody knows", "DELETE", `${path("x")}?force=true`, {}, 400, "invalid_request"],
  ["two limits", "GET", "/v1/databases?limit=1&limit=2", {}, 400, "invalid_request"],
  [
    "an override of the method",
    "POST",
    path("x"),
    { headers: { "x-http-method-override": "PUT" } },
    405,
    "method_not_allowed"
  ],
  ["a number that is none", "PUT", path("x"), { body: '{"labels":{"a":1e400}}' }, 400, "invalid_request"],
  ["a prototype beside", "PUT", path("x"), { body: '{"__proto__":{"labels":{}}}' }, 400, "invalid_request"],
  ["half a character", "PUT", path("x"), { body: '{"labels":{"a":"\\ud800"}}' }, 400, "invalid_request"],
  [
    "a depth without end",
    "PUT",
    path("x"),
    { body: `{"labels":${"[".repeat(8_000)}${"]".repeat(8_000)}}` },
    400,
    "invalid_request"
  ],
  [
    "a coding",
    "PUT",
    path("x"),
    { body: "{}", headers: { "content-encoding": "gzip" } },
    415,
    "unsupported_media_type"
  ],
  [
    "almost JSON",
    "PUT",
    path("x"),
    { body: "{}", headers: { "content-type": "application/jsonx" } },
    415,
    "unsupported_media_type"
  ],
  ["no JSON", "PUT", path("x"), { body: "{" }, 400, "invalid_request"],
  ["a list", "PUT", path("x"), { body: "[]" }, 400, "invalid_request"],
  ["an unknown field", "PUT", path("x"), { body: { label: {} } }, 400, "invalid_request"],
  ["a label that is none", "PUT", path("x"), { body: { labels: { "a b": "c" } } }, 400, "invalid_request"],
  ["a label's value that is none", "PUT", path("x"), { body: { labels: { a: "-" } } }, 400, "invalid_request"],
  ["a prototype", "PUT", path("x"), { body: '{"labels":{"__proto__":"a"}}' }, 400, "invalid_request"],
  ["too many labels", "PUT", path("x"), { body: { labels: labels(17) } }, 400, "invalid_request"],
  ["too large a body", "PUT", path("x"), { body: { labels: { a: over } } }, 413, "body_too_large"],
  [
    "a body of another type",
    "PUT",
    path("x"),
    { body: "a=b", headers: { "content-type": "text/plain" } },
    415,
    "unsupported_media_type"
  ],
  ["headers that are too large", "GET", path("x"), { headers: { "x-a": over } }, 431, "headers_too_large"]
]

const malformed: ReadonlyArray<readonly [string, string, number, string]> = [
  ["no HTTP", "hello\r\n\r\n", 400, "invalid_request"],
  ["a request without a host", "GET /v1/databases HTTP/1.1\r\nconnection: close\r\n\r\n", 400, "invalid_request"],
  [
    "two lengths",
    "PUT /v1/databases/x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    400,
    "invalid_request"
  ],
  [
    "a length beside chunks",
    "PUT /v1/databases/x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
    400,
    "invalid_request"
  ],
  ["a header that is folded", "GET /v1/databases HTTP/1.1\r\nhost: a\r\nx: a\r\n b\r\n\r\n", 400, "invalid_request"],
  [
    "an expectation",
    "PUT /v1/databases/x HTTP/1.1\r\nhost: a\r\nconnection: close\r\nexpect: miracles\r\n\r\n",
    417,
    "expectation_failed"
  ],
  [
    "an upgrade",
    "GET /v1 HTTP/1.1\r\nhost: a\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n",
    404,
    "path_not_found"
  ],
  ["two hosts", "GET /v1 HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n", 400, "invalid_request"],
  ["a host that is none", "GET /v1 HTTP/1.1\r\nhost: a/b@c\r\nconnection: close\r\n\r\n", 400, "invalid_request"],
  ["a tunnel", "CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n", 405, "method_not_allowed"],
  ["a proxy's request", "GET https://a/v2 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", 404, "path_not_found"],
  ["a request about everything", "OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", 404, "path_not_found"]
]

describe("ApiServer", { timeout: 60_000 }, () => {
  const limits = { consumer: { perSecond: 1_000, burst: 1_000 }, denials: { perSecond: 0.001, burst: 5 } }
  layer(Bench.layer({ limits }), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D19: what cannot be done is answered with a problem document that says why", () =>
      Effect.gen(function* () {
        const { token } = yield* Bench.consumer("refused")

        const answers = yield* Effect.forEach(refused, ([, method, where, asked]) =>
          Bench.ask(method, where, { token, ...asked })
        )

        answers.forEach((answer, index) => {
          const [what, , , , status, code] = refused[index] ?? []
          assert.deepStrictEqual(outcome(answer), [status, code], what)
          isProblem(answer)
        })
        const allowed = answers.filter(({ status }) => status === 405).map(({ headers }) => headers["allow"])
        assert.deepStrictEqual(allowed, ["GET, HEAD", ...Array.from({ length: 3 }, () => "DELETE, GET, HEAD, PUT")])
      })
    )

    it.effect("D19: what is no request is answered in the same way, and the connection ended", () =>
      Effect.gen(function* () {
        const answers = yield* Effect.forEach(malformed, ([, text]) => Effect.map(Bench.raw(text), parsed))

        answers.forEach((answer, index) => {
          const [what, , status, code] = malformed[index] ?? []
          assert.deepStrictEqual(outcome(answer), [status, code], what)
          isProblem(answer)
        })
      })
    )

    it.effect("D19: an answer has the request's id, the caller's where it can be in a log", () =>
      Effect.gen(function* () {
        const ids = yield* Effect.forEach(["mine-1", "no good", "a".repeat(129)], (id) =>
          Effect.map(Bench.ask("GET", "/v2", { headers: { "x-request-id": id } }), ({ body }) => body["requestId"])
        )

        assert.strictEqual(ids[0], "mine-1")
        for (const id of ids.slice(1)) assert.match(String(id), /^[0-9a-f-]{36}$/u)
      })
    )

    it.effect("D17: who has no token that is valid hears no more than that, and the audit log why", () =>
      Effect.gen(function* () {
        const { token } = yield* Bench.consumer("out", { disabled: false })
        const wrong = yield* Bench.ask("GET", path("x"), { token: "wrong", headers: { "x-request-id": "r-1" } })
        const none = yield* Bench.ask("PUT", path("x"), { body: "{" })
        const basic = yield* Bench.ask("DELETE", path("x"), { headers: { authorization: "Basic YTpi" } })
        yield* Bench.disabled("out", true)
        const disabled = yield* Effect.repeat(Bench.ask("GET", "/v1/databases", { token }), {
          until: ({ status }) => status !== 200
        })

        for (const answer of [wrong, none, basic]) {
          assert.deepStrictEqual(outcome(answer), [401, "unauthorized"])
          assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
          assert.strictEqual(answer.body["detail"], wrong.body["detail"])
          isProblem(answer)
        }
        assert.deepStrictEqual(outcome(disabled), [403, "consumer_disabled"])
        const told = (yield* Bench.Told).filter(({ event }) => event === "auth.denied")
        const remoteAddress = "127.0.0.1"
        assert.deepInclude(told, { event: "auth.denied", requestId: "r-1", remoteAddress, reason: "unknown" })
        assert.deepStrictEqual(
          told.map((event) => "reason" in event && event.reason),
          ["unknown", "missing", "malformed", "disabled"]
        )
        assert.notInclude(JSON.stringify(told), "wrong")
      })
    )

    it.effect("D19: beyond the rate, refused tokens of an address are not looked into, and a right one is let in", () =>
      Effect.gen(function* () {
        const { token } = yield* Bench.consumer("flooded")
        const before = (yield* Bench.Told).length

        const answers = yield* Effect.forEach(Array.from({ length: 8 }), () =>
          Bench.ask("GET", path("x"), { token: "no" })
        )
        const right = yield* Bench.ask("GET", "/v1/databases", { token })

        const last = answers.at(-1)
        assert.deepStrictEqual([last?.status, last?.body["code"]], [429, "too_many_requests"])
        assert.isAtLeast(Number(last?.headers["retry-after"]), 1)
        assert.isAtMost((yield* Bench.Told).length - before, 5)
        assert.strictEqual(right.status, 200)
      })
    )

    it.effect("D20: a cluster that does not answer is a 503 with a time to come again, and costs no database", () =>
      Effect.gen(function* () {
        const { token } = yield* Bench.consumer("outage")
        const on = { resource: "databases.db.berth.dev" } as const
        yield* Faults.inject({ on: { ...on, verb: "create" }, fault: Faults.lostAnswer() })

        const lost = yield* Bench.ask("PUT", path("x"), { token })
        yield* Faults.mend
        yield* Faults.inject({ on: { ...on, verb: "get" }, fault: Faults.unreachable })
        const away = yield* Bench.ask("GET", path("y"), { token })
        yield* Faults.mend
        const again = yield* Bench.ask("PUT", path("x"), { token })
        const listed = yield* Bench.ask("GET", "/v1/databases", { token })

        for (const answer of [lost, away]) {
          assert.deepStrictEqual([...outcome(answer), answer.body["retryable"]], [503, "unavailable", true])
          assert.strictEqual(answer.headers["retry-after"], String(answer.body["retryAfterSeconds"]))
        }
        assert.strictEqual(again.status, 202)
        assert.lengthOf(Object(listed.body["items"]), 1)
      })
    )

    it.effect("D18: TLS 1.2 and 1.3 are spoken, nothing older, and plain HTTP is cut without a word", () =>
      Effect.gen(function* () {
        const { port } = yield* Bench.Api
        const request = "GET /v2 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
        const speaking = (version: "TLSv1.1" | "TLSv1.2" | "TLSv1.3") =>
          Bench.raw(request, { minVersion: version, maxVersion: version, ciphers: "DEFAULT@SECLEVEL=0" })

        const [old, two, three] = yield* Effect.all([speaking("TLSv1.1"), speaking("TLSv1.2"), speaking("TLSv1.3")])
        const bare = yield* Effect.callback<string>((resume) => {
          let text = ""
          const socket = connect(port, "127.0.0.1", () => socket.write(request))
          socket.on("data", (chunk) => (text += String(chunk)))
          socket.on("error", () => undefined)
          socket.on("close", () => resume(Effect.succeed(text)))
        })

        assert.strictEqual(old, "")
        for (const answer of [two, three]) assert.strictEqual(parsed(answer).status, 404)
        assert.notInclude(bare, "HTTP")
      })
    )

    it.effect("D18: a new certificate is shown to new connections, and those that are open go on", () =>
      Effect.gen(function* () {
        const server = yield* Bench.served({ certificateInterval: "20 millis" })
        const open = yield* connection(server.port)
        const before = yield* shown(open)
        const pair = Certificate.selfSigned()

        yield* server.replace(pair)
        const after = yield* Effect.repeat(shownAnew(server.port), { until: (serial) => serial !== before })
        const answer = yield* exchanged(open, "GET /v2 HTTP/1.1\r\nhost: a\r\n\r\n")
        // A key of another certificate, then none.
        yield* server.replace({ key: Certificate.selfSigned().key })
        yield* Effect.repeat(Metric.value(ProviderMetrics.certificateCurrent), { until: ({ value }) => value === 0 })
        const kept = yield* shownAnew(server.port)
        yield* server.replace({ cert: "nonsense" })
        yield* server.replace({ cert: pair.cert, key: pair.key })
        yield* Effect.repeat(Metric.value(ProviderMetrics.certificateCurrent), { until: ({ value }) => value === 1 })

        assert.include(answer, "path_not_found")
        assert.strictEqual(yield* shown(open), before)
        assert.strictEqual(kept, after)
        assert.strictEqual(yield* shownAnew(server.port), after)
        const { value } = yield* Metric.value(ProviderMetrics.certificateExpiry)
        assert.strictEqual(value, Date.UTC(2049, 11, 31, 23, 59, 59) / 1000)
      }).pipe(Effect.scoped)
    )

    const unusable: ReadonlyArray<readonly [string, Partial<Certificate.Certificate>, string]> = [
      ["a key of another certificate", { key: Certificate.selfSigned().key }, "ERR_OSSL_X509_KEY_VALUES_MISMATCH"],
      ["no certificate", { cert: "nonsense" }, "ERR_OSSL_PEM_NO_START_LINE"]
    ]
    it.effect.each(unusable)("D18: a server does not start with %s", ([, pair, code]) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Bench.served({ pair }))

        assert.deepInclude(error, { _tag: "CertificateInvalid", code })
        assert.notInclude(error.message, "PRIVATE")
      }).pipe(Effect.scoped)
    )

    it.effect("D19: who sends a request too slowly, or nothing at all, is cut", () =>
      Effect.gen(function* () {
        const server = yield* Bench.served({ clientMs: 300 })
        const from = (text: string) => Effect.provideService(Bench.raw(text), Bench.Api, server)

        const [silent, half, body] = yield* Effect.all(
          [
            from(""),
            from("GET /v1/databases HTTP/1.1\r\nhost: a\r\nx-slow"),
            from(
              "PUT /v1/databases/x HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{"
            )
          ],
          { concurrency: "unbounded" }
        )

        for (const text of [silent, half]) assert.deepStrictEqual(outcome(parsed(text)), [408, "request_timeout"])
        // It was refused before its body had come, and nothing more is said.
        assert.lengthOf(body.match(/HTTP\/1\.1 4/gu) ?? [], 1)
      }).pipe(Effect.scoped)
    )

    it.effect("D19: beyond so many connections none is taken", () =>
      Effect.gen(function* () {
        const server = yield* Bench.served({ connectionsMax: 2 })
        yield* connection(server.port)
        yield* connection(server.port)

        const third = yield* Effect.provideService(Bench.raw("GET /v2 HTTP/1.1\r\nhost: a\r\n\r\n"), Bench.Api, server)

        assert.strictEqual(third, "")
      }).pipe(Effect.scoped)
    )

    it.effect("D20: at the end whoever waits is told to come again, and what is under way is finished", () =>
      Effect.gen(function* () {
        const { token } = yield* Bench.consumer("ends")
        const scope = yield* Scope.make()
        const server = yield* Scope.provide(Bench.served(), scope)
        const there = Effect.provideService(Bench.Api, server)
        yield* Effect.repeat(there(Bench.ask("GET", "/v1/databases", { token })), {
          until: ({ status }) => status === 200
        })
        const waiting = yield* Effect.forkChild(there(Bench.ask("PUT", path("x"), { token, headers: Bench.waiting })))
        yield* Effect.eventually(Bench.recordOf({ name: "ends", token, uid: "" }, "x"))
        const slow = yield* connection(server.port)
        const head = ["PUT /v1/databases/y HTTP/1.1", "host: a", `authorization: Bearer ${token}`, "content-length: 2"]
        // The answer to the expectation says that its head has come.
        yield* exchanged(slow, `${head.join("\r\n")}\r\nexpect: 100-continue\r\n\r\n`)

        const ending = yield* Effect.forkChild(Scope.close(scope, Exit.void))
        const late = yield* Fiber.join(waiting)
        const finished = yield* exchanged(slow, "{}")
        yield* Fiber.join(ending)
        const none = yield* Effect.exit(
          Effect.timeout(
            Effect.suspend(() => connection(server.port)),
            "2 seconds"
          )
        )

        assert.deepStrictEqual(outcome(late), [503, "shutting_down"])
        assert.deepStrictEqual([late.headers["retry-after"], late.headers.connection], ["1", "close"])
        assert.match(finished, /^HTTP\/1\.1 202 /u)
        assert.match(finished, /connection: close/iu)
        assert.isTrue(Exit.isFailure(none))
      }).pipe(Effect.scoped)
    )

    it.effect("D23: a client that gives up is not counted as a failure of the provider", () =>
      Effect.gen(function* () {
        const { token } = yield* Bench.consumer("gives-up")
        const counted = (code: string) => {
          const labels = { method: "PUT", route: "/v1/databases/{id}", code }
          return Effect.map(
            Metric.value(Metric.withAttributes(ProviderMetrics.requestSeconds, labels)),
            ({ count }) => count
          )
        }
        const before = yield* counted("503")
        const waiting = yield* Effect.forkChild(Bench.ask("PUT", path("x"), { token, headers: Bench.waiting }))
        yield* Effect.eventually(Bench.recordOf({ name: "gives-up", token, uid: "" }, "x"))

        yield* Fiber.interrupt(waiting)

        yield* Effect.repeat(counted("499"), { until: (count) => count > 0 })
        assert.strictEqual(yield* counted("503"), before)
      })
    )

    it.effect("an address that is taken says so", () =>
      Effect.gen(function* () {
        const { port } = yield* Bench.Api

        const error = yield* Effect.flip(Bench.served({ port }))

        assert.deepInclude(error, { _tag: "ListenFailed", port, code: "EADDRINUSE" })
        assert.match(error.message, /^the API cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\): .* --api-listen$/u)
      }).pipe(Effect.scoped)
    )
  })

  plain.live("what goes wrong with a server that listens does not end the program", () =>
    Effect.gen(function* () {
      const server = createServer()
      const port = yield* listening(server, { host: "127.0.0.1", port: 0 })

      const failed = () => server.emit("error", Object.assign(new Error("no files left"), { code: "EMFILE" }))

      assert.isAbove(port, 0)
      assert.isTrue(failed() && failed())
      yield* closing(server, "1 second")
    })
  )

  const preferences: ReadonlyArray<readonly [string | undefined, number]> = [
    [undefined, 0],
    ["", 0],
    ["wait=5", 5],
    ["WAIT = 5", 5],
    ['respond-async, wait="7"; foo', 7],
    ["wait=5, wait=9", 5],
    ["wait=61", 60],
    ["wait=999999999", 60],
    [`wait=${"9".repeat(40)}`, 60],
    ["wait=-1", 0],
    ["wait=1.5", 0],
    ["wait", 0],
    ["await=5", 0],
    ['foo="wait=5"', 0],
    [",".repeat(8_000), 0]
  ]
  plain.each(preferences)("D19: the preference %s is to wait for %d seconds", (prefer, seconds) => {
    assert.strictEqual(waitSeconds(prefer, 60), seconds)
  })
})

// --- Connections that stay

const connection = (port: number) =>
  Effect.acquireRelease(
    Effect.callback<TLSSocket, Error>((resume) => {
      const socket = tlsConnect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () =>
        resume(Effect.succeed(socket))
      )
      socket.on("error", (error) => resume(Effect.fail(error)))
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

const shown = (socket: TLSSocket) => Effect.sync(() => socket.getPeerX509Certificate()?.serialNumber)

const shownAnew = (port: number) => Effect.scoped(Effect.flatMap(connection(port), shown))

/** The first answer to this. */
const exchanged = (socket: TLSSocket, text: string) =>
  Effect.callback<string>((resume) => {
    socket.once("data", (chunk) => resume(Effect.succeed(String(chunk))))
    socket.write(text)
  })
