import * as KubeClient from "@berth/kube/Client"
import * as KubeEvents from "@berth/kube/Events"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Layer, Metric, References, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Builtin from "../src/Builtin.ts"
import * as Events from "../src/Events.ts"
import { clip, nameFor } from "../src/internal/events/wire.ts"
import * as KubeError from "../src/KubeError.ts"
import * as Metrics from "../src/Metrics.ts"
import type * as Transport from "../src/Transport.ts"
import { json, refusal, wire, type WireAnswer } from "./support/wire.ts"

const web = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web", namespace: "shop", uid: "uid-1" } }
const greeted: Events.Report = {
  regarding: web,
  type: "Normal",
  reason: "Greeted",
  action: "Greet",
  note: "Said hello."
}

/** Lets others run, without letting time pass, until the number stays what it is. */
const settled = (number: () => number): Effect.Effect<void> =>
  Effect.gen(function* () {
    const before = number()
    yield* Effect.repeat(Effect.yieldNow, { times: 100 })
    if (number() !== before) yield* settled(number)
  })

/** A recorder, and what it sent as `[method, body]`. */
const recording = Effect.fnUntraced(function* (
  options: Partial<Events.Options> = {},
  answer: (request: Transport.TransportRequest, index: number) => WireAnswer = () => json(201, { kind: "Event" })
) {
  const { layer, requests } = wire(answer)
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const events = Events.layer({ controller: "berth.dev/test", instance: "pod-1", ...options })
  const context = yield* Layer.buildWithScope(Layer.provide(events, layer), scope)
  const record = (...reports: ReadonlyArray<Events.Report>) =>
    Effect.provideContext(
      Effect.andThen(
        Effect.forEach(reports, Events.record, { discard: true }),
        settled(() => requests.length)
      ),
      context
    )
  const sent = () => requests.map(({ body = "{}", method }) => ({ method, body: JSON.parse(body) }))
  return { record, sent, requests, end: Scope.close(scope, Exit.void) }
})

const quiet = Effect.provideService(References.MinimumLogLevel, "None")
const times = (count: number, report: Events.Report = greeted) => Array.from({ length: count }, () => report)

describe("Events", () => {
  it.effect("K27: a report becomes an Event of events.k8s.io/v1 beside its object", () =>
    Effect.gen(function* () {
      const { record, requests, sent } = yield* recording()
      yield* TestClock.adjust("90 seconds")

      yield* record(greeted)

      assert.strictEqual(requests[0]?.path, "/apis/events.k8s.io/v1/namespaces/shop/events?fieldManager=berth")
      const [{ body, method } = { body: {}, method: "" }] = sent()
      assert.strictEqual(method, "POST")
      assert.match(body.metadata.name, /^web\.[0-9a-f]{16}$/u)
      assert.deepInclude(body, {
        eventTime: "1970-01-01T00:01:30.000000Z",
        reportingController: "berth.dev/test",
        reportingInstance: "pod-1",
        action: "Greet",
        reason: "Greeted",
        type: "Normal",
        note: "Said hello.",
        regarding: { apiVersion: "v1", kind: "ConfigMap", name: "web", namespace: "shop", uid: "uid-1" }
      })
    })
  )

  it.effect("K27: what has no namespace is reported in default", () =>
    Effect.gen(function* () {
      const { record, requests } = yield* recording()

      yield* record({ ...greeted, regarding: { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } } })

      assert.include(requests[0]?.path, "/namespaces/default/events")
    })
  )

  it.effect("K27: the same report again is counted in the series of one Event", () =>
    Effect.gen(function* () {
      const { record, sent } = yield* recording()

      yield* record(greeted)
      yield* TestClock.adjust("10 seconds")
      yield* record(greeted)
      yield* record(greeted)

      const [created, ...patches] = sent()
      assert.strictEqual(created?.method, "POST")
      assert.notProperty(created?.body, "series")
      assert.deepStrictEqual(patches, [
        { method: "PATCH", body: { series: { count: 2, lastObservedTime: "1970-01-01T00:00:10.000000Z" } } },
        { method: "PATCH", body: { series: { count: 3, lastObservedTime: "1970-01-01T00:00:10.000000Z" } } }
      ])
    })
  )

  const other: ReadonlyArray<{ difference: string; report: Partial<Events.Report> }> = [
    { difference: "object", report: { regarding: { ...web, metadata: { ...web.metadata, name: "api" } } } },
    {
      difference: "life of the object",
      report: { regarding: { ...web, metadata: { ...web.metadata, uid: "uid-2" } } }
    },
    { difference: "type", report: { type: "Warning" } },
    { difference: "reason", report: { reason: "Left" } },
    { difference: "action", report: { action: "Leave" } },
    { difference: "note", report: { note: "Said goodbye." } }
  ]
  it.effect.each(other)("K27: another $difference is another Event", ({ report }) =>
    Effect.gen(function* () {
      const { record, sent } = yield* recording()

      yield* record(greeted, { ...greeted, ...report })

      assert.deepStrictEqual(
        sent().map(({ method }) => method),
        ["POST", "POST"]
      )
    })
  )

  it.effect("K27: after half an hour of silence the same report begins a new Event", () =>
    Effect.gen(function* () {
      const { record, sent } = yield* recording()
      yield* record(greeted)
      yield* TestClock.adjust("1799999 millis")
      yield* record(greeted)
      yield* TestClock.adjust("30 minutes")

      yield* record(greeted)

      assert.deepStrictEqual(
        sent().map(({ method }) => method),
        ["POST", "PATCH", "POST"]
      )
    })
  )

  it.effect("K27: an Event that the server has forgotten is made anew, with its count", () =>
    Effect.gen(function* () {
      const { record, sent } = yield* recording({}, ({ method }) =>
        method === "PATCH" ? json(404, refusal(404, "NotFound")) : json(201, { kind: "Event" })
      )

      yield* record(greeted, greeted)

      assert.deepStrictEqual(
        sent().map(({ body, method }) => [method, body.series?.count]),
        [
          ["POST", undefined],
          ["PATCH", 2],
          ["POST", 2]
        ]
      )
    })
  )

  it.effect("K27: about one object come 25 writes at once, then one every five minutes, which tells of all", () =>
    Effect.gen(function* () {
      const { record, sent } = yield* recording()
      yield* record(...times(40))
      assert.lengthOf(sent(), 25)
      yield* TestClock.adjust("299999 millis")
      yield* record(greeted)
      assert.lengthOf(sent(), 25)
      yield* TestClock.adjust("1 millis")

      yield* record(greeted, greeted)

      assert.lengthOf(sent(), 26)
      assert.strictEqual(sent().at(-1)?.body.series.count, 42)
    })
  )

  it.effect("K27: one object's flood leaves the others their own", () =>
    Effect.gen(function* () {
      const { record, sent } = yield* recording()
      yield* record(...Array.from({ length: 30 }, (_, index) => ({ ...greeted, note: `Said hello to ${index}.` })))

      yield* record({ ...greeted, regarding: { ...web, metadata: { ...web.metadata, name: "api", uid: "uid-2" } } })

      assert.lengthOf(sent(), 26)
      assert.strictEqual(sent().at(-1)?.body.regarding.name, "api")
    })
  )

  it.effect("K27: while the server does not answer, reporting returns at once and keeps no more than its bound", () =>
    Effect.gen(function* () {
      let answers = false
      const { record, sent } = yield* recording({ queueMax: 10, burst: 1_000 }, () =>
        answers ? json(201, { kind: "Event" }) : Effect.never
      )
      const numbered = (index: number) => ({ ...greeted, note: `Said hello to ${index}.` })

      for (let index = 0; index < 100; index++) yield* record(numbered(index))
      assert.lengthOf(sent(), 1)
      const dropped = Metric.withAttributes(Metrics.eventsTotal, { outcome: "dropped" })
      assert.strictEqual((yield* Metric.value(dropped)).count, 89)

      answers = true
      yield* TestClock.adjust("1 minute")

      // The one that hung, again, and the ten that waited.
      assert.lengthOf(sent(), 12)
    }).pipe(quiet, Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  const failures = [
    { how: "refuses", answer: json(403, refusal(403, "Forbidden")), requests: 1 },
    { how: "says that the namespace ends", answer: json(404, refusal(404, "NotFound")), requests: 1 },
    { how: "takes the Event for invalid", answer: json(422, refusal(422, "Invalid")), requests: 1 },
    {
      how: "cannot be reached",
      answer: Effect.fail(
        new KubeError.Unreachable({ verb: "create", resource: "events", namespace: "", name: "", cause: "cut" })
      ),
      requests: 4
    },
    { how: "fails", answer: json(500, refusal(500, "")), requests: 4 },
    { how: "breaks the transport", answer: Effect.die("broken"), requests: 1 }
  ]
  it.effect.each(failures)(
    "K27: a server that $how fails nobody, and the next report is sent",
    ({ answer, requests }) =>
      Effect.gen(function* () {
        let broken = true
        const { record, sent } = yield* recording({}, () => (broken ? answer : json(201, { kind: "Event" })))

        yield* record(greeted)
        yield* TestClock.adjust("1 minute")
        assert.lengthOf(sent(), requests)
        broken = false
        yield* record(greeted)

        assert.lengthOf(sent(), requests + 1)
        assert.deepInclude(sent().at(-1), { method: "POST" })
      }).pipe(quiet)
  )

  it.effect("K27: an answer that was lost makes no second Event", () =>
    Effect.gen(function* () {
      const { record, sent } = yield* recording({}, (_, index) =>
        index === 0 ? Effect.never : json(409, refusal(409, "AlreadyExists"))
      )

      yield* record(greeted)
      yield* TestClock.adjust("10 seconds")
      yield* record(greeted)

      const [first, second, third] = sent()
      assert.strictEqual(first?.body.metadata.name, second?.body.metadata.name)
      assert.strictEqual(third?.method, "PATCH")
    }).pipe(quiet)
  )

  it.effect("K27: at the end what waits is sent, and what was only counted", () =>
    Effect.gen(function* () {
      const { end, record, sent } = yield* recording({ burst: 2 })
      yield* record(...times(5))
      assert.lengthOf(sent(), 2)

      yield* end

      assert.strictEqual(sent().at(-1)?.body.series.count, 5)
    })
  )

  it.effect("K27: the end is not held up by a server that does not answer", () =>
    Effect.gen(function* () {
      const { end, record } = yield* recording({}, () => Effect.never)
      yield* record(greeted, greeted)

      const ended = yield* Effect.forkChild(end, { startImmediately: true })
      yield* TestClock.adjust("2 seconds")

      assert.isDefined(ended.pollUnsafe())
    }).pipe(quiet)
  )

  it.effect.prop(
    "K27: names are names of at most 253 characters, and notes are cut to 1,024 bytes between characters",
    { name: Arbitrary.schema(Schema.String.check(Schema.isMaxLength(300))), note: Arbitrary.schema(Schema.String) },
    ({ name, note }) =>
      Effect.sync(() => {
        for (const given of [name, `${name}.${name}`, `${"a-".repeat(130)}${name}`, `system:${name}`]) {
          const fit = nameFor(given, "0123456789abcdef")
          assert.isAtMost(fit.length, 253)
          assert.match(fit, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u)
        }
        const text = `${note}é🎉`.repeat(400)
        const long = clip(text, 1_024)
        assert.isAtMost(Buffer.byteLength(long), 1_024)
        assert.isAbove(Buffer.byteLength(long), 1_024 - 4 - Buffer.byteLength("…"))
        assert.isTrue(text.startsWith(long.slice(0, -1)))
        assert.isTrue(long.isWellFormed() || !note.isWellFormed())
        assert.strictEqual(clip("short", 1_024), "short")
        assert.strictEqual(clip("é".repeat(600), 1_024), `${"é".repeat(510)}…`)
        assert.strictEqual(nameFor("System:Shop", "1"), "system-shop.1")
      })
  )

  it.live("K27: people find it by its object, on a cluster", () =>
    Effect.gen(function* () {
      const client = yield* KubeClient.Client
      const web = yield* client.create(Builtin.ConfigMap, { metadata: { name: "web", namespace: "default" } })
      yield* Effect.gen(function* () {
        yield* KubeEvents.record({ ...greeted, regarding: web })
        yield* KubeEvents.record({ ...greeted, regarding: web })
        yield* KubeEvents.record({ ...greeted, regarding: web, reason: "Last" })
      }).pipe(Effect.provide(KubeEvents.layer({ controller: "berth.dev/test" })))

      const { items } = yield* client.list(Builtin.Event, { namespace: "default" })
      const ofReason = (wanted: string) =>
        items.flatMap(({ reason, regarding, series }) => (reason === wanted ? [[regarding?.uid, series?.count]] : []))
      assert.deepStrictEqual(ofReason("Greeted"), [[web.metadata.uid, 2]])
      assert.deepStrictEqual(ofReason("Last"), [[web.metadata.uid, undefined]])
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )
})
