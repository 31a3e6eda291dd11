import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { KubeObject } from "@berth/kube/KubeObject"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Logger, Option, References, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Script } from "../src/internal/script.ts"
import * as attempts from "../src/internal/slices/attempts.ts"
import * as lastWords from "../src/internal/slices/lastWords.ts"
import * as ScriptJob from "../src/ScriptJob.ts"
import * as Faults from "./support/Faults.ts"
import * as Outside from "./support/Outside.ts"

const namespace = Identifier.of("default")
const sliceId = "a".repeat(20)
const secret = "generated/secret&"
const jobName = (attempt: number) => `slice-${sliceId}-provision-${attempt}`

const build = Effect.gen(function* () {
  const client = yield* Client
  const faults = Faults.make(client)
  const outside = Outside.make(client, namespace)
  let entries: ReadonlyArray<ScriptJob.Entry> = []
  const steps: Array<string> = []
  const journal: ScriptJob.Journal = {
    entries: Effect.sync(() => entries),
    write: (next) =>
      Effect.sync(() => {
        entries = next
        steps.push(`${faults.writes.length} writes, then entry ${next.length}`)
      })
  }
  const order: ScriptJob.Order = {
    action: "provision",
    script: yield* Schema.decodeUnknownEffect(Script)({
      image: "berth",
      script: Outside.script("provision"),
      env: [{ name: "PASSWORD", value: "{{ .Env.GeneratedSecret }}" }],
      deadline: "90s",
      retries: 2
    }),
    provider: Identifier.of("postgres"),
    sliceId,
    sliceUid: "uid-1",
    namespace,
    context: { Env: { GeneratedSecret: secret }, Slice: { Id: sliceId }, Instance: { password: "admin-password" } },
    secrets: [secret, "admin-password"],
    inputHash: "f".repeat(64)
  }
  /** One pass: what it says, or "done". */
  const pass = (changes: Partial<ScriptJob.Order> = {}) =>
    Effect.result(ScriptJob.run({ ...order, ...changes }, journal)).pipe(
      Effect.provideService(Client, faults.client),
      Effect.map((result) => (Result.isSuccess(result) ? "done" : said(result.failure)))
    )
  const job = (name: string) => Effect.option(client.get(Builtin.Job, { name, namespace }))
  const remove = (type: typeof Builtin.Job | typeof Builtin.Secret, name: string) =>
    client.delete<KubeObject>(type, { name, namespace })
  const outcomes = Effect.sync(() => entries.map(({ attempt, outcome }) => [attempt, outcome]))
  const stop = Effect.result(ScriptJob.stop({ action: "provision", namespace, sliceUid: "uid-1" }, journal)).pipe(
    Effect.provideService(Client, faults.client),
    Effect.map((result) => (Result.isSuccess(result) ? "done" : said(result.failure)))
  )
  return { client, faults, outside, steps, pass, job, remove, outcomes, stop, order, journal }
})

const said = ({ after, reason }: Disposition.ProvisionError): string =>
  after === undefined ? reason : `${reason} ${Duration.toMillis(after)}`

/** Somebody else's Job, with these marks, that has succeeded. */
const stranger = (name: string, annotations: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const client = yield* Client
    const template = { spec: { restartPolicy: "Never", containers: [{ name: "x", image: "x", command: ["true"] }] } }
    yield* client.create(Builtin.Job, { metadata: { name, namespace, annotations }, spec: { template } })
    const status = { conditions: [{ type: "Complete", status: "True" }] }
    yield* client.patch(
      Builtin.Job,
      { name, namespace },
      { type: "merge", patch: { status } },
      { subresource: "status" }
    )
  })

const test = <A, E>(self: Effect.Effect<A, E, Client>) =>
  self.pipe(Effect.provide(Cluster.embeddedWithClient()), Effect.provideService(References.MinimumLogLevel, "None"))

describe("ScriptJob", () => {
  it.effect("S9: the entry comes first, then the Secret, the Job and its UID", () =>
    Effect.gen(function* () {
      const { faults, outcomes, outside, pass, steps } = yield* build

      assert.strictEqual(yield* pass(), "running")
      assert.deepStrictEqual(steps, ["0 writes, then entry 1", "2 writes, then entry 1"])
      assert.deepStrictEqual(faults.writes, [`create secrets ${jobName(1)}-input`, `create jobs ${jobName(1)}`])
      yield* outside.work
      assert.strictEqual(yield* pass(), "done")
      assert.deepStrictEqual(yield* outcomes, [[1, "Succeeded"]])
      const before = faults.writes.length
      assert.strictEqual(yield* pass(), "done")
      assert.strictEqual(faults.writes.length, before)
    }).pipe(test)
  )

  it.effect("S9: a Job that was deleted is lost, and the next attempt is told its own number", () =>
    Effect.gen(function* () {
      const { outcomes, outside, pass, remove } = yield* build
      yield* pass()
      yield* remove(Builtin.Job, jobName(1))

      assert.strictEqual(yield* pass(), "running")
      yield* outside.work
      assert.strictEqual(yield* pass(), "done")

      assert.deepStrictEqual(yield* outcomes, [
        [1, "Lost"],
        [2, "Succeeded"]
      ])
      assert.deepStrictEqual(
        outside.runs.map(({ attempt }) => attempt),
        ["2"]
      )
    }).pipe(test)
  )

  it.effect(
    "S9: a Job that was deleted after it succeeded counts as lost, and one whose success is known does not",
    () =>
      Effect.gen(function* () {
        const { outside, pass, remove } = yield* build
        yield* pass()
        yield* outside.work
        yield* remove(Builtin.Job, jobName(1))
        assert.strictEqual(yield* pass(), "running")
        yield* outside.work
        yield* pass()
        yield* remove(Builtin.Job, jobName(2))

        assert.strictEqual(yield* pass(), "done")
      }).pipe(test)
  )

  it.effect("S9: a stranger's Job of the name is not taken for the script's", () =>
    Effect.gen(function* () {
      const { job, outcomes, outside, pass } = yield* build
      yield* stranger(jobName(1), {})

      assert.strictEqual(yield* pass(), "already_exists")
      assert.strictEqual(yield* pass(), "running")
      assert.isTrue(Option.isSome(yield* job(jobName(1))))
      yield* outside.work
      assert.strictEqual(yield* pass(), "done")
      assert.deepStrictEqual(yield* outcomes, [
        [1, "Lost"],
        [2, "Succeeded"]
      ])
    }).pipe(test)
  )

  it.effect("S9: a Job that took the name later is not taken for the script's, however well it is forged", () =>
    Effect.gen(function* () {
      const { job, outcomes, pass, remove } = yield* build
      yield* pass()
      const { annotations } = Option.getOrThrow(yield* job(jobName(1))).metadata
      yield* remove(Builtin.Job, jobName(1))
      yield* stranger(jobName(1), annotations ?? {})

      assert.strictEqual(yield* pass(), "running")

      assert.deepStrictEqual(yield* outcomes, [
        [1, "Lost"],
        [2, undefined]
      ])
    }).pipe(test)
  )

  it.effect("S9: an outcome counts for its inputs only", () =>
    Effect.gen(function* () {
      const { outcomes, outside, pass } = yield* build
      yield* pass()
      yield* outside.work
      yield* pass()

      assert.strictEqual(yield* pass({ inputHash: "e".repeat(64) }), "running")
      yield* outside.work
      assert.strictEqual(yield* pass({ inputHash: "e".repeat(64) }), "done")
      assert.deepStrictEqual(yield* outcomes, [
        [1, "Succeeded"],
        [2, "Succeeded"]
      ])
    }).pipe(test)
  )

  it.effect("S9: a Secret of the name that is somebody else's is not removed", () =>
    Effect.gen(function* () {
      const { client, pass } = yield* build
      const ref = { name: `${jobName(1)}-input`, namespace }
      yield* client.create(Builtin.Secret, { metadata: ref, stringData: { theirs: "x" } })

      assert.strictEqual(yield* pass(), "already_exists")
      assert.strictEqual(yield* pass(), "running")

      assert.isTrue(Option.isSome(yield* Effect.option(client.get(Builtin.Secret, ref))))
    }).pipe(test)
  )

  it.effect("S15: a script that fails is tried again after 5 s, then 10 s, and no more than its limit", () =>
    Effect.gen(function* () {
      const { outside, pass } = yield* build
      outside.decide(() => "fails")
      const failed = Effect.andThen(pass(), Effect.andThen(outside.work, pass()))

      assert.strictEqual(yield* failed, "retrying 5000")
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(yield* pass(), "retrying 1")
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* failed, "retrying 10000")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* failed, "failed")
      yield* TestClock.adjust("1 day")
      assert.strictEqual(yield* pass(), "failed")
      assert.strictEqual(outside.runs.length, 3)
    }).pipe(test)
  )

  it.effect("S15: a new retry annotation, or other inputs, revive a script that failed for good", () =>
    Effect.gen(function* () {
      const { outside, pass } = yield* build
      outside.decide(() => "fails")
      for (let attempt = 0; attempt < 3; attempt++) {
        yield* pass()
        yield* outside.work
        yield* pass()
        yield* TestClock.adjust("10 minutes")
      }
      assert.strictEqual(yield* pass(), "failed")

      assert.strictEqual(yield* pass({ retry: "1" }), "running")
      yield* outside.work
      assert.strictEqual(yield* pass({ retry: "1" }), "retrying 5000")
      assert.strictEqual(yield* pass({ inputHash: "e".repeat(64) }), "running")
      outside.decide(() => "succeeds")
      yield* outside.work
      assert.strictEqual(yield* pass({ inputHash: "e".repeat(64) }), "done")
      assert.deepStrictEqual(
        outside.runs.map(({ attempt }) => attempt),
        ["1", "2", "3", "4", "5"]
      )
    }).pipe(test)
  )

  it.effect("S15: a script that hangs meets its deadline", () =>
    Effect.gen(function* () {
      const { job, outside, pass } = yield* build
      outside.decide(() => "hangs")
      yield* pass()
      assert.strictEqual(Option.getOrThrow(yield* job(jobName(1))).spec?.activeDeadlineSeconds, 90)
      assert.strictEqual(Option.getOrThrow(yield* job(jobName(1))).spec?.backoffLimit, 0)

      for (const answer of ["hanging 5000", "hanging 10000", "timed_out"]) {
        yield* pass()
        yield* outside.work
        assert.strictEqual(yield* pass(), answer)
        yield* TestClock.adjust("10 minutes")
      }
    }).pipe(test)
  )

  it.effect("S15: Jobs that are removed again and again are made again with growing pauses", () =>
    Effect.gen(function* () {
      const { pass, remove } = yield* build
      yield* pass()
      yield* remove(Builtin.Job, jobName(1))
      assert.strictEqual(yield* pass(), "running")
      yield* remove(Builtin.Job, jobName(2))
      assert.strictEqual(yield* pass(), "vanishing 5000")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* pass(), "running")
      yield* remove(Builtin.Job, jobName(3))
      assert.strictEqual(yield* pass(), "vanishing 10000")
    }).pipe(test)
  )

  it.effect("S15: attempts that were lost do not push the failures out of the record", () =>
    Effect.gen(function* () {
      const { outcomes, outside, pass, remove } = yield* build
      outside.decide(() => "fails")
      yield* pass()
      yield* outside.work
      yield* pass()
      outside.decide(() => "runs")
      for (let attempt = 2; attempt <= 40; attempt++) {
        yield* TestClock.adjust("10 minutes")
        yield* pass()
        yield* remove(Builtin.Job, jobName(attempt))
        yield* pass()
      }

      const kept = yield* outcomes
      assert.isAtMost(kept.length, 24)
      assert.deepStrictEqual(kept[0], [1, "Failed"])
    }).pipe(test)
  )

  it.effect("S10: stopping a script ends its Job and waits until it is gone", () =>
    Effect.gen(function* () {
      const { client, job, outcomes, pass, stop } = yield* build
      yield* pass()
      const ref = { name: jobName(1), namespace }
      const finalizers = (list: ReadonlyArray<string>) =>
        client.patch(Builtin.Job, ref, { type: "merge", patch: { metadata: { finalizers: list } } })
      yield* finalizers(["berth.dev/test"])

      assert.strictEqual(yield* stop, "stopping")
      assert.strictEqual(yield* stop, "stopping")
      yield* Effect.ignore(client.patch(Builtin.Job, ref, { type: "merge", patch: { metadata: { finalizers: null } } }))
      assert.isTrue(Option.isNone(yield* job(jobName(1))))
      assert.strictEqual(yield* stop, "done")
      assert.deepStrictEqual(yield* outcomes, [[1, "Lost"]])
    }).pipe(test)
  )

  it.effect("S9: a stranger's Job of the name is not stopped", () =>
    Effect.gen(function* () {
      const { job, pass, stop } = yield* build
      yield* stranger(jobName(1), {})
      yield* pass()

      assert.strictEqual(yield* stop, "done")

      assert.isTrue(Option.isSome(yield* job(jobName(1))))
    }).pipe(test)
  )

  it.effect("S15, S25: the last words are in the log, without any secret in any form", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => void lines.push(JSON.stringify(message)))
      const { client, outside, pass } = yield* build
      outside.decide(() => "fails")
      yield* pass()
      const labels = { "batch.kubernetes.io/job-name": jobName(1) }
      const containers = [{ name: "script", image: "berth" }]
      yield* client.create(Builtin.Pod, { metadata: { name: "pod", namespace, labels }, spec: { containers } })
      const forms = [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64"), "admin-password"]
      const message = `role exists already: ${forms.join(" ")}`
      const terminated = { exitCode: 3, message }
      const status = {
        containerStatuses: [
          { name: "script", image: "", imageID: "", ready: false, restartCount: 0, state: { terminated } }
        ]
      }
      yield* client.patch(
        Builtin.Pod,
        { name: "pod", namespace },
        { type: "merge", patch: { status } },
        { subresource: "status" }
      )
      yield* outside.work

      yield* pass().pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(References.MinimumLogLevel, "Trace")
      )

      const log = lines.join("\n")
      assert.include(log, "exit code 3: role exists already: [hidden] [hidden] [hidden] [hidden]")
      for (const form of forms) assert.notInclude(log, form)
    }).pipe(test)
  )

  it.effect("S15: an end that another clock saw in the future makes no pause longer", () =>
    Effect.gen(function* () {
      const finishedAt = DateTime.makeUnsafe("2126-01-01T00:00:00Z")
      const entry = { ...ScriptJob.unknown("provision", sliceId, "f".repeat(64)), finishedAt }

      assert.strictEqual(yield* attempts.leftMs(entry, 1), 5000)
    })
  )

  it("S25: a secret of many lines is hidden line by line, and long words are cut after that", () => {
    const key = ["-----BEGIN KEY-----", "MIIBogIBAAJBALRi", "-----END KEY-----"].join("\n")

    assert.strictEqual(lastWords.redacted("at MIIBogIBAAJBALRi: no", [key]), "at [hidden]: no")
    assert.strictEqual(lastWords.redacted('{"p":"a\\"b\\"c"}', ['a"b"c']), '{"p":"[hidden]"}')
    assert.strictEqual(lastWords.redacted("abcdef abc", ["abc", "abcdef"]), "[hidden] [hidden]")
    assert.strictEqual(lastWords.redacted("pg", ["p", "pg"]), "pg")
  })
})
