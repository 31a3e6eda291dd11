import { Client } from "@berth/kube/Client"
import * as Faults from "@berth/testing/Faults"
import { assert, describe, it as plain, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Consumer } from "../src/Consumer.ts"
import * as Consent from "../src/Consent.ts"
import { Database } from "../src/Database.ts"
import * as SortedIds from "../src/internal/api/sortedIds.ts"
import * as Ledger from "../src/Ledger.ts"
import * as Placement from "../src/Placement.ts"
import * as Tombstones from "../src/Tombstones.ts"
import * as Bench from "./support/ApiBench.ts"

const path = Bench.databaseOf
const outcome = ({ body, status }: Bench.Answer) => [status, body["code"] ?? body["phase"]]

/** How many places of its quota are taken. */
const taken = Effect.fnUntraced(function* ({ name }: Bench.Known) {
  const raw = yield* Client.use((client) => client.get(Consumer, { name }))
  const consumer = yield* Consumer.decode(raw)
  return (yield* Ledger.standing(Placement.bookOfConsumer(consumer, Bench.namespace), "")).taken
})

describe("Requests", { timeout: 60_000 }, () => {
  layer(Bench.layer(), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D3: a PUT is 201 to the request that made it, 200 later, with the same credentials", () =>
      Effect.gen(function* () {
        yield* Bench.controllers
        const { token } = yield* Bench.consumer("again")
        const body = { labels: { team: "a" }, shardSelector: { matchLabels: {} } }

        const first = yield* Bench.ask("PUT", path("branch-1"), { token, body, headers: Bench.waiting })
        const again = yield* Bench.ask("PUT", path("branch-1"), { token, body })
        const read = yield* Bench.ask("GET", path("branch-1"), { token })

        assert.deepStrictEqual([first.status, again.status, read.status], [201, 200, 200])
        assert.deepStrictEqual([again.body, read.body], [first.body, first.body])
        const { connection, createdAt, ...rest } = first.body
        assert.deepStrictEqual(rest, { id: "branch-1", phase: "Ready", ...body })
        assert.match(String(createdAt), /^20\d\d-/u)
        const { database, password, uri, user, ...server } = Object(connection)
        const endpoint = { host: "pooler.example.com", port: 6432, sslmode: "verify-full", caBundle: "PEM" }
        assert.deepStrictEqual(server, endpoint)
        assert.match(database, /^t_[a-z0-9]{20}$/u)
        assert.strictEqual(user, database)
        const authority = `${user}:${password}@pooler.example.com:6432`
        assert.strictEqual(uri, `postgresql://${authority}/${database}?sslmode=verify-full`)
        assert.strictEqual(first.headers["cache-control"], "no-store")
        assert.strictEqual(first.headers["preference-applied"], "wait=20")
      }).pipe(Effect.scoped)
    )

    it.effect("D3: it is 202 until it is ready, and whoever waits hears of it at once", () =>
      Effect.gen(function* () {
        const consumer = yield* Bench.consumer("waits")
        const { token } = consumer

        const first = yield* Bench.ask("PUT", path("x"), { token })
        const record = yield* Bench.recordOf(consumer, "x")
        const headers = { prefer: 'respond-async, wait="600"' }
        const waiting = yield* Effect.forkChild(Bench.ask("PUT", path("x"), { token, headers }))
        const pending = yield* Bench.ask("GET", path("x"), { token })
        yield* Bench.provisioned(record)
        const late = yield* Fiber.join(waiting)

        assert.deepStrictEqual([first.status, first.headers["retry-after"]], [202, "2"])
        assert.notProperty(first.headers, "preference-applied")
        for (const { body } of [first, pending]) {
          assert.deepInclude(body, { id: "x", phase: "Pending" })
          assert.notProperty(body, "connection")
        }
        assert.deepStrictEqual([late.status, late.headers["preference-applied"]], [200, "wait=60"])
        assert.deepStrictEqual(record.metadata.finalizers, [Consent.finalizer])
      })
    )

    it.effect("D3: a database that cannot be made says so to whoever waits, with a reason that may be shown", () =>
      Effect.gen(function* () {
        const consumer = yield* Bench.consumer("fails")
        const { token } = consumer
        const waiting = yield* Effect.forkChild(Bench.ask("PUT", path("x"), { token, headers: Bench.waiting }))
        const record = yield* Effect.eventually(Bench.recordOf(consumer, "x"))
        const condition = { type: "Ready", status: "False", lastTransitionTime: "2026-01-02T03:04:05Z" }
        const conditions = [{ ...condition, reason: "no_shard", message: "No shard matches what was asked for." }]
        yield* Bench.phased(record, "Failed", { conditions })

        const { body, headers, status } = yield* Fiber.join(waiting)

        assert.deepStrictEqual([status, headers["retry-after"]], [202, "30"])
        const { message, phase, reason } = body
        assert.deepStrictEqual([phase, reason, message], ["Failed", "no_shard", "No shard matches what was asked for."])
      })
    )

    it.effect(
      "D3: of requests for one id at once, to two replicas, one writes the record, and one place is taken",
      () =>
        Effect.gen(function* () {
          yield* Bench.controllers
          const consumer = yield* Bench.consumer("at-once")
          const { token } = consumer
          const other = yield* Bench.another()
          const here = Bench.ask("PUT", path("x"), { token, headers: Bench.waiting })
          // The other one learns of the token by a watch of its own.
          const there = Effect.provideService(here, Bench.Api, other)
          yield* Effect.repeat(Effect.provideService(Bench.ask("GET", "/v1/databases", { token }), Bench.Api, other), {
            until: ({ status }) => status === 200
          })

          const answers = yield* Effect.all([here, there, here, there, here, there], { concurrency: "unbounded" })

          assert.deepStrictEqual(answers.map(({ status }) => String(status)).toSorted(), [
            "200",
            "200",
            "200",
            "200",
            "200",
            "201"
          ])
          const secrets = new Set(answers.map(({ body }) => JSON.stringify(body["connection"])))
          assert.strictEqual(secrets.size, 1)
          yield* Effect.repeat(taken(consumer), { until: (places) => places === 1 })
        }).pipe(Effect.scoped)
    )

    it.effect("D3: a replica that has not heard of a database yet does not say that it is not there", () =>
      Effect.gen(function* () {
        const { token } = yield* Bench.consumer("unheard")
        yield* Faults.inject({
          on: { verb: "watch", resource: "databases.db.berth.dev" },
          fault: Faults.lateEvents("1 hour")
        })
        const other = yield* Bench.another()
        const there = Effect.provideService(Bench.Api, other)
        yield* Effect.repeat(there(Bench.ask("GET", path("x"), { token })), { until: ({ status }) => status === 404 })
        yield* Bench.ask("PUT", path("x"), { token })

        const got = yield* there(Bench.ask("GET", path("x"), { token }))
        const put = yield* there(Bench.ask("PUT", path("x"), { token }))
        const removed = yield* there(Bench.ask("DELETE", path("x"), { token }))
        yield* Faults.mend

        assert.deepStrictEqual([got, put, removed].map(outcome), [
          [200, "Pending"],
          [202, "Pending"],
          [202, "Pending"]
        ])
      }).pipe(Effect.scoped)
    )

    it.effect("D3: the same id with other parameters is a conflict, and changes nothing", () =>
      Effect.gen(function* () {
        yield* Bench.controllers
        const { token } = yield* Bench.consumer("differs")
        const body = { labels: { team: "a", tier: "gold" } }
        yield* Bench.ask("PUT", path("x"), { token, body, headers: Bench.waiting })

        const others = [{}, { labels: { team: "a" } }, { labels: { team: "b", tier: "gold" } }]
        const selecting = { ...body, shardSelector: { matchLabels: { zone: "1" } } }
        const answers = yield* Effect.forEach([...others, selecting], (each) =>
          Bench.ask("PUT", path("x"), { token, body: each })
        )
        const same = yield* Bench.ask("PUT", path("x"), { token, body: { labels: { tier: "gold", team: "a" } } })

        for (const answer of answers) assert.deepStrictEqual(outcome(answer), [409, "parameters_differ"])
        assert.strictEqual(same.status, 200)
      }).pipe(Effect.scoped)
    )

    it.effect("D1: more than the quota is refused, told to the audit log, and takes no place", () =>
      Effect.gen(function* () {
        const consumer = yield* Bench.consumer("quota", { quota: { maxDatabases: 1 } })
        const { token } = consumer
        yield* Bench.ask("PUT", path("one"), { token })

        const answer = yield* Bench.ask("PUT", path("two"), { token })
        const same = yield* Bench.ask("PUT", path("one"), { token })

        assert.deepStrictEqual(outcome(answer), [403, "quota_exceeded"])
        assert.include(String(answer.body["detail"]), "all 1 databases")
        assert.strictEqual(same.status, 202)
        assert.strictEqual(yield* taken(consumer), 1)
        const told = (yield* Bench.Told).filter((event) => "consumer" in event && event.consumer === "quota")
        assert.deepStrictEqual(
          told.map(({ event }) => event),
          ["database.requested", "quota.denied"]
        )
      })
    )

    it.effect("D12: a DELETE is 202 until the record says that it is closed, then 200, and is written once", () =>
      Effect.gen(function* () {
        const consumer = yield* Bench.consumer("deletes")
        const { token } = consumer
        yield* Bench.ask("PUT", path("x"), { token })
        yield* Bench.provisioned(yield* Bench.recordOf(consumer, "x"))

        const first = yield* Bench.ask("DELETE", path("x"), { token })
        const { spec } = yield* Bench.recordOf(consumer, "x")
        const waiting = yield* Effect.forkChild(Bench.ask("DELETE", path("x"), { token, headers: Bench.waiting }))
        const meanwhile = yield* Bench.ask("GET", path("x"), { token })
        yield* Bench.closed(yield* Bench.recordOf(consumer, "x"))
        const last = yield* Fiber.join(waiting)

        assert.deepStrictEqual([first.status, first.headers["retry-after"]], [202, "2"])
        assert.isString(spec.deleteRequestedAt)
        assert.strictEqual((yield* Bench.recordOf(consumer, "x")).spec.deleteRequestedAt, spec.deleteRequestedAt)
        assert.notProperty(meanwhile.body, "connection")
        assert.deepStrictEqual(outcome(last), [200, "SoftDeleted"])
        assert.strictEqual(last.body["dropAfter"], "2030-01-01T00:00:00Z")
      })
    )

    it.effect("D22: a DELETE whose answer the cluster lost is told once, however often it is asked", () =>
      Effect.gen(function* () {
        const consumer = yield* Bench.consumer("lost")
        const { name, token } = consumer
        yield* Bench.ask("PUT", path("x"), { token })
        const on = { resource: "databases.db.berth.dev", namespace: Bench.namespace, verb: "patch", nth: 1 } as const
        yield* Faults.inject({ on, fault: Faults.lostAnswer() })

        const first = yield* Bench.ask("DELETE", path("x"), { token })
        const again = yield* Bench.ask("DELETE", path("x"), { token })
        yield* Faults.mend

        const told = (yield* Bench.Told).filter((each) => each.event === "delete.requested" && each.consumer === name)
        assert.deepStrictEqual([first.status, again.status, told.length], [202, 202, 1])
      })
    )

    it.effect("D12: a DELETE is 200 as soon as a record that had nothing to be kept is gone", () =>
      Effect.gen(function* () {
        const consumer = yield* Bench.consumer("unplaced")
        const { token } = consumer
        yield* Bench.ask("PUT", path("x"), { token })
        const { metadata } = yield* Bench.recordOf(consumer, "x")
        const waiting = yield* Effect.forkChild(Bench.ask("DELETE", path("x"), { token, headers: Bench.waiting }))
        yield* Effect.repeat(Effect.andThen(Effect.yieldNow, Bench.recordOf(consumer, "x")), {
          until: ({ spec }) => spec.deleteRequestedAt !== undefined
        })

        const finalizers = { type: "merge", patch: { metadata: { finalizers: null } } } as const
        const ref = Bench.released(metadata.name)
        yield* Client.use((client) =>
          Effect.andThen(client.patch(Database, ref, finalizers), client.delete(Database, ref))
        )

        assert.deepStrictEqual(outcome(yield* Fiber.join(waiting)), [200, "Dropping"])
      })
    )

    it.effect("D15: an id is taken until the drop; then a GET is 410, and a PUT makes a database with new names", () =>
      Effect.gen(function* () {
        const consumer = yield* Bench.consumer("dropped")
        const { name, token, uid } = consumer
        const never = yield* Bench.ask("GET", path("x"), { token })
        const nothing = yield* Bench.ask("DELETE", path("x"), { token })
        yield* Bench.ask("PUT", path("x"), { token })
        yield* Bench.ask("DELETE", path("x"), { token })
        const before = yield* Bench.recordOf(consumer, "x")
        yield* Bench.closed(before)

        const kept = yield* Bench.ask("PUT", path("x"), { token })
        yield* Tombstones.add({ name, uid }, "x", Bench.namespace)
        const finalizers = { type: "merge", patch: { metadata: { finalizers: null } } } as const
        const ref = Bench.released(before.metadata.name)
        yield* Client.use((client) =>
          Effect.andThen(client.patch(Database, ref, finalizers), client.delete(Database, ref))
        )
        const gone = yield* Effect.repeat(Bench.ask("GET", path("x"), { token }), {
          until: ({ status }) => status !== 200
        })
        const twice = yield* Bench.ask("DELETE", path("x"), { token })
        const again = yield* Bench.ask("PUT", path("x"), { token })

        assert.deepStrictEqual(outcome(never), [404, "database_not_found"])
        assert.deepStrictEqual(outcome(nothing), [404, "database_not_found"])
        assert.deepStrictEqual(outcome(kept), [409, "being_deleted"])
        assert.deepStrictEqual(outcome(gone), [410, "database_deleted"])
        assert.deepStrictEqual(outcome(twice), [410, "database_deleted"])
        assert.strictEqual(again.status, 202)
        const after = yield* Bench.recordOf(consumer, "x")
        assert.notStrictEqual(after.spec.databaseName, before.spec.databaseName)
      })
    )

    it.effect("D14: a record that somebody deleted without the API is served on, with its credentials", () =>
      Effect.gen(function* () {
        const consumer = yield* Bench.consumer("held")
        const { token } = consumer
        yield* Bench.ask("PUT", path("x"), { token })
        const record = yield* Bench.recordOf(consumer, "x")
        yield* Bench.provisioned(record)
        yield* Client.use((client) => client.delete(Database, Bench.released(record.metadata.name)))
        yield* Bench.phased(record, "Held")

        const put = yield* Bench.ask("PUT", path("x"), { token, headers: Bench.waiting })
        const got = yield* Bench.ask("GET", path("x"), { token })

        assert.deepStrictEqual(
          [outcome(put), outcome(got)],
          [
            [200, "Held"],
            [200, "Held"]
          ]
        )
        assert.isObject(put.body["connection"])
        assert.deepStrictEqual(got.body, put.body)
      })
    )

    it.effect("D17: another consumer's database is as if it were not there, by every method", () =>
      Effect.gen(function* () {
        yield* Bench.controllers
        const [owner, stranger] = [yield* Bench.consumer("owner"), yield* Bench.consumer("stranger")]
        yield* Bench.ask("PUT", path("theirs"), { token: owner.token, headers: Bench.waiting })
        const asked = (method: string, id: string) => Bench.ask(method, path(id), { token: stranger.token })
        const shape = ({ body: { requestId: _, ...body }, headers, status }: Bench.Answer) => {
          const { date: _date, "x-request-id": _id, ...rest } = headers
          return { status, body, headers: rest }
        }

        for (const method of ["GET", "DELETE"]) {
          assert.deepStrictEqual(shape(yield* asked(method, "theirs")), shape(yield* asked(method, "nobodys")))
        }
        const mine = yield* asked("PUT", "theirs")
        const listed = yield* Bench.ask("GET", "/v1/databases", { token: stranger.token })

        assert.strictEqual(mine.status, 202)
        const records = [yield* Bench.recordOf(owner, "theirs"), yield* Bench.recordOf(stranger, "theirs")]
        assert.strictEqual(new Set(records.map(({ spec }) => spec.databaseName)).size, 2)
        assert.deepStrictEqual(
          Object(listed.body["items"]).map(({ id }: { id: string }) => id),
          ["theirs"]
        )
      }).pipe(Effect.scoped)
    )

    it.effect("D17: who waits is refused once its consumer is disabled, and is given no credentials", () =>
      Effect.gen(function* () {
        const consumer = yield* Bench.consumer("waits-in-vain")
        const { name, token } = consumer
        const told = yield* Bench.Told
        const headers = Bench.waiting
        const put = yield* Effect.forkChild(Bench.ask("PUT", path("x"), { token, headers }))
        const record = yield* Effect.eventually(Bench.recordOf(consumer, "x"))
        yield* Bench.ask("PUT", path("y"), { token })
        const removed = yield* Effect.forkChild(Bench.ask("DELETE", path("y"), { token, headers }))
        const other = yield* Effect.repeat(Bench.recordOf(consumer, "y"), {
          until: ({ spec }) => spec.deleteRequestedAt !== undefined
        })

        yield* Bench.disabled(name, true)
        yield* Effect.repeat(Bench.ask("GET", "/v1/databases", { token }), { until: ({ status }) => status === 403 })
        yield* Bench.provisioned(record)
        yield* Bench.closed(other)
        const answers = [yield* Fiber.join(put), yield* Fiber.join(removed)]

        assert.deepStrictEqual(answers.map(outcome), [
          [403, "consumer_disabled"],
          [403, "consumer_disabled"]
        ])
        assert.isFalse(told.some((each) => each.event === "credentials.read" && each.consumer === name))
      })
    )

    it.effect("D17: of two tokens none is chosen, though one is right", () =>
      Effect.gen(function* () {
        const { token } = yield* Bench.consumer("two-tokens")
        const asked = (...tokens: ReadonlyArray<string>) => {
          const lines = tokens.map((each) => `authorization: Bearer ${each}\r\n`).join("")
          const request = `GET /v1/databases HTTP/1.1\r\nhost: a\r\n${lines}connection: close\r\n\r\n`
          return Effect.map(Bench.raw(request), (text) => Bench.parsed(text).status)
        }

        const statuses = yield* Effect.all([asked(token), asked(token, "another"), asked("another", token)])

        assert.deepStrictEqual(statuses, [200, 401, 401])
      })
    )

    it.effect("D17: a record of an earlier consumer of the same name is neither shown nor touched", () =>
      Effect.gen(function* () {
        const before = yield* Bench.consumer("renewed")
        yield* Bench.ask("PUT", path("x"), { token: before.token })
        yield* Client.use((client) => client.delete(Consumer, { name: "renewed" }))
        const { token } = yield* Bench.consumer("renewed", {}, "token-of-the-second")

        const answers = yield* Effect.forEach(["GET", "DELETE", "PUT"], (method) =>
          Bench.ask(method, path("x"), { token })
        )

        assert.deepStrictEqual(answers.map(outcome), [
          [404, "database_not_found"],
          [404, "database_not_found"],
          [409, "id_taken"]
        ])
        assert.notProperty((yield* Bench.recordOf(before, "x")).spec, "deleteRequestedAt")
      })
    )

    it.effect(
      "D25: a list is in pages of one order, without credentials, and reads no more records than it shows",
      () =>
        Effect.gen(function* () {
          const consumer = yield* Bench.consumer("lists")
          const { token } = consumer
          const ids = Array.from({ length: 25 }, (_, index) => `id-${String(index).padStart(2, "0")}`)
          yield* Bench.recorded(consumer, ids.toReversed())
          const page = (query: string) => Bench.ask("GET", `/v1/databases?${query}`, { token })
          const idsOf = ({ body }: Bench.Answer) => Object(body["items"]).map(({ id }: { id: string }) => id)
          yield* Effect.repeat(page("limit=100"), { until: (answer) => idsOf(answer).length === 25 })
          const counted = yield* Bench.Lookups
          counted.clear()

          const first = yield* page("limit=10")
          const cost = new Map(counted)
          const second = yield* page(`limit=10&cursor=${String(first.body["next"])}`)
          const third = yield* page(`limit=10&cursor=${String(second.body["next"])}`)

          assert.deepStrictEqual([first, second, third].flatMap(idsOf), ids)
          assert.notProperty(third.body, "next")
          assert.notInclude(first.text, "connection")
          assert.deepStrictEqual([...cost], [["database", 10]])
          for (const query of ["cursor=aWQtMDE", "cursor=", "limit=0", "limit=101", "limit=x", "limit=1&limit=2"]) {
            assert.deepStrictEqual(outcome(yield* page(query)), [400, "invalid_request"], query)
          }
        })
    )
  })

  plain("D25: ids are kept in order while they come and go, each consumer's apart", () => {
    const ids = SortedIds.make()
    const coming = Array.from({ length: 200 }, (_, index) => `id-${(index * 7919) % 200}`)

    for (const id of coming) ids.add("a", id)
    for (const id of coming.slice(0, 100)) ids.remove("a", id)
    ids.add("a", coming[150] ?? "")
    ids.add("b", "other")
    ids.remove("b", "never there")

    const left = coming.slice(100).toSorted()
    assert.deepStrictEqual(ids.after("a", undefined, 1_000), left)
    assert.deepStrictEqual(ids.after("a", left[4], 3), left.slice(5, 8))
    // One that went meanwhile is still a place to go on from.
    assert.deepStrictEqual(ids.after("a", `${left[4]}!`, 3), left.slice(5, 8))
    assert.deepStrictEqual(ids.after("b", undefined, 10), ["other"])
    assert.deepStrictEqual(ids.after("nobody", undefined, 10), [])
  })
})
