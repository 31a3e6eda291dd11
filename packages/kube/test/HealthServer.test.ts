import { connect, createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Metric, Option, Scope } from "effect"
import { Health } from "../src/Health.ts"
import * as HealthServer from "../src/HealthServer.ts"

const anywhere = { host: "127.0.0.1", port: 0 }

const ask = (port: number, path: string, method = "GET") =>
  Effect.promise(async () => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { connection: "close" } })
    return { status: response.status, type: response.headers.get("content-type"), body: await response.text() }
  })

/** A connection that sends this and waits for the server to end it. Returns what the server said. */
const untilCut = (port: number, sent: string) =>
  Effect.callback<string>((resume) => {
    let heard = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(sent))
    socket.on("data", (chunk) => (heard += chunk.toString()))
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(heard)))
    return Effect.sync(() => socket.destroy())
  })

const connected = (port: number) =>
  Effect.callback<Socket>((resume) => {
    const socket = connect(port, "127.0.0.1", () => resume(Effect.succeed(socket)))
    socket.on("error", () => undefined)
  })

describe("HealthServer", () => {
  it.effect("K30: says what is not ready, a line for each check, while it is alive", () =>
    Effect.gen(function* () {
      const { register } = yield* Health
      yield* register("ready", {
        name: "caches",
        problem: Effect.succeedSome("Environment (list): the kind is missing")
      })
      yield* register("ready", { name: "queue", problem: Effect.succeedNone })
      yield* register("live", { name: "reconciles", problem: Effect.succeedNone })
      const port = yield* HealthServer.serve(anywhere)

      const ready = yield* ask(port, "/readyz")
      const live = yield* ask(port, "/livez?verbose")

      assert.strictEqual(ready.status, 503)
      assert.strictEqual(
        ready.body,
        "[-] caches failed: Environment (list): the kind is missing\n[+] queue ok\nnot ok\n"
      )
      assert.deepInclude(live, { status: 200, body: "[+] reconciles ok\nok\n" })
    }).pipe(Effect.provide(Health.layer))
  )

  it.effect("K30: becomes ready as soon as a check passes", () =>
    Effect.gen(function* () {
      const { register } = yield* Health
      let problem = Option.some("not yet")
      yield* register("ready", { name: "caches", problem: Effect.sync(() => problem) })
      const port = yield* HealthServer.serve(anywhere)

      const before = yield* ask(port, "/readyz")
      problem = Option.none()
      const after = yield* ask(port, "/readyz")

      assert.deepStrictEqual([before.status, after.status], [503, 200])
    }).pipe(Effect.provide(Health.layer))
  )

  it.effect("gives metrics as Prometheus reads them", () =>
    Effect.gen(function* () {
      yield* Metric.update(Metric.counter("berth_test_total", { description: "Counts." }), 3)
      const port = yield* HealthServer.serve(anywhere)

      const { body, status, type } = yield* ask(port, "/metrics")

      assert.strictEqual(status, 200)
      assert.strictEqual(type, "text/plain; version=0.0.4; charset=utf-8")
      assert.match(body, /^berth_test_total 3$/mu)
    }).pipe(Effect.provide(Health.layer))
  )

  it.effect("answers nothing but its three paths, with GET and HEAD only", () =>
    Effect.gen(function* () {
      const port = yield* HealthServer.serve(anywhere)

      const missing = yield* ask(port, "/livez/../etc")
      const posted = yield* ask(port, "/livez", "POST")
      const head = yield* ask(port, "/livez", "HEAD")

      assert.deepInclude(missing, { status: 404, body: "there are /livez, /readyz and /metrics\n" })
      assert.strictEqual(posted.status, 405)
      assert.deepInclude(head, { status: 200, body: "" })
    }).pipe(Effect.provide(Health.layer))
  )

  // On the clock of this machine: it is Node's server that counts.
  it.live("cuts off a client that is slow with its request, and goes on serving", () =>
    Effect.gen(function* () {
      const port = yield* HealthServer.serve(anywhere, { clientMs: 100 })

      const heard = yield* untilCut(port, "GET /livez HTTP/1.1\r\nhost: x\r\nx-slow:")
      const { status } = yield* ask(port, "/livez")

      assert.match(heard, /^HTTP\/1\.1 408 /u)
      assert.strictEqual(status, 200)
    }).pipe(Effect.scoped, Effect.provide(Health.layer))
  )

  it.live("cuts off a client that keeps a connection for nothing", () =>
    Effect.gen(function* () {
      const port = yield* HealthServer.serve(anywhere, { clientMs: 100 })

      const heard = yield* untilCut(port, "GET /livez HTTP/1.1\r\nhost: x\r\n\r\n")

      assert.match(heard, /^HTTP\/1\.1 200 /u)
    }).pipe(Effect.scoped, Effect.provide(Health.layer))
  )

  it.effect("says in a sentence that its address is taken", () =>
    Effect.gen(function* () {
      const port = yield* HealthServer.serve(anywhere)

      const error = yield* Effect.flip(HealthServer.serve({ host: "127.0.0.1", port }))

      assert.deepInclude(error, { _tag: "ListenFailed", port, code: "EADDRINUSE" })
      assert.strictEqual(
        error.message,
        `cannot listen on 127.0.0.1:${port} (EADDRINUSE): something else does; end that, or choose another address with --listen`
      )
    }).pipe(Effect.provide(Health.layer))
  )

  const unusable: ReadonlyArray<readonly [string, RegExp]> = [
    ["EACCES", /^cannot listen on 0\.0\.0\.0:443 \(EACCES\): ports below 1024 .* choose a higher one with --api$/u],
    [
      "EADDRNOTAVAIL",
      /^cannot listen on 0\.0\.0\.0:443 \(EADDRNOTAVAIL\): that is no address of this machine; .* --api/u
    ],
    ["EMFILE", /^cannot listen on 0\.0\.0\.0:443 \(EMFILE\): choose another address with --api$/u]
  ]
  it.each(unusable)("says of %s what to do about it, and by which flag", (code, expected) => {
    assert.match(HealthServer.listenProblem({ host: "0.0.0.0", port: 443, code }, "--api"), expected)
  })

  it.effect("gives its port back when its scope closes, whoever is still connected", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const port = yield* Scope.provide(HealthServer.serve(anywhere), scope)
      const idle = yield* connected(port)
      yield* Effect.addFinalizer(() => Effect.sync(() => idle.destroy()))

      yield* Scope.close(scope, Exit.void)

      yield* Effect.callback<void>((resume) => {
        const server = createServer().listen(port, "127.0.0.1", () => server.close(() => resume(Effect.void)))
      })
    }).pipe(Effect.provide(Health.layer))
  )
})
