import * as Builtin from "@berth/kube/Builtin"
import { databaseProvider } from "@berth/shared-components/SliceBackend"
import { SharedComponentProvider } from "@berth/shared-components/SharedComponentProvider"
import { SharedComponent } from "@berth/shared-components/SharedComponent"
import { Slice } from "@berth/shared-components/Slice"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { makeAuthority } from "../../kube/test/support/certificates.ts"
import * as Bench from "../../shared-components/test/support/Bench.ts"
import * as DatabaseProviderBackend from "../src/DatabaseProviderBackend.ts"
import * as provider from "./support/databaseProvider.ts"

const token = { name: "databases", namespace: Bench.shared }

/** A provider that serves a shared component, with slices on a bench. */
const served = Effect.gen(function* () {
  const bench = yield* Bench.make()
  const databases = yield* provider.serve
  const { caBundle, endpoint } = databases
  const at = { name: "databases", namespace: Bench.management }
  const spec = { databaseProvider: { endpoint, caBundle, tokenSecretRef: { name: "databases", key: "token" } } }
  const created = [
    bench.client.create(Builtin.Secret, { metadata: token, data: Bench.encoded({ token: "token-1\n" }) }),
    bench.client.create(SharedComponentProvider, { metadata: at, spec })
  ]
  yield* Effect.orDie(Effect.all(created, { discard: true }))
  yield* bench.sharedComponent("databases", undefined, "databases")
  const backend = yield* DatabaseProviderBackend.make
  const backends = new Map([[databaseProvider, backend]])
  const operator = yield* bench.operator({ backends })

  const slice = Effect.fnUntraced(function* (environment: string) {
    yield* bench.environment(environment)
    const made = yield* bench.slice(environment, "databases")
    return { made, record: made.metadata.name, id: made.spec.sliceId }
  })
  const bound = Effect.fnUntraced(function* (environment: string) {
    const about = yield* slice(environment)
    assert.strictEqual(yield* bench.drive(operator, about.record, "Bound"), "Bound")
    return about
  })
  const gone = Effect.fnUntraced(function* (record: string) {
    assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
  })
  /** What the slice says after so many passes. The first one has news, of which only the next one speaks. */
  const says = Effect.fnUntraced(function* (record: string, rounds = 2) {
    for (let round = 0; round < rounds; round++) yield* bench.round(operator, record)
    const found = Option.getOrThrow(yield* bench.read(record))
    const ready = found.status?.conditions?.find(({ type }) => type === "Ready")
    return ready ?? assert.fail("nobody has looked at it")
  })
  /** As the shared component's own passes do. */
  const check = Effect.gen(function* () {
    const shared = yield* Effect.flatMap(bench.client.get(SharedComponent, at), SharedComponent.decode)
    const source = yield* Effect.flatMap(bench.client.get(SharedComponentProvider, at), SharedComponentProvider.decode)
    const checked = Effect.provideContext(backend.check(shared, source), operator.context)
    return yield* Effect.match(checked, { onSuccess: () => "usable", onFailure: ({ reason }) => reason })
  }).pipe(Effect.orDie)
  const tokenIs = (text: string) =>
    Effect.orDie(
      bench.client.patch(Builtin.Secret, token, { type: "merge", patch: { data: Bench.encoded({ token: text }) } })
    )
  return { ...databases, bench, operator, slice, bound, gone, says, check, tokenIs }
})

describe("A slice that is a database of a database provider", () => {
  it.effect(
    "S7, S8, S30: is asked for by its id until it is there, bound by servicebinding.io's keys, and closed",
    () =>
      Effect.gen(function* () {
        const { bench, databases, gone, operator, password, requests, says, slice, state } = yield* served
        state.made = "Provisioning"
        const { id, made, record } = yield* slice("shop")
        assert.include((yield* says(record)).message, "is making the database")
        state.made = "Ready"
        assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")

        const copy = yield* bench.copy(made)
        assert.deepStrictEqual(copy, {
          type: "postgresql",
          host: "pg.test",
          port: "6432",
          database: `t_${id}`,
          username: `u_${id}`,
          password: password(id),
          sslmode: "verify-full",
          uri: `postgresql://u_${id}:${password(id)}@pg.test:6432/t_${id}?sslmode=verify-full`,
          certificates: "a certificate"
        })
        assert.deepStrictEqual(yield* bench.kept(id), copy)
        assert.lengthOf((yield* Effect.orDie(bench.client.list(Builtin.Job))).items, 0)

        yield* bench.release(record)
        yield* gone(record)

        assert.strictEqual(databases.get(id), "SoftDeleted")
        assert.deepStrictEqual(new Set(requests.map((request) => request.id)), new Set([id]))
      }).pipe(Bench.test)
  )

  const refusals = [
    ["unauthorized", "token_refused"],
    ["consumer_disabled", "consumer_disabled"],
    ["quota_exceeded", "quota_exceeded"],
    ["being_deleted", "being_deleted"],
    ["parameters_differ", "refused"],
    ["too_many_requests", "busy"],
    ["internal", "failing"],
    ["shutting_down", "busy"]
  ] as const

  it.effect("S10: waits through whatever its provider refuses, says it, and asks again by itself", () =>
    Effect.gen(function* () {
      const { bench, operator, problem, says, slice, state } = yield* served
      const { record } = yield* slice("shop")
      for (const [code, reason] of refusals) {
        state.answer = problem(code)
        const said = yield* says(record)
        assert.strictEqual(said.reason, reason, code)
        assert.notInclude(said.message, "said for people")
        assert.notInclude(said.message, "token-1")
      }
      state.answer = { status: 502, body: { oops: true } }
      assert.strictEqual((yield* says(record)).reason, "failing")
      state.answer = { status: 200, body: { welcome: true } }
      assert.strictEqual((yield* says(record)).reason, "no_provider")

      state.answer = undefined

      assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")
    }).pipe(Bench.test)
  )

  it.effect("S11: uses the token that is in the Secret at each pass, and a copy of the last one for a teardown", () =>
    Effect.gen(function* () {
      const { bench, bound, check, databases, gone, says, slice, state, tokenIs } = yield* served
      const first = yield* bound("first")
      state.token = "token-2"
      const second = yield* slice("second")
      const refused = yield* says(second.record)
      assert.strictEqual(refused.reason, "token_refused")
      assert.include(refused.message, "the token token of the Secret databases in the namespace berth-shared")
      yield* tokenIs("token-2")
      yield* says(second.record)
      assert.strictEqual(yield* bench.phase(second.record), "Bound")

      assert.strictEqual(yield* check, "usable")
      yield* bench.remove(SharedComponentProvider, "databases")
      yield* bench.remove(SharedComponent, "databases")
      yield* bench.remove(Builtin.Secret, token.name, token.namespace)
      yield* bench.release(first.record)
      yield* gone(first.record)

      assert.strictEqual(databases.get(first.id), "SoftDeleted")
    }).pipe(Bench.test)
  )

  it.effect("S16: is kept where its provider does not know it, and goes where it never was, or was dropped", () =>
    Effect.gen(function* () {
      const { bench, bound, databases, gone, says, slice, state } = yield* served
      const used = yield* bound("used")
      databases.delete(used.id)
      yield* bench.release(used.record)
      const missing = yield* says(used.record)
      assert.strictEqual(missing.reason, "database_missing")
      assert.include(missing.message, `berth.dev/abandon with its UID ${used.made.metadata.uid}`)
      databases.set(used.id, "Dropping")
      yield* gone(used.record)

      state.made = "Failed"
      const unused = yield* slice("unused")
      assert.strictEqual((yield* says(unused.record)).reason, "not_made")
      databases.delete(unused.id)
      yield* bench.release(unused.record)
      yield* gone(unused.record)
    }).pipe(Bench.test)
  )

  it.effect("waits where its provider cannot be reached or trusted, and does not try for each slice", () =>
    Effect.gen(function* () {
      const { bench, operator, requests, says, slice, start, stop } = yield* served
      const one = yield* slice("one")
      const other = yield* slice("other")
      yield* stop

      const unreachable = yield* says(one.record)

      assert.strictEqual(unreachable.reason, "unreachable")
      assert.match(unreachable.message, /127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\); trying again\.$/u)
      yield* start
      for (let pass = 0; pass < 2; pass++) yield* operator.pass(other.record)
      assert.strictEqual(yield* bench.reason(other.record), "unreachable")
      assert.lengthOf(requests, 0)
      assert.strictEqual(yield* bench.drive(operator, one.record, "Bound"), "Bound")
      assert.strictEqual(yield* bench.drive(operator, other.record, "Bound"), "Bound")

      const { certificate } = makeAuthority("somebody else")
      yield* bench.edit(SharedComponentProvider, "databases", { spec: { databaseProvider: { caBundle: certificate } } })
      const distrusted = yield* slice("distrusted")
      assert.strictEqual((yield* says(distrusted.record)).reason, "certificate_refused")
    }).pipe(Bench.test)
  )

  it.effect("S18: slices can be made where the provider answers and takes the token", () =>
    Effect.gen(function* () {
      const { bench, check, requests, start, stop, tokenIs } = yield* served

      assert.strictEqual(yield* check, "usable")
      assert.deepStrictEqual(requests, [{ method: "GET", id: "" }])
      yield* tokenIs("another")
      assert.strictEqual(yield* check, "token_refused")
      yield* tokenIs("  ")
      assert.strictEqual(yield* check, "token_refused")
      yield* stop
      yield* tokenIs("token-1")
      assert.strictEqual(yield* check, "unreachable")
      yield* start
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual(yield* check, "usable")
      yield* bench.remove(Builtin.Secret, token.name, token.namespace)
      assert.strictEqual(yield* check, "secret_missing")
    }).pipe(Bench.test)
  )

  it.effect("S25: neither token nor password is in anything but Secrets", () =>
    Effect.gen(function* () {
      const { bench, bound, password } = yield* served
      const { id } = yield* bound("shop")

      for (const type of [Slice, SharedComponent, SharedComponentProvider, Builtin.ConfigMap, Builtin.Namespace]) {
        const { items } = yield* Effect.orDie(bench.client.list<Builtin.Of<object>>(type))
        const text = JSON.stringify(items)
        assert.notInclude(text, "token-1")
        assert.notInclude(text, password(id))
      }
    }).pipe(Bench.test)
  )
})
