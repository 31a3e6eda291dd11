import { spawn } from "node:child_process"
import { mkdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Identifier } from "@berth/kube/Identifier"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Latch, Logger, Metric, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Audit from "../src/Audit.ts"
import { AuditEvent, Line } from "../src/AuditEvent.ts"
import * as AuditSink from "../src/AuditSink.ts"
import * as ProviderMetrics from "../src/ProviderMetrics.ts"

const id = (name: string) => Identifier.make(name)
const caller = { consumer: id("ci"), token: id("main"), requestId: "r-1", remoteAddress: "192.0.2.7" }
const subject = { consumer: id("ci"), externalId: id("branch-1"), database: id("t_0123456789abcdefghij") }
const placed = { ...subject, shard: id("shard-a") }

const events: ReadonlyArray<AuditEvent> = [
  { event: "auth.denied", reason: "unknown", requestId: "r-1" },
  { event: "quota.denied", ...caller, externalId: id("branch-1"), maxDatabases: 10 },
  { event: "database.requested", ...caller, ...subject },
  { event: "credentials.read", ...caller, ...subject },
  { event: "delete.requested", ...caller, ...subject },
  { event: "database.placed", ...placed },
  { event: "database.ready", ...placed },
  { event: "database.closed", ...placed, dropAfter: DateTime.makeUnsafe("2026-01-08T00:00:00Z") },
  { event: "database.held", ...subject },
  { event: "database.released", ...subject, by: "administrator" },
  { event: "database.dropped", ...placed },
  { event: "drop.failed", ...placed, reason: id("drop.replication_slots") },
  {
    event: "shard.isolation_violation",
    shard: id("shard-a"),
    database: id("t_0123456789abcdefghij"),
    how: "login",
    closes: "shard"
  },
  { event: "audit.lost", count: 7 }
]

/** A sink that keeps what it gets, and takes it only while it is open. */
const memory = Effect.sync(() => {
  const gate = Latch.makeUnsafe(true)
  const written: Array<string> = []
  const sink: AuditSink.Sink = { write: (lines) => gate.whenOpen(Effect.sync(() => void written.push(lines))) }
  return { gate, sink, lines: () => written.join("").split("\n").slice(0, -1) }
})

const parsed = (line: string): { readonly event: string; readonly count?: number; readonly requestId?: string } =>
  JSON.parse(line)

const denied = (requestId: string): AuditEvent => ({ event: "auth.denied", reason: "missing", requestId })

const recorded = (options: Partial<Audit.Options> & Pick<Audit.Options, "sink">, all: ReadonlyArray<AuditEvent>) =>
  Effect.forEach(all, Audit.record, { discard: true }).pipe(
    Effect.provide(Audit.layer({ instance: "provider-0", ...options }))
  )

const quiet = Effect.provide(Logger.layer([]))

describe("Audit", () => {
  it.effect("D22: each event is one line, and all lines have one schema, which has no other field", () =>
    Effect.gen(function* () {
      const { lines, sink } = yield* memory

      yield* recorded({ sink }, events)

      const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Line))
      const read = yield* Effect.forEach(lines(), (line) => decode(line, { onExcessProperty: "error" }))
      assert.deepStrictEqual(
        read.map(({ event }) => event),
        AuditEvent.members.map(({ fields }) => fields.event.literal)
      )
      for (const each of read) {
        assert.deepInclude(each, {
          type: "audit",
          version: 1,
          instance: "provider-0",
          time: "1970-01-01T00:00:00.000Z"
        })
      }
      assert.deepStrictEqual(
        read.flatMap(({ event, outcome }) => (outcome === "success" ? [] : [`${event} ${outcome}`])),
        [
          "auth.denied denied",
          "quota.denied denied",
          "drop.failed failure",
          "shard.isolation_violation failure",
          "audit.lost failure"
        ]
      )
      assert.deepInclude(read[3], { ...caller, ...subject })
    })
  )

  it.effect("D22: what a caller sends cannot begin a line of its own", () =>
    Effect.gen(function* () {
      const { lines, sink } = yield* memory

      yield* recorded({ sink }, [denied('r-1\n{"type":"audit"}')])

      assert.strictEqual(lines().length, 1)
    })
  )

  it.effect(
    "D22: nobody waits for a log that takes nothing; what had no room is counted, and the log says how many",
    () =>
      Effect.gen(function* () {
        const { gate, lines, sink } = yield* memory
        yield* gate.close
        const all = Array.from({ length: 10 }, (_, index) => denied(`r-${index}`))

        yield* Effect.gen(function* () {
          yield* Audit.record(denied("first"))
          // The writer has taken it, and waits.
          yield* Effect.yieldNow
          yield* Effect.forEach(all, Audit.record, { discard: true })
          yield* gate.open
        }).pipe(Effect.provide(Audit.layer({ instance: "provider-0", sink, queueMax: 4 })))

        const read = lines().map(parsed)
        assert.deepStrictEqual(
          read.flatMap(({ requestId = "" }) => requestId || []),
          ["first", "r-0", "r-1", "r-2", "r-3"]
        )
        assert.deepStrictEqual(
          read.flatMap(({ count }) => count ?? []),
          [6]
        )
        assert.strictEqual((yield* Metric.value(ProviderMetrics.auditLost)).count, 6)
      }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("D22: what a log does not take is offered again until it does, in its order", () =>
    Effect.gen(function* () {
      const { lines, sink } = yield* memory
      let failures = 3
      const failing: AuditSink.Sink = {
        write: (text) =>
          Effect.suspend(() =>
            failures-- > 0 ? Effect.fail(new AuditSink.SinkFailed({ sink: "it", code: "ENOSPC" })) : sink.write(text)
          )
      }

      yield* Effect.gen(function* () {
        yield* Effect.forEach([denied("1"), denied("2")], Audit.record, { discard: true })
        yield* TestClock.adjust("6999 millis")
        assert.deepStrictEqual(lines(), [])
        yield* TestClock.adjust("1 millis")
      }).pipe(Effect.provide(Audit.layer({ instance: "provider-0", sink: failing })))

      assert.deepStrictEqual(
        lines().map((line) => parsed(line).requestId),
        ["1", "2"]
      )
    }).pipe(quiet)
  )

  it.effect("a program that ends waits two seconds for a log that takes nothing, and no longer", () =>
    Effect.gen(function* () {
      const { gate, sink } = yield* memory
      yield* gate.close

      const ended = yield* Effect.forkChild(recorded({ sink }, [denied("1")]))
      yield* TestClock.adjust("1999 millis")
      const early = ended.pollUnsafe()
      yield* TestClock.adjust("1 millis")

      assert.isUndefined(early)
      assert.isDefined(ended.pollUnsafe())
    })
  )

  it.live(
    "D22: a reader of standard output that does not read holds nobody up",
    () =>
      Effect.gen(function* () {
        const script = fileURLToPath(new URL("support/auditor.ts", import.meta.url))
        const child = spawn(process.execPath, ["--conditions=@berth/source", script], {
          stdio: ["ignore", "pipe", "pipe"]
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
        const exit = new Promise<number | null>((resolve) => child.once("close", resolve))

        const said = yield* Effect.promise(
          () =>
            new Promise<string>((resolve) => child.stderr.once("data", (chunk: Buffer) => resolve(chunk.toString())))
        )
        let text = ""
        child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()))

        assert.include(said, "told 5000")
        assert.strictEqual(yield* Effect.promise(() => exit), 0)
        assert.strictEqual(text.split("\n").filter((line) => line.includes('"audit"')).length, 5000)
      }).pipe(Effect.scoped),
    30_000
  )

  it.live("a file is appended to, and made anew where it was moved away", () =>
    Effect.gen(function* () {
      const folder = yield* LocalProcess.temporaryFolder("berth-audit")
      const path = join(folder, "audit.jsonl")
      const sink = yield* AuditSink.file(path)

      yield* sink.write("one\n")
      yield* sink.write("two\n")
      renameSync(path, `${path}.1`)
      yield* sink.write("three\n")

      assert.strictEqual(readFileSync(`${path}.1`, "utf8"), "one\ntwo\n")
      assert.strictEqual(readFileSync(path, "utf8"), "three\n")
    }).pipe(Effect.scoped)
  )

  it.live("a file that cannot be written is known at once, and later by its code; a broken line is ended", () =>
    Effect.gen(function* () {
      const folder = join(yield* LocalProcess.temporaryFolder("berth-audit"), "logs")
      const path = join(folder, "audit.jsonl")

      const early = yield* Effect.flip(AuditSink.file(path))
      mkdirSync(folder)
      const sink = yield* AuditSink.file(path)
      rmSync(folder, { recursive: true })
      const late = yield* Effect.flip(sink.write("one\n"))
      mkdirSync(folder)
      yield* sink.write("one\n")
      yield* sink.write("two\n")

      assert.deepInclude(early, { _tag: "SinkFailed", sink: path, code: "ENOENT" })
      assert.deepInclude(late, { _tag: "SinkFailed", code: "ENOENT" })
      assert.strictEqual(readFileSync(path, "utf8"), "\none\ntwo\n")
    }).pipe(Effect.scoped)
  )
})
