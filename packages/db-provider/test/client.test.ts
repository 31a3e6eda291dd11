import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import Undici from "@effect/platform-node/Undici"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { createClient } from "@hey-api/openapi-ts"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted, Stream } from "effect"
import * as Api from "../src/Api.ts"
import * as Provider from "../src/client.ts"
import * as Bench from "./support/ApiBench.ts"

const file = resolve(import.meta.dirname, "../../../docs/reference/db-provider-openapi.json")

/** What both clients can be asked, and what they are told: the status, the code of a problem or the phase, and the credentials. */
interface Calls {
  readonly put: (id: string, labels: Readonly<Record<string, string>>, wait?: number) => Effect.Effect<Told>
  readonly get: (id: string) => Effect.Effect<Told>
  readonly remove: (id: string, wait?: number) => Effect.Effect<Told>
  readonly list: (limit: number, cursor?: string) => Effect.Effect<Listed>
}

interface Told {
  readonly what: string
  readonly password?: string | undefined
}

interface Listed {
  readonly ids: ReadonlyArray<string>
  readonly next: string | undefined
}

/** One story, whoever tells it. */
const suite = Effect.fnUntraced(function* (calls: Calls) {
  const told: Array<string> = []
  const note = (self: Effect.Effect<Told>) =>
    Effect.map(self, ({ password, what }) => {
      told.push(`${what}${password === undefined ? "" : " with credentials"}`)
      return password
    })

  const first = yield* note(calls.put("a", { team: "x" }, 20))
  const again = yield* note(calls.put("a", { team: "x" }))
  const read = yield* note(calls.get("a"))
  yield* note(calls.put("a", { team: "y" }))
  yield* note(calls.put("b", {}, 20))
  yield* note(calls.put("c", {}, 20))
  yield* note(calls.get("never"))
  yield* note(calls.remove("a", 20))
  yield* note(calls.get("a"))
  yield* note(calls.put("a", { team: "x" }))
  const page = yield* calls.list(1)
  const rest = yield* calls.list(1, page.next)

  assert.deepStrictEqual(told, [
    "201 Ready with credentials",
    "200 Ready with credentials",
    "200 Ready with credentials",
    "409 parameters_differ",
    "201 Ready with credentials",
    "403 quota_exceeded",
    "404 database_not_found",
    "200 SoftDeleted",
    "200 SoftDeleted",
    "409 being_deleted"
  ])
  assert.deepStrictEqual([again, read], [first, first])
  assert.match(String(first), /^[\w-]{43}$/u)
  assert.deepStrictEqual([page.ids, rest.ids, rest.next], [["a"], ["b"], undefined])
})

// --- Our own client

const refusedOr = <A>(self: Effect.Effect<A, Provider.ClientError>, shown: (value: A) => Told): Effect.Effect<Told> =>
  Effect.match(self, {
    onSuccess: shown,
    onFailure: (error) => ({ what: error._tag === "Refused" ? `${error.status} ${error.code}` : error.message })
  })

const passwordOf = ({ connection }: Api.Database) => connection && Redacted.value(connection.password)

const ours = (client: Provider.ProviderClient): Calls => ({
  put: (id, labels, wait = 0) =>
    refusedOr(client.put(id, { labels, wait: `${wait} seconds` }), (put) =>
      put._tag === "Pending"
        ? { what: `202 ${put.database.phase}` }
        : { what: `${put.isNew ? 201 : 200} ${put.database.phase}`, password: passwordOf(put.database) }
    ),
  get: (id) => refusedOr(client.get(id), (found) => ({ what: `200 ${found.phase}`, password: passwordOf(found) })),
  remove: (id, wait = 0) =>
    refusedOr(client.remove(id, { wait: `${wait} seconds` }), ({ _tag, database }) => ({
      what: `${_tag === "Closed" ? 200 : 202} ${database.phase}`
    })),
  list: (limit, cursor) =>
    Effect.map(Effect.orDie(client.list({ limit, cursor })), ({ items, next }) => ({
      ids: items.map(({ id }) => id),
      next
    }))
})

const connected = Effect.fnUntraced(function* (token: string) {
  const { ca, port } = yield* Bench.Api
  return yield* Provider.make({
    baseUrl: `https://localhost:${port}`,
    token: Redacted.make(`${token}\n`),
    caBundle: ca
  })
})

// --- A client that is generated

interface Answered {
  readonly data?: unknown
  readonly error?: unknown
  readonly response: { readonly status: number }
}

type Operation = (options: object) => Promise<Answered>

/** From the document in docs, by a generator of others. */
const generated = Effect.fnUntraced(function* (token: string) {
  const { ca, port } = yield* Bench.Api
  const folder = yield* LocalProcess.temporaryFolder("berth-client-")
  const output = join(folder, "client")
  yield* Effect.promise(() =>
    createClient({
      input: file,
      output,
      plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
      logs: { level: "silent" }
    })
  )
  const dispatcher = yield* Effect.acquireRelease(
    Effect.sync(() => new Undici.Agent({ connect: { ca } })),
    (agent) => Effect.promise(() => agent.destroy())
  )
  const fetch = async (request: Request) => {
    const body = request.body === null ? null : await request.text()
    return Undici.fetch(request.url, { method: request.method, headers: [...request.headers], body, dispatcher })
  }
  const sdk: Readonly<Record<string, Operation>> = yield* Effect.promise(
    () => import(/* @vite-ignore */ pathToFileURL(join(output, "sdk.gen.ts")).href)
  )
  const call = (operation: string, options: object) =>
    Effect.map(
      Effect.promise(() =>
        Promise.resolve(sdk[operation]?.({ baseUrl: `https://localhost:${port}`, auth: token, fetch, ...options }))
      ),
      (answer) => ({ status: answer?.response.status, ...Object(answer?.data ?? answer?.error) })
    )
  const told = (operation: string, options: object): Effect.Effect<Told> =>
    Effect.map(call(operation, options), ({ code, connection, phase, status }) => ({
      what: `${status} ${code ?? phase}`,
      password: connection?.password
    }))
  const headers = (wait?: number) => (wait === undefined ? {} : { headers: { prefer: `wait=${wait}` } })
  const calls: Calls = {
    put: (id, labels, wait) => told("putDatabase", { path: { id }, body: { labels }, ...headers(wait) }),
    get: (id) => told("getDatabase", { path: { id } }),
    remove: (id, wait) => told("deleteDatabase", { path: { id }, ...headers(wait) }),
    list: (limit, cursor) =>
      Effect.map(call("listDatabases", { query: { limit, cursor } }), ({ items, next }) => ({
        ids: items.map(({ id }: { readonly id: string }) => id),
        next
      }))
  }
  return calls
})

describe("client", { timeout: 60_000 }, () => {
  layer(Bench.layer(), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D21: the OpenAPI document in docs is the one that is served, to everybody", () =>
      Effect.gen(function* () {
        const served = yield* Bench.ask("GET", Api.openApiPath)

        const hint = "node --conditions=@berth/source scripts/openapi.ts writes it anew"
        assert.deepStrictEqual<unknown>(JSON.parse(readFileSync(file, "utf8")), served.body, hint)
        assert.strictEqual(served.body["openapi"], "3.1.0")
        assert.isFalse(/"any"|"x-effect/u.test(served.text))
      })
    )

    it.effect("D21: the typed client can be asked everything", () =>
      Effect.gen(function* () {
        yield* Bench.controllers
        const { token } = yield* Bench.consumer("typed", { quota: { maxDatabases: 2 } })

        yield* suite(ours(yield* connected(token)))
      }).pipe(Effect.scoped)
    )

    it.effect("D21: a client that others generate from the document can be asked everything", () =>
      Effect.gen(function* () {
        yield* Bench.controllers
        const { token } = yield* Bench.consumer("generated", { quota: { maxDatabases: 2 } })

        yield* suite(yield* generated(token))
      }).pipe(Effect.scoped)
    )

    it.effect("D21: the typed client tells what is not ready from what is, and reads every page", () =>
      Effect.gen(function* () {
        const consumer = yield* Bench.consumer("pages")
        const client = yield* connected(consumer.token)
        const ids = Array.from({ length: 101 }, (_, index) => `id-${String(index).padStart(3, "0")}`)
        const [first] = yield* Bench.recorded(consumer, ids)
        const pending = yield* client.put("id-000")
        const waiting = yield* Effect.forkChild(client.put("id-000", { wait: "20 seconds" }))
        if (first !== undefined) yield* Bench.provisioned(first)

        const ready = yield* Fiber.join(waiting)
        const all = yield* Effect.repeat(Stream.runCollect(client.all), {
          until: (found) => found.length === ids.length
        })

        assert.deepInclude(pending, { _tag: "Pending" })
        assert.deepInclude(ready, { _tag: "Ready", isNew: false })
        assert.deepStrictEqual<ReadonlyArray<string>>(
          all.map(({ id }) => id),
          ids
        )
      }).pipe(Effect.scoped)
    )

    it.effect("D21: what is wrong with a call is told before it is sent, where that is known", () =>
      Effect.gen(function* () {
        const client = yield* connected("anything")

        const errors = [
          yield* Effect.flip(client.get("../x")),
          yield* Effect.flip(client.put("x", { labels: { "a b": "c" } })),
          yield* Effect.flip(client.list({ limit: 0 }))
        ]

        for (const error of errors)
          assert.deepInclude(error, { _tag: "Refused", code: "invalid_request", requestId: "" })
      }).pipe(Effect.scoped)
    )

    it.effect("D21: the typed client asks behind the path of its URL", () =>
      Effect.gen(function* () {
        const { ca, port } = yield* Bench.Api
        const baseUrl = `https://localhost:${port}/behind/a/path/`
        const client = yield* Provider.make({ baseUrl, token: Redacted.make("any"), caBundle: ca })

        const unknown = yield* Effect.flip(client.get("x"))

        // Without the path it would be a token that is refused.
        assert.include(unknown.message, "404")
      }).pipe(Effect.scoped)
    )

    it.effect("D7: errors of the typed client tell the refusal, and nothing that is secret", () =>
      Effect.gen(function* () {
        const token = "a-token-that-nobody-may-see"
        const { ca } = yield* Bench.Api
        const make = (options: Partial<Provider.Options>) =>
          Provider.make({ baseUrl: "https://localhost:1", token: Redacted.make(token), caBundle: ca, ...options })
        const { port } = yield* Bench.Api
        const system = yield* Provider.make({ baseUrl: `https://localhost:${port}`, token: Redacted.make(token) })

        const refused = yield* Effect.flip((yield* connected(token)).get("x"))
        const unreachable = [
          yield* Effect.flip((yield* make({})).put("x")),
          yield* Effect.flip((yield* make({ timeout: 0 })).put("x")),
          yield* Effect.flip(system.get("x"))
        ]
        const unusable = [
          yield* Effect.flip(make({ baseUrl: "http://localhost" })),
          yield* Effect.flip(make({ baseUrl: "localhost" })),
          yield* Effect.flip(make({ baseUrl: "https://a-user:nobody@localhost/" })),
          yield* Effect.flip(make({ baseUrl: "https://localhost/?token=nobody" })),
          yield* Effect.flip(make({ token: Redacted.make("two\nlines") }))
        ]

        assert.deepInclude(refused, { _tag: "Refused", code: "unauthorized", status: 401, retryable: false })
        assert.deepStrictEqual(
          unreachable.map((error) => error._tag === "Unreachable" && error.why),
          ["ECONNREFUSED", "timeout", "DEPTH_ZERO_SELF_SIGNED_CERT"]
        )
        assert.deepStrictEqual(
          unusable.map(({ option }) => option),
          ["baseUrl", "baseUrl", "baseUrl", "baseUrl", "token"]
        )
        for (const error of [refused, ...unreachable, ...unusable]) {
          const exit = JSON.stringify(Exit.fail(error))
          assert.notInclude(`${String(error)} ${JSON.stringify(error)} ${exit} ${error.stack}`, "nobody")
        }
      }).pipe(Effect.scoped)
    )
  })
})
