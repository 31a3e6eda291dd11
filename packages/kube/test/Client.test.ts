import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, References, Result, Schema, Stream, Tracer } from "effect"
import { TestClock } from "effect/testing"
import * as Builtin from "../src/Builtin.ts"
import * as Client from "../src/Client.ts"
import * as Connection from "../src/Connection.ts"
import * as KubeError from "../src/KubeError.ts"
import type { KubeObject } from "../src/KubeObject.ts"
import * as ResourceType from "../src/ResourceType.ts"
import * as Transport from "../src/Transport.ts"
import { type Answer, type Received, serve, silence } from "./support/server.ts"
import { body, json, refusal, wire } from "./support/wire.ts"

const web = { namespace: "shop", name: "web" }
const about = { verb: "get", resource: "configmaps", ...web }

interface Free extends KubeObject {
  readonly [field: string]: unknown
}
const Free = ResourceType.make<Free>({
  group: "example.com",
  version: "v2",
  kind: "Free",
  plural: "frees",
  scope: "Namespaced"
})

/** A client of a real server on the loopback interface. */
const withServer = <A, E>(
  script: (received: Received, index: number) => Answer,
  use: (client: Client.Client["Service"], server: Effect.Success<ReturnType<typeof serve>>) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const server = yield* serve(script)
    const layer = Client.layerFromConnection(Connection.make({ server: server.url, token: "t" }))
    return yield* Effect.provide(
      Effect.flatMap(Client.Client, (client) => use(client, server)),
      layer
    )
  })

const page = (names: ReadonlyArray<string>, next = "", versions: Readonly<Record<string, string>> = {}) =>
  json(200, {
    kind: "ConfigMapList",
    apiVersion: "v1",
    metadata: { resourceVersion: "77", ...(next === "" ? {} : { continue: next }) },
    items: names.map((name) => ({
      metadata: { name, namespace: "shop", uid: `uid-${name}`, resourceVersion: versions[name] ?? "1" }
    }))
  })

const names = (objects: ReadonlyArray<KubeObject>) => objects.map(({ metadata }) => metadata.name)

const query = (request: Transport.TransportRequest | undefined) =>
  Object.fromEntries(new URL(request?.path ?? "", "http://server").searchParams)

describe("Client: objects", () => {
  it.effect.prop(
    "K1: any JSON survives get, update, patch and apply, at any depth",
    [Schema.Record(Schema.String, Schema.Json)],
    ([fields]) => {
      const stored = { apiVersion: "example.com/v2", kind: "Free", metadata: { ...web, annotations: {} }, spec: fields }
      const { layer, requests } = wire(() => json(200, stored))
      return Effect.gen(function* () {
        const client = yield* Client.Client

        const read = yield* client.get(Free, web)
        yield* client.update(Free, read)
        yield* client.apply(Free, read)
        yield* client.patch(Free, web, { type: "merge", patch: read })

        const expected = JSON.parse(JSON.stringify(stored))
        assert.deepStrictEqual(JSON.parse(JSON.stringify(read)), expected)
        for (const request of requests.slice(1)) assert.deepStrictEqual(JSON.parse(request.body ?? ""), expected)
      }).pipe(Effect.provide(layer))
    },
    { arbitrary: { runs: 100 } }
  )

  it.effect("K1: unknown fields survive lists and watches", () => {
    const item = { metadata: web, later: { deep: [{ unknown: null }] } }
    const event = { type: "ADDED", object: { apiVersion: "example.com/v2", kind: "Free", ...item } }
    const { layer } = wire(({ about }) =>
      about.verb === "list"
        ? json(200, { metadata: {}, items: [item] })
        : Transport.response(200, body(`${JSON.stringify(event)}\n`))
    )
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const { items } = yield* client.list(Free)
      const events = yield* Stream.runCollect(client.watch(Free))

      assert.deepStrictEqual(items, [event.object])
      assert.deepStrictEqual(events, [{ _tag: "Added", object: event.object }])
    }).pipe(Effect.provide(layer))
  })

  it.effect("K4: apply is server-side apply, as JSON, by a field manager, and says what the object is", () =>
    withServer(
      () => ({}),
      (client, server) =>
        Effect.gen(function* () {
          yield* client.apply(Builtin.ConfigMap, { metadata: web, data: { a: "b" } })
          yield* client.apply(Builtin.ConfigMap, { metadata: web }, { force: true, fieldManager: "me", dryRun: true })

          const [plain, forced] = server.received
          assert.deepInclude(plain, {
            method: "PATCH",
            path: "/api/v1/namespaces/shop/configmaps/web",
            query: { fieldManager: "berth" },
            body: JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: web, data: { a: "b" } })
          })
          assert.strictEqual(plain?.headers["content-type"], "application/apply-patch+yaml")
          assert.strictEqual(plain?.headers.accept, "application/json")
          assert.deepStrictEqual(forced?.query, { fieldManager: "me", dryRun: "All", force: "true" })
        })
    )
  )

  it.effect("K4: a conflict of an apply names the other managers and their fields", () => {
    const causes = [
      {
        reason: "FieldManagerConflict",
        message: `conflict with "kubectl-client-side-apply" using v1`,
        field: ".data.k"
      },
      { reason: "FieldManagerConflict", message: `conflict with "helm": something`, field: ".data.l" }
    ]
    const { layer } = wire(() => json(409, refusal(409, "Conflict", { details: { causes } })))
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const error = yield* Effect.flip(client.apply(Builtin.ConfigMap, { metadata: web }))

      assert.deepInclude(error, {
        _tag: "Conflict",
        managers: [
          { manager: "kubectl-client-side-apply", field: ".data.k" },
          { manager: "helm", field: ".data.l" }
        ]
      })
      assert.strictEqual(
        error.message,
        "patch configmaps shop/web: conflict: .data.k belongs to kubectl-client-side-apply, .data.l belongs to helm"
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("K4: patches state their type, and status goes through the status subresource", () =>
    withServer(
      () => ({}),
      (client, server) =>
        Effect.gen(function* () {
          yield* client.patch(Builtin.ConfigMap, web, { type: "merge", patch: { data: null } })
          yield* client.patch(Builtin.ConfigMap, web, { type: "strategic", patch: {} })
          yield* client.patch(Builtin.ConfigMap, web, { type: "json", patch: [{ op: "remove", path: "/data" }] })
          yield* client.update(Free, { apiVersion: "x", kind: "y", metadata: web }, { subresource: "status" })
          yield* client.apply(Free, { metadata: web, status: {} }, { subresource: "status" })
          yield* client.get(Free, web, { subresource: "scale" })

          assert.deepStrictEqual(
            server.received.map((request) => [request.method, request.path, request.headers["content-type"]]),
            [
              ["PATCH", "/api/v1/namespaces/shop/configmaps/web", "application/merge-patch+json"],
              ["PATCH", "/api/v1/namespaces/shop/configmaps/web", "application/strategic-merge-patch+json"],
              ["PATCH", "/api/v1/namespaces/shop/configmaps/web", "application/json-patch+json"],
              ["PUT", "/apis/example.com/v2/namespaces/shop/frees/web/status", "application/json"],
              ["PATCH", "/apis/example.com/v2/namespaces/shop/frees/web/status", "application/apply-patch+yaml"],
              ["GET", "/apis/example.com/v2/namespaces/shop/frees/web/scale", undefined]
            ]
          )
        })
    )
  )

  it.effect("K4: delete takes preconditions and a policy, of which the default is Background", () =>
    withServer(
      () => ({ body: refusal(200, "") }),
      (client, server) =>
        Effect.gen(function* () {
          yield* client.delete(Builtin.Namespace, { name: "shop" })
          yield* client.delete(Builtin.ConfigMap, web, {
            preconditions: { uid: "u", resourceVersion: "7" },
            propagationPolicy: "Foreground",
            gracePeriodSeconds: 0,
            dryRun: true
          })

          assert.deepStrictEqual(
            server.received.map(({ body, method, path }) => [method, path, JSON.parse(body)]),
            [
              [
                "DELETE",
                "/api/v1/namespaces/shop",
                {
                  apiVersion: "v1",
                  kind: "DeleteOptions",
                  propagationPolicy: "Background"
                }
              ],
              [
                "DELETE",
                "/api/v1/namespaces/shop/configmaps/web",
                {
                  apiVersion: "v1",
                  kind: "DeleteOptions",
                  propagationPolicy: "Foreground",
                  preconditions: { uid: "u", resourceVersion: "7" },
                  gracePeriodSeconds: 0,
                  dryRun: ["All"]
                }
              ]
            ]
          )
        })
    )
  )

  it.effect("create goes to the collection, also for a name that the server makes", () =>
    withServer(
      () => ({ status: 201 }),
      (client, server) =>
        Effect.gen(function* () {
          yield* client.create(Builtin.ConfigMap, { metadata: { namespace: "shop", generateName: "web-" } })
          yield* client.create(Builtin.Namespace, { metadata: { name: "shop" } })

          assert.deepStrictEqual(
            server.received.map(({ method, path }) => `${method} ${path}`),
            ["POST /api/v1/namespaces/shop/configmaps", "POST /api/v1/namespaces"]
          )
        })
    )
  )

  it.effect.each([
    {
      ref: { name: "web" },
      field: "metadata.namespace",
      reason: "its path would not exist, which looks like not found"
    },
    { ref: { namespace: "shop", name: "" }, field: "metadata.name", reason: "its path would be the whole collection" },
    { ref: { namespace: "shop", name: ".." }, field: "metadata.name", reason: "its path would be the namespace" }
  ])("K4: an object at $ref is refused before it is asked for, since $reason", ({ field, ref }) => {
    const { layer, requests } = wire(() => json(200, {}))
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const error = yield* Effect.flip(client.delete(Builtin.Secret, ref))

      assert.strictEqual(error._tag, "Invalid")
      if (error._tag === "Invalid")
        assert.deepStrictEqual(
          error.causes.map((cause) => cause.field),
          [field]
        )
      assert.deepStrictEqual(requests, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("names that are no part of a path are encoded", () =>
    withServer(
      () => ({}),
      (client, server) =>
        Effect.gen(function* () {
          yield* client.get(Builtin.ClusterRole, { name: "system:node/a?b" })

          assert.strictEqual(
            server.received[0]?.path,
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode%2Fa%3Fb"
          )
        })
    )
  )
})

describe("Client: deadlines and errors", () => {
  it.effect("K29: a request is one span and one line at debug, which say what was asked and the status", () => {
    const spans: Array<Tracer.NativeSpan> = []
    const lines: Array<unknown> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const { layer } = wire(() => json(404, refusal(404, "NotFound")))
    return Effect.gen(function* () {
      const client = yield* Client.Client

      yield* Effect.flip(client.get(Builtin.ConfigMap, web))

      assert.deepStrictEqual(
        spans.map(({ attributes, kind, name }) => [name, kind, Object.fromEntries(attributes)]),
        [
          [
            "get configmaps",
            "client",
            {
              "error.type": "404",
              "http.request.method": "GET",
              "http.response.status_code": 404,
              "url.path": `/api/v1/namespaces/${web.namespace}/configmaps/${web.name}`,
              "k8s.resource": "configmaps",
              "k8s.namespace.name": web.namespace,
              "k8s.object.name": web.name
            }
          ]
        ]
      )
      assert.deepStrictEqual(lines, [[`get configmaps ${web.namespace}/${web.name}: 404`]])
    }).pipe(
      Effect.provide(layer),
      Effect.withTracer(tracer),
      Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(message))])),
      Effect.provideService(References.MinimumLogLevel, "Debug")
    )
  })

  it.effect("K3: a request without a deadline of its own ends after 30 seconds, and not before", () => {
    const { layer } = wire(() => Effect.never)
    return Effect.gen(function* () {
      const client = yield* Client.Client
      const fiber = yield* Effect.forkChild(Effect.flip(client.get(Builtin.ConfigMap, web)), {
        startImmediately: true
      })

      yield* TestClock.adjust("29999 millis")
      const before = fiber.pollUnsafe()
      yield* TestClock.adjust("1 millis")
      const error = yield* Fiber.join(fiber)

      assert.isUndefined(before)
      assert.deepInclude(error, { _tag: "Timeout", deadlineMs: 30_000, ...about })
      assert.strictEqual(error.message, "get configmaps shop/web: no answer within 30000 ms")
    }).pipe(Effect.provide(layer))
  })

  it.live("K3: every kind of request has a deadline, the body of the answer included, and is ended on the wire", () =>
    withServer(
      (_, index) => (index % 2 === 0 ? silence : (response) => void response.writeHead(200).write(`{"half":`)),
      (client, server) =>
        Effect.gen(function* () {
          const deadline = "30 millis"
          const object = { apiVersion: "v1", kind: "ConfigMap", metadata: web }
          const requests: ReadonlyArray<Effect.Effect<unknown, KubeError.KubeError>> = [
            client.get(Builtin.ConfigMap, web, { deadline }),
            client.list(Builtin.ConfigMap, { deadline }),
            Stream.runDrain(client.listStream(Builtin.ConfigMap, { deadline })),
            client.create(Builtin.ConfigMap, object, { deadline }),
            client.update(Builtin.ConfigMap, object, { deadline }),
            client.patch(Builtin.ConfigMap, web, { type: "merge", patch: {} }, { deadline }),
            client.apply(Builtin.ConfigMap, object, { deadline }),
            client.delete(Builtin.ConfigMap, web, { deadline }),
            client.getPath("/version", { deadline })
          ]

          const errors = yield* Effect.forEach([...requests, ...requests.slice(1)], Effect.flip)

          assert.deepStrictEqual([...new Set(errors.map(({ _tag }) => _tag))], ["Timeout"])
          yield* server.until(() => server.counts.closed === server.counts.sockets)
        })
    )
  )

  it.effect("K3: a watch may take 30 seconds to begin, and any time to go on", () => {
    const { layer } = wire((_, index) =>
      index === 0 ? Effect.never : Transport.response(200, Stream.concat(body("\n"), Stream.never))
    )
    return Effect.gen(function* () {
      const client = yield* Client.Client
      const watch = Effect.flip(Stream.runDrain(client.watch(Builtin.ConfigMap)))
      const first = yield* Effect.forkChild(watch, { startImmediately: true })
      yield* TestClock.adjust("30 seconds")
      const error = yield* Fiber.join(first)
      const second = yield* Effect.forkChild(watch, { startImmediately: true })

      yield* TestClock.adjust("1 day")

      assert.strictEqual(error._tag, "Timeout")
      assert.isUndefined(second.pollUnsafe())
    }).pipe(Effect.provide(layer))
  })

  it.effect.each([
    { status: 429, retryAfter: "2", waitMs: 2_000, reason: "the server did not act" },
    { status: 429, retryAfter: undefined, waitMs: 1_000, reason: "a 429 without a time means soon" },
    { status: 503, retryAfter: "2", waitMs: 2_000, reason: "the server says when it will be back" },
    { status: 429, retryAfter: "Thu, 01 Jan 1970 00:00:05 GMT", waitMs: 5_000, reason: "a date is meant" }
  ])("K3: a $status with Retry-After $retryAfter is waited out, since $reason", ({ retryAfter, status, waitMs }) => {
    const headers = retryAfter === undefined ? undefined : { "retry-after": retryAfter }
    const { layer, requests } = wire((_, index) =>
      index === 0 ? json(status, refusal(status, "TooManyRequests"), headers) : json(200, { kind: "ConfigMap" })
    )
    return Effect.gen(function* () {
      const client = yield* Client.Client
      const fiber = yield* Effect.forkChild(client.create(Builtin.ConfigMap, { metadata: web }), {
        startImmediately: true
      })

      yield* TestClock.adjust(waitMs - 1)
      const before = requests.length
      yield* TestClock.adjust(1)

      assert.strictEqual((yield* Fiber.join(fiber)).kind, "ConfigMap")
      assert.deepStrictEqual([before, requests.length], [1, 2])
    }).pipe(Effect.provide(layer))
  })

  it.effect.each(["-5", "1.5", "soon", "120, 120", ""])(
    "K3: a 503 whose Retry-After is %s says no time, and is not sent again",
    (retryAfter) => {
      const { layer, requests } = wire(() => json(503, refusal(503, ""), { "retry-after": retryAfter }))
      return Effect.gen(function* () {
        const client = yield* Client.Client
        // Of this century: some of these pass for dates of the last years.
        yield* TestClock.setTime(Date.UTC(2026, 10, 30))
        const failing = Effect.flip(client.create(Builtin.ConfigMap, { metadata: web }))
        const fiber = yield* Effect.forkChild(failing, { startImmediately: true })

        yield* TestClock.adjust("5 seconds")

        assert.strictEqual(requests.length, 1)
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "ServerError")
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect("K3: a server that asks for more time than there is left is not waited for", () => {
    const { layer, requests } = wire(() => json(429, refusal(429, "TooManyRequests"), { "retry-after": "10" }))
    return Effect.gen(function* () {
      const client = yield* Client.Client
      const at = yield* Effect.forkChild(Effect.flip(client.get(Builtin.ConfigMap, web, { deadline: "25 seconds" })), {
        startImmediately: true
      })

      yield* TestClock.adjust("20 seconds")
      const error = yield* Fiber.join(at)

      assert.deepInclude(error, { _tag: "TooManyRequests", retryAfterMs: 10_000, status: 429 })
      assert.strictEqual(requests.length, 3)
    }).pipe(Effect.provide(layer))
  })

  it.effect.each([500, 502, 503, 504, 409, 404, 401])(
    "K3: a %i without Retry-After is not sent again, since the server may have acted",
    (status) => {
      const { layer, requests } = wire(() => json(status, refusal(status, "")))
      return Effect.gen(function* () {
        const client = yield* Client.Client

        yield* Effect.flip(client.create(Builtin.ConfigMap, { metadata: web }))

        assert.strictEqual(requests.length, 1)
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect("K3: no server, a server that hangs up, and an answer cut short are Unreachable", () =>
    Effect.gen(function* () {
      const nobody = Client.layerFromConnection(Connection.make({ server: "http://127.0.0.1:1" }))
      const first = yield* Effect.provide(
        Effect.flatMap(Client.Client, (client) => Effect.flip(client.get(Builtin.ConfigMap, web))),
        nobody
      )
      const errors = yield* withServer(
        (_, index) => (response) => {
          if (index < 2) response.socket?.destroy()
          else response.writeHead(200, { "content-length": "100" }).write("{", () => response.socket?.destroy())
        },
        (client) => Effect.all([Effect.flip(client.get(Builtin.ConfigMap, web)), Effect.flip(client.getPath("/x"))])
      )

      assert.deepInclude(first, { _tag: "Unreachable", ...about })
      assert.match(String(first._tag === "Unreachable" ? first.cause : ""), /ECONNREFUSED/)
      assert.deepStrictEqual(
        errors.map(({ _tag }) => _tag),
        ["Unreachable", "Unreachable"]
      )
    })
  )

  it.effect("K3: a page of something in between is a ServerError, whatever it says", () => {
    const { layer } = wire(() => Transport.response(200, "<html>Sign in</html>", { "content-type": "text/html" }))
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const error = yield* Effect.flip(client.get(Builtin.ConfigMap, web))

      assert.deepInclude(error, { _tag: "ServerError", status: 200, reason: "", detail: "" })
    }).pipe(Effect.provide(layer))
  })
})

describe("Client: lists", () => {
  it.effect("K5: a list is read in pages of 500, and narrowed", () => {
    const { layer, requests } = wire((request) =>
      query(request)["continue"] === undefined ? page(["a", "b"], "next") : page(["c"])
    )
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const list = yield* client.list(Builtin.ConfigMap, {
        namespace: "shop",
        labelSelector: "app=web,tier!=x",
        fieldSelector: "metadata.name=a",
        resourceVersion: "0"
      })

      assert.deepStrictEqual(names(list.items), ["a", "b", "c"])
      assert.strictEqual(list.resourceVersion, "77")
      assert.deepInclude(list.items[0], { apiVersion: "v1", kind: "ConfigMap" })
      const selection = { labelSelector: "app=web,tier!=x", fieldSelector: "metadata.name=a", limit: "500" }
      assert.deepStrictEqual(requests.map(query), [
        { ...selection, resourceVersion: "0" },
        { ...selection, continue: "next" }
      ])
      assert.match(requests[0]?.path ?? "", /^\/api\/v1\/namespaces\/shop\/configmaps\?/)
    }).pipe(Effect.provide(layer))
  })

  it.effect("K5: a page that has expired restarts the list, and nothing is given twice", () => {
    const { layer } = wire((_, index) =>
      index === 1
        ? json(410, refusal(410, "Expired"))
        : index === 0
          ? page(["gone", "a"], "next")
          : index === 2
            ? page(["a", "b"], "next")
            : page(["c"])
    )
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const list = yield* client.list(Builtin.ConfigMap)

      assert.deepStrictEqual(names(list.items), ["a", "b", "c"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("K5: a list stream goes on after a restart, with what is new and what has changed", () => {
    const { layer } = wire((_, index) =>
      index === 1
        ? json(410, refusal(410, "Expired"))
        : index === 0
          ? page(["a", "b"], "next")
          : index === 2
            ? page(["a", "b"], "next", { b: "2" })
            : page(["c"])
    )
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const objects = yield* Stream.runCollect(client.listStream(Builtin.ConfigMap))

      assert.deepStrictEqual(
        objects.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`),
        ["a@1", "b@1", "b@2", "c@1"]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("K5: a list that expires again and again is given up, and one that cannot begin at once", () => {
    const { layer, requests } = wire((request) =>
      query(request)["continue"] === undefined && query(request)["resourceVersion"] === undefined
        ? page(["a"], "next")
        : json(410, refusal(410, "Expired"))
    )
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const error = yield* Effect.flip(client.list(Builtin.ConfigMap))
      const asked = requests.length
      const atOnce = yield* Effect.flip(client.list(Builtin.ConfigMap, { resourceVersion: "3" }))

      assert.deepStrictEqual([error._tag, atOnce._tag], ["Gone", "Gone"])
      assert.deepStrictEqual([asked, requests.length - asked], [12, 1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("K5: a list stream asks for a page only when it is read", () => {
    const { layer, requests } = wire((_, index) => page([`a${index}`, `b${index}`], "next"))
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const objects = yield* client
        .listStream(Builtin.ConfigMap, { pageSize: 2 })
        .pipe(Stream.take(3), Stream.runCollect)

      assert.deepStrictEqual(names(objects), ["a0", "b0", "a1"])
      assert.strictEqual(requests.length, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("a list and a watch can be of metadata only, which still say what they are of", () => {
    const item = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata", metadata: web }
    const { layer, requests } = wire(({ about }) =>
      about.verb === "list"
        ? json(200, { metadata: {}, items: [item] })
        : Transport.response(200, body(JSON.stringify({ type: "MODIFIED", object: item }), "\n"))
    )
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const { items } = yield* client.list(Builtin.Pod, { metadataOnly: true })
      const events = yield* Stream.runCollect(client.watch(Builtin.Pod, { metadataOnly: true }))

      const object = { apiVersion: "v1", kind: "Pod", metadata: web }
      assert.deepStrictEqual(items, [object])
      assert.deepStrictEqual(events, [{ _tag: "Modified", object }])
      assert.deepStrictEqual(
        requests.map(({ headers }) => headers["accept"]?.split(",")[0]),
        [
          "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
          "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        ]
      )
    }).pipe(Effect.provide(layer))
  })
})

const added = (name: string) => ({ type: "ADDED", object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name } } })
const line = (value: object) => `${JSON.stringify(value)}\n`

const watchOf = (answer: Transport.TransportResponse) => {
  const { layer, requests } = wire(() => answer)
  const seen: Array<string> = []
  const run = Effect.gen(function* () {
    const client = yield* Client.Client
    const watch = client.watch(Builtin.ConfigMap, { namespace: "shop" })
    const result = yield* Effect.result(
      Stream.runForEach(watch, (event) =>
        Effect.sync(() => seen.push(event._tag === "Bookmark" ? "bookmark" : event.object.metadata.name))
      )
    )
    return { seen, error: Result.isFailure(result) ? result.failure : undefined }
  }).pipe(Effect.provide(layer))
  return { run, requests }
}

describe("Client: watches", () => {
  it.effect.prop(
    "K1: events are the same, wherever their bytes are cut",
    [Schema.Array(Schema.String), Schema.Array(Schema.Int)],
    ([texts, cuts]) =>
      Effect.gen(function* () {
        const lines = texts.map((text) => line(added(`${text}\u00e9\u{1F680}`))).join("\n")
        const bytes = new TextEncoder().encode(lines)
        const places = cuts.map((cut) => Math.abs(cut) % (bytes.length + 1)).sort((a, b) => a - b)
        const pieces = [0, ...places].map((place, index) => bytes.slice(place, places[index] ?? bytes.length))

        const { error, seen } = yield* watchOf(Transport.response(200, body(...pieces))).run

        assert.isUndefined(error)
        assert.deepStrictEqual(
          seen,
          texts.map((text) => `${text}\u00e9\u{1F680}`)
        )
      }),
    { arbitrary: { runs: 200, size: 20 } }
  )

  it.effect("a watch tells additions, changes, deletions and bookmarks, and asks for them", () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: web }
    const mark = (annotations?: object) => ({
      type: "BOOKMARK",
      object: { kind: "ConfigMap", metadata: { resourceVersion: "9", annotations } }
    })
    const { layer, requests } = wire(() =>
      Transport.response(
        200,
        body(
          ...["ADDED", "MODIFIED", "DELETED"].map((type) => line({ type, object })),
          line(mark({ "k8s.io/initial-events-end": "true" })),
          line(mark())
        )
      )
    )
    return Effect.gen(function* () {
      const client = yield* Client.Client

      const events = yield* Stream.runCollect(
        client.watch(Builtin.ConfigMap, {
          namespace: "shop",
          labelSelector: "a=b",
          sendInitialEvents: true,
          timeout: "90 seconds"
        })
      )
      yield* Stream.runDrain(client.watch(Builtin.ConfigMap, { resourceVersion: "5" }))

      assert.deepStrictEqual(events, [
        { _tag: "Added", object },
        { _tag: "Modified", object },
        { _tag: "Deleted", object },
        { _tag: "Bookmark", resourceVersion: "9", initialEventsEnd: true },
        { _tag: "Bookmark", resourceVersion: "9", initialEventsEnd: false }
      ])
      assert.deepStrictEqual(requests.map(query), [
        {
          watch: "true",
          allowWatchBookmarks: "true",
          labelSelector: "a=b",
          sendInitialEvents: "true",
          resourceVersionMatch: "NotOlderThan",
          timeoutSeconds: "90"
        },
        { watch: "true", allowWatchBookmarks: "true", resourceVersion: "5" }
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("K3: a watch that ends inside a line is Unreachable, after its whole lines", () =>
    Effect.gen(function* () {
      const { run } = watchOf(Transport.response(200, body(line(added("a")), line(added("b")).slice(0, -2))))

      const { error, seen } = yield* run

      assert.deepInclude(error, { _tag: "Unreachable", verb: "watch", resource: "configmaps" })
      assert.deepStrictEqual(seen, ["a"])
    })
  )

  it.effect.each([
    { event: { type: "ERROR", object: refusal(410, "Expired") }, tag: "Gone" as const, status: 410 },
    { event: { type: "ERROR", object: refusal(500, "InternalError") }, tag: "ServerError" as const, status: 500 },
    { event: { type: "ERROR", object: refusal(429, "TooManyRequests") }, tag: "TooManyRequests" as const, status: 429 },
    { event: { type: "ERROR", object: refusal(403, "Forbidden") }, tag: "Forbidden" as const, status: 403 },
    { event: { type: "ERROR" }, tag: "ServerError" as const, status: 500 },
    { event: added(""), tag: "ServerError" as const, status: 500 },
    { event: { type: "MODIFIED" }, tag: "ServerError" as const, status: 500 },
    {
      event: { type: "ADDED", object: { ...refusal(500, "InternalError"), metadata: { name: "a" } } },
      tag: "ServerError" as const,
      status: 500
    },
    { event: { type: "SOMETHING", object: {} }, tag: "ServerError" as const, status: 500 },
    { event: { no: "event" }, tag: "ServerError" as const, status: 200 }
  ])("K3: the event $event ends a watch with $tag, after what came before", ({ event, status, tag }) =>
    Effect.gen(function* () {
      const { run } = watchOf(Transport.response(200, body(line(added("a")) + line(event) + line(added("b")))))

      const { error, seen } = yield* run

      assert.deepInclude(error, { _tag: tag, status, verb: "watch", namespace: "shop" })
      assert.deepStrictEqual(seen, ["a"])
    })
  )

  it.effect("K3: an event that asks for patience says for how long", () =>
    Effect.gen(function* () {
      const object = { ...refusal(429, "TooManyRequests"), details: { retryAfterSeconds: 7 } }
      const { run } = watchOf(Transport.response(200, body(line({ type: "ERROR", object }))))

      const { error } = yield* run

      assert.deepInclude(error, { _tag: "TooManyRequests", retryAfterMs: 7000 })
    })
  )

  it.effect("K3: a watch that is refused fails by the meaning of the refusal", () =>
    Effect.gen(function* () {
      const { run } = watchOf(json(410, refusal(410, "Expired")))

      const { error } = yield* run

      assert.deepInclude(error, { _tag: "Gone", status: 410 })
    })
  )

  it.effect("leaving a watch ends it on the wire", () =>
    withServer(
      () => (response) => void response.writeHead(200).write(line(added("a"))),
      (client, server) =>
        Effect.gen(function* () {
          yield* client.watch(Builtin.ConfigMap).pipe(Stream.take(1), Stream.runDrain)

          yield* server.until(() => server.counts.closed === 1)
        })
    )
  )
})

describe("Client: paths", () => {
  it.effect("getPath reads any JSON", () =>
    withServer(
      () => ({ body: { gitVersion: "v1.36.3" } }),
      (client, server) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* client.getPath("/version"), { gitVersion: "v1.36.3" })
          assert.strictEqual(server.received[0]?.path, "/version")
        })
    )
  )
})

describe("Client: layers", () => {
  it.effect("the transport can be replaced, so that faults are made in one place", () => {
    const down = Layer.succeed(Transport.Transport, {
      request: ({ about }) => Effect.fail(new KubeError.Unreachable({ ...about, cause: "made" }))
    })
    return Effect.gen(function* () {
      const client = yield* Client.Client

      assert.deepInclude(yield* Effect.flip(client.getPath("/version")), { _tag: "Unreachable", cause: "made" })
    }).pipe(Effect.provide(Layer.provide(Client.layer, down)))
  })
})
