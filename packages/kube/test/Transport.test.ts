import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Metric, Redacted, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import packageJson from "../package.json" with { type: "json" }
import * as Connection from "../src/Connection.ts"
import { version } from "../src/internal/version.ts"
import * as Metrics from "../src/Metrics.ts"
import * as Transport from "../src/Transport.ts"
import { makeAuthority } from "./support/certificates.ts"
import { httpProxy, socksProxy } from "./support/proxies.ts"
import { serve, silence } from "./support/server.ts"

const about = { verb: "get", resource: "pods", namespace: "shop", name: "web" }

const read = (method: Transport.TransportRequest["method"] = "GET") =>
  Effect.scoped(
    Effect.gen(function* () {
      const transport = yield* Transport.Transport
      const response = yield* transport.request({ about, method, path: "/api/v1/pods", headers: {} })
      return { status: response.status, text: yield* response.text }
    })
  )

/** A transport of its own for the scope of the test. */
const open = (options: Connection.Options) =>
  Effect.map(Layer.build(Transport.layer(Connection.make(options))), (context) => ({
    read: (method?: Transport.TransportRequest["method"]) => Effect.provide(read(method), context),
    transport: Effect.provide(Transport.Transport, context)
  }))

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "berth-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

/** A command that prints the credentials of its n-th run, and counts its runs in a file. */
const plugin = (path: string, status: (run: number) => object) => {
  const runs = join(path, "runs")
  writeFileSync(runs, "")
  const answers = JSON.stringify(Array.from({ length: 10 }, (_, index) => status(index + 1)))
  const code = `
    const fs = require("node:fs")
    fs.appendFileSync(${JSON.stringify(runs)}, process.env.KUBERNETES_EXEC_INFO + "\\n")
    const run = fs.readFileSync(${JSON.stringify(runs)}, "utf8").trim().split("\\n").length
    console.log(JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: ${answers}[run - 1] }))`
  const exec: Connection.ExecCommand = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: process.execPath,
    args: ["-e", code],
    env: Redacted.make({}),
    provideClusterInfo: true
  }
  return {
    exec,
    infos: () =>
      readFileSync(runs, "utf8")
        .trim()
        .split("\n")
        .filter((line) => line !== "")
  }
}

const token = (received: { readonly headers: { readonly authorization?: string | undefined } }) =>
  received.headers.authorization

describe("Transport", () => {
  it.live(
    "K29: rest_client_requests_total counts requests by status code, method and host, also those without an answer",
    () =>
      Effect.gen(function* () {
        const server = yield* serve((_, index) =>
          index === 3 ? (response) => response.destroy() : index === 4 ? silence : { status: index === 2 ? 409 : 200 }
        )
        const { read } = yield* open({ server: server.url })
        const host = new URL(server.url).host
        const count = (code: string, method: string) =>
          Effect.map(
            Metric.value(Metric.withAttributes(Metrics.requestsTotal, { code, method, host })),
            (state) => state.count
          )

        yield* read("GET")
        yield* read("GET")
        yield* read("PATCH")
        yield* Effect.flip(read("POST"))
        const hung = yield* Effect.forkChild(read("PUT"), { startImmediately: true })
        yield* server.until(() => server.received.length === 5)
        yield* Fiber.interrupt(hung)

        assert.deepStrictEqual(
          yield* Effect.all([
            count("200", "GET"),
            count("409", "PATCH"),
            count("<error>", "POST"),
            count("<error>", "PUT"),
            count("<error>", "GET")
          ]),
          [2, 1, 1, 1, 0]
        )
      }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.live("K29: the span of whoever asks says which server was asked", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => ({ status: 200 }))
      const { read } = yield* open({ server: server.url })

      const span = yield* Effect.andThen(read("GET"), Effect.currentSpan).pipe(Effect.withSpan("asks"))

      assert.deepStrictEqual(Object.fromEntries(span.attributes), {
        "server.address": "127.0.0.1",
        "server.port": Number(new URL(server.url).port)
      })
    })
  )

  it("the version is that of the package", () => {
    assert.strictEqual(version, packageJson.version)
  })

  it.effect("K2: 1,000 sequential requests open at most 4 sockets", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => ({ body: { kind: "Pod" } }))
      const { read } = yield* open({ server: server.url })

      yield* Effect.forEach(Array.from({ length: 1_000 }), () => read(), { discard: true })

      assert.strictEqual(server.received.length, 1_000)
      assert.isAtMost(server.counts.sockets, 4)
    })
  )

  it.effect("K2: answers that are errors leave the connection to the next request", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, index) => ({ status: [401, 404, 429, 500][index % 4] ?? 500 }))
      const { read } = yield* open({ server: server.url, token: "static" })

      yield* Effect.forEach(Array.from({ length: 40 }), () => read(), { discard: true })

      assert.strictEqual(server.received.length, 40)
      assert.isAtMost(server.counts.sockets, 4)
    })
  )

  it.effect("K2: a token file is read again, after ten seconds and not before", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "token")
      writeFileSync(file, "first\n")
      const server = yield* serve(() => ({}))
      const { read } = yield* open({ server: server.url, token: { file } })
      yield* read()
      writeFileSync(file, "second\n")

      yield* TestClock.adjust("9999 millis")
      yield* read()
      yield* TestClock.adjust("1 millis")
      yield* read()

      assert.deepStrictEqual(server.received.map(token), ["Bearer first", "Bearer first", "Bearer second"])
    })
  )

  it.effect(
    "K2: a token file that is empty while it is written is waited out, and nothing is asked without a token",
    () =>
      Effect.gen(function* () {
        const file = join(yield* folder, "token")
        writeFileSync(file, "\n")
        const server = yield* serve(() => ({}))
        const { read } = yield* open({ server: server.url, token: { file } })

        const error = yield* Effect.flip(read())
        writeFileSync(file, "whole\n")
        yield* read()

        assert.deepInclude(error, { _tag: "Unreachable" })
        assert.deepStrictEqual(server.received.map(token), ["Bearer whole"])
      })
  )

  it.effect("K2: a token file that changed early is read as soon as the server refuses the old token", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "token")
      writeFileSync(file, "first")
      const server = yield* serve((request) => ({ status: token(request) === "Bearer second" ? 200 : 401 }))
      const { read } = yield* open({ server: server.url, token: { file } })
      yield* read()
      writeFileSync(file, "second")

      const answer = yield* read()

      assert.strictEqual(answer.status, 200)
    })
  )

  it.effect("K2: certificates are read again without a restart, on new connections", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const authority = makeAuthority("authority")
      const own = authority.issue("server")
      const write = (subject: string) => {
        const { certificate, key } = authority.issue(subject)
        writeFileSync(join(path, "crt"), certificate)
        writeFileSync(join(path, "key"), key)
      }
      write("first")
      const server = yield* serve(() => ({}), {
        cert: own.certificate,
        key: own.key,
        ca: authority.certificate,
        requestCert: true,
        rejectUnauthorized: true
      })
      const { read } = yield* open({
        server: server.url,
        ca: authority.certificate,
        clientCertificate: { file: join(path, "crt") },
        clientKey: { file: join(path, "key") }
      })
      yield* read()
      yield* read()
      const before = server.counts.sockets
      write("second")
      yield* TestClock.adjust("10 seconds")
      yield* read()

      assert.deepStrictEqual(
        server.received.map(({ client }) => client),
        ["first", "first", "second"]
      )
      assert.strictEqual(server.counts.sockets, before + 1)
      yield* server.until(() => server.counts.closed === before)
    })
  )

  it.effect("K2: a server of another authority is not talked to, until its authority is in the file", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const [other, right] = [makeAuthority("other"), makeAuthority("right")]
      const own = right.issue("server")
      const ca = join(path, "ca")
      writeFileSync(ca, other.certificate)
      const server = yield* serve(() => ({}), { cert: own.certificate, key: own.key })
      const { read } = yield* open({ server: server.url, ca: { file: ca }, token: "secret" })

      const error = yield* Effect.flip(read())
      writeFileSync(ca, right.certificate)
      yield* TestClock.adjust("10 seconds")
      const answer = yield* read()

      assert.strictEqual(error._tag, "Unreachable")
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(server.received.length, 1)
    })
  )

  it.effect("K2: exec credentials are renewed ten seconds before they expire, and not before", () =>
    Effect.gen(function* () {
      const command = plugin(yield* folder, (run) => ({
        token: `token-${run}`,
        expirationTimestamp: new Date(run * 60_000).toISOString()
      }))
      const server = yield* serve(() => ({}))
      const { read } = yield* open({ server: server.url, exec: command.exec })

      yield* read()
      yield* TestClock.adjust("49999 millis")
      yield* read()
      yield* TestClock.adjust("1 millis")
      yield* read()

      assert.deepStrictEqual(server.received.map(token), ["Bearer token-1", "Bearer token-1", "Bearer token-2"])
      const [info = ""] = command.infos()
      assert.deepNestedInclude(JSON.parse(info), {
        kind: "ExecCredential",
        "spec.interactive": false,
        "spec.cluster.server": server.url
      })
    })
  )

  it.effect("K2: a 401 refreshes once, for all requests that met it", () =>
    Effect.gen(function* () {
      const command = plugin(yield* folder, (run) => ({ token: `token-${run}` }))
      const server = yield* serve((request) => ({ status: token(request) === "Bearer token-1" ? 401 : 200 }))
      const { read } = yield* open({ server: server.url, exec: command.exec })

      const answers = yield* Effect.all(
        Array.from({ length: 10 }, () => read("POST")),
        { concurrency: "unbounded" }
      )

      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        Array.from({ length: 10 }, () => 200)
      )
      assert.strictEqual(command.infos().length, 2)
      assert.strictEqual(server.received.length, 20)
    })
  )

  it.effect("K2: a 401 that stays is handed on after one refresh", () =>
    Effect.gen(function* () {
      const command = plugin(yield* folder, (run) => ({ token: `token-${run}` }))
      const server = yield* serve(() => ({ status: 401, body: { kind: "Status", code: 401 } }))
      const { read } = yield* open({ server: server.url, exec: command.exec })

      const answer = yield* read()

      assert.deepStrictEqual(answer, { status: 401, text: `{"kind":"Status","code":401}` })
      assert.deepStrictEqual(server.received.map(token), ["Bearer token-1", "Bearer token-2"])
    })
  )

  it.effect("K2: credentials that cannot change are not sent again after a 401", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => ({ status: 401 }))
      const { read } = yield* open({ server: server.url, token: "static" })

      const answer = yield* read()

      assert.strictEqual(answer.status, 401)
      assert.strictEqual(server.received.length, 1)
    })
  )

  it.effect("a command that fails makes the server unreachable, and says so without its output", () =>
    Effect.gen(function* () {
      const exec: Connection.ExecCommand = {
        apiVersion: "client.authentication.k8s.io/v1",
        command: process.execPath,
        args: ["-e", "console.error('geheim'); process.exit(3)"],
        env: Redacted.make({}),
        provideClusterInfo: false
      }
      const server = yield* serve(() => ({}))
      const { read } = yield* open({ server: server.url, exec })

      const error = yield* Effect.flip(read())

      assert.strictEqual(error._tag, "Unreachable")
      assert.include(String(error.cause), `No credentials from ${process.execPath}: the command exited with 3.`)
      assert.strictEqual(server.received.length, 0)
    })
  )

  it.effect("interrupting a request, or closing its scope, ends it on the wire", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, index) =>
        index === 0 ? silence : (response) => response.writeHead(200).write("never whole")
      )
      const { read, transport } = yield* open({ server: server.url })

      const fiber = yield* Effect.forkChild(read())
      yield* server.until(() => server.received.length === 1)
      yield* Fiber.interrupt(fiber)
      yield* server.until(() => server.counts.closed === 1)
      const { request } = yield* transport
      yield* Effect.scoped(request({ about, method: "GET", path: "/", headers: {} }))
      yield* server.until(() => server.counts.closed === 2)

      assert.strictEqual(server.counts.closed, 2)
    })
  )

  it.effect("a body is given as it arrives, and one that breaks fails", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => (response) => {
        response.writeHead(200).write("begun", () => response.socket?.destroy())
      })
      const { transport } = yield* open({ server: server.url })
      const { request } = yield* transport
      const seen: Array<string> = []

      const error = yield* Effect.gen(function* () {
        const { body } = yield* request({ about, method: "GET", path: "/", headers: {} })
        yield* Stream.runForEach(Stream.decodeText(body), (text) => Effect.sync(() => seen.push(text)))
      }).pipe(Effect.scoped, Effect.flip)

      assert.deepStrictEqual(seen, ["begun"])
      assert.strictEqual(error._tag, "Unreachable")
    })
  )

  it.effect("a read that met a connection which the server had closed is sent again; a write is not", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, index) =>
        index === 0 || index === 2 ? (response) => response.socket?.destroy() : {}
      )
      const { read } = yield* open({ server: server.url })

      const answer = yield* read("GET")
      const error = yield* Effect.flip(read("POST"))

      assert.strictEqual(answer.status, 200)
      assert.strictEqual(error._tag, "Unreachable")
      assert.deepStrictEqual(
        server.received.map(({ method }) => method),
        ["GET", "GET", "POST"]
      )
    })
  )

  it.effect("requests carry the path of the server, who asks, and for whom", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => ({}))
      const { read } = yield* open({
        server: `${server.url}/clusters/one/`,
        basic: { username: "anna", password: Redacted.make("pass") },
        impersonate: { user: "bob", groups: ["dev", "ops"], extra: { "example.com/Team": ["blue"] } }
      })

      yield* read()

      const [request] = server.received
      assert.strictEqual(request?.path, "/clusters/one/api/v1/pods")
      assert.include(request?.headers, {
        "user-agent": `berth/${version}`,
        authorization: `Basic ${Buffer.from("anna:pass").toString("base64")}`,
        "impersonate-user": "bob",
        "impersonate-group": "dev, ops",
        "impersonate-extra-example.com%2fteam": "blue"
      })
    })
  )

  it.effect("a connection's proxy is used, with its password, and TLS goes through it from end to end", () =>
    Effect.gen(function* () {
      const authority = makeAuthority("authority")
      const own = authority.issue("server")
      const server = yield* serve(() => ({}), { cert: own.certificate, key: own.key })
      const proxy = yield* httpProxy
      const { read } = yield* open({
        server: server.url,
        ca: authority.certificate,
        proxyUrl: `http://anna:pass@127.0.0.1:${proxy.port}`
      })

      const answer = yield* read()

      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(proxy.asked, [
        { target: new URL(server.url).host, authorization: `Basic ${Buffer.from("anna:pass").toString("base64")}` }
      ])
    })
  )

  it.effect("a proxy of SOCKS is used", () =>
    Effect.gen(function* () {
      const authority = makeAuthority("authority")
      const own = authority.issue("server")
      const server = yield* serve(() => ({}), { cert: own.certificate, key: own.key })
      const proxy = yield* socksProxy
      const { read } = yield* open({
        server: server.url,
        ca: authority.certificate,
        proxyUrl: `socks5://127.0.0.1:${proxy.port}`
      })

      const answer = yield* read()

      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(proxy.asked, [new URL(server.url).host])
    })
  )

  it.effect("an auth-provider gives the token that it has, and none makes the server unreachable", () =>
    Effect.gen(function* () {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
      const idToken = `${part({ alg: "none" })}.${part({ exp: 9_999_999_999 })}.x`
      const server = yield* serve(() => ({}))
      const oidc = yield* open({
        server: server.url,
        authProvider: { name: "oidc", config: Redacted.make({ "id-token": idToken }) }
      })
      const gcp = yield* open({
        server: server.url,
        authProvider: { name: "gcp", config: Redacted.make({ "cmd-path": "/does/not/exist" }) }
      })

      yield* oidc.read()
      const error = yield* Effect.flip(gcp.read())

      assert.deepStrictEqual(server.received.map(token), [`Bearer ${idToken}`])
      assert.strictEqual(error._tag, "Unreachable")
      assert.include(String(error.cause), "No credentials from auth-provider gcp")
    })
  )

  it.effect("closing the layer ends what still runs, and later requests are Unreachable", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => silence)
      const scope = yield* Scope.make()
      const { read } = yield* Scope.provide(open({ server: server.url }), scope)
      const fiber = yield* Effect.forkChild(Effect.flip(read()))
      yield* server.until(() => server.received.length === 1)

      yield* Scope.close(scope, Exit.void)

      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Unreachable")
      assert.strictEqual((yield* Effect.flip(read()))._tag, "Unreachable")
    })
  )
})
