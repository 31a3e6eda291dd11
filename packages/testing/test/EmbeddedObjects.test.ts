import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { core, definitions, namesOf, scenario, widget, widgets, widgetsPath } from "./support/rawApi.ts"

const configMaps = `${core}/configmaps`
const clusterRoles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
const deployments = "/apis/apps/v1/namespaces/default/deployments"

const deployment = {
  metadata: { name: "d" },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "d" } },
    template: { metadata: { labels: { app: "d" } }, spec: { containers: [{ name: "c", image: "i" }] } }
  }
}

describe("The embedded cluster's objects", () => {
  it.effect("T3: one counter numbers all changes, and a write that changes nothing makes none", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const first = yield* api.post(configMaps, { metadata: { name: "a" }, data: { k: "v" } })
        const second = yield* api.post(configMaps, { metadata: { name: "b" } })
        const same = yield* api.merge(`${configMaps}/a`, { data: { k: "v" } })
        const changed = yield* api.merge(`${configMaps}/a`, { data: { k: "w" } })

        const version = Number(first.at("metadata.resourceVersion"))
        assert.strictEqual(Number(second.at("metadata.resourceVersion")), version + 1)
        assert.deepStrictEqual(same.text, first.text)
        assert.strictEqual(Number(changed.at("metadata.resourceVersion")), version + 2)
      })
    )
  )

  it.effect("T3: the generation counts changes of the spec, and neither of metadata nor of status", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(deployments, deployment)
        const labelled = yield* api.merge(`${deployments}/d`, { metadata: { labels: { a: "b" } } })
        const status = yield* api.merge(`${deployments}/d/status`, { status: { replicas: 1 }, spec: { replicas: 9 } })
        const scaled = yield* api.merge(`${deployments}/d`, { spec: { replicas: 3 }, status: { replicas: 9 } })

        assert.deepStrictEqual(
          [labelled, status, scaled].map((answer) => answer.at("metadata.generation")),
          [1, 1, 2]
        )
        assert.strictEqual(status.at("spec.replicas"), 2)
        assert.strictEqual(scaled.at("status.replicas"), 1)
      })
    )
  )

  it.effect("T3: the scale subresource reads and writes the replicas and nothing else", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(deployments, deployment)

        const scaled = yield* api.merge(`${deployments}/d/scale`, { spec: { replicas: 5 } })
        const read = yield* api.get(`${deployments}/d`)

        assert.deepStrictEqual([scaled.at("kind"), scaled.at("spec")], ["Scale", { replicas: 5 }])
        assert.strictEqual(scaled.at("status.selector"), "app=d")
        assert.strictEqual(read.at("spec.replicas"), 5)
      })
    )
  )

  it.effect("T3: a write against another version is a conflict, and a kind may demand the version", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(configMaps, { metadata: { name: "a" } })
        const stale = yield* api.put(`${configMaps}/a`, { metadata: { name: "a", resourceVersion: "1" } })
        const blind = yield* api.put(`${configMaps}/a`, { metadata: { name: "a" }, data: { k: "v" } })
        yield* api.post(definitions, widgets())
        yield* api.post(widgetsPath, widget("w"))
        const demanding = yield* api.put(`${widgetsPath}/w`, widget("w"))

        assert.deepStrictEqual([stale.status, stale.at("reason")], [409, "Conflict"])
        assert.strictEqual(blind.status, 200)
        assert.deepStrictEqual([demanding.status, demanding.at("reason")], [422, "Invalid"])
        assert.strictEqual(demanding.at("details.causes.0.field"), "metadata.resourceVersion")
      })
    )
  )

  it.effect("T3: a dry run answers like the write and stores nothing", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const created = yield* api.post(`${configMaps}?dryRun=All`, { metadata: { generateName: "a-" } })
        yield* api.post(configMaps, { metadata: { name: "b" } })
        const patched = yield* api.merge(`${configMaps}/b?dryRun=All`, { data: { k: "v" } })
        const deleted = yield* api.send("DELETE", `${configMaps}/b?dryRun=All`)
        const left = yield* api.get(configMaps)
        const unchanged = yield* api.get(`${configMaps}/b`)

        assert.strictEqual(unchanged.at("data"), undefined)
        assert.deepStrictEqual([created.status, patched.status, deleted.status], [201, 200, 200])
        assert.match(String(created.at("metadata.name")), /^a-[a-z0-9]{5}$/u)
        assert.deepStrictEqual(patched.at("data"), { k: "v" })
        assert.deepStrictEqual(namesOf(left), ["b", "kube-root-ca.crt"])
      })
    )
  )

  it.effect("T3: generateName makes a new name each time", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const made = yield* Effect.all(
          Array.from({ length: 20 }, () => api.post(configMaps, { metadata: { generateName: "x-" } }))
        )

        assert.strictEqual(new Set(made.map((answer) => answer.at("metadata.name"))).size, 20)
      })
    )
  )

  it.effect("T3: no two clusters share a UID, not even those of the namespaces that every cluster has", () =>
    Effect.gen(function* () {
      const paths = ["/api/v1/namespaces", "/api/v1/configmaps", "/api/v1/serviceaccounts", clusterRoles]
      const uids = scenario((api) =>
        Effect.map(Effect.all(paths.map((path) => api.get(path))), (lists) =>
          lists.flatMap((list) => [...list.text.matchAll(/"uid":"([^"]+)"/gu)].map(([, uid]) => uid))
        )
      )

      const one = yield* uids
      const other = yield* uids

      assert.isAtLeast(one.length, 4 + 4 + 4 + 1)
      assert.strictEqual(new Set([...one, ...other]).size, one.length + other.length)
    })
  )

  it.effect("T3: a delete with preconditions spares another object of the same name", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const made = yield* api.post(configMaps, { metadata: { name: "a" } })
        const uid = made.at("metadata.uid")

        const other = yield* api.delete(`${configMaps}/a`, { preconditions: { uid: "other" } })
        const older = yield* api.delete(`${configMaps}/a`, { preconditions: { resourceVersion: "1" } })
        const right = yield* api.delete(`${configMaps}/a`, { preconditions: { uid } })

        assert.deepStrictEqual([other.status, older.status, right.status], [409, 409, 200])
        assert.deepStrictEqual(right.at("details"), { name: "a", kind: "configmaps", uid })
      })
    )
  )

  it.effect("T3: a finalizer keeps an object until it is taken away, and none comes in the meantime", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(configMaps, { metadata: { name: "a", finalizers: ["x.io/a", "x.io/b"] } })
        const marked = yield* api.delete(`${configMaps}/a`)
        const again = yield* api.post(configMaps, { metadata: { name: "a" } })
        const more = yield* api.merge(`${configMaps}/a`, { metadata: { finalizers: ["x.io/a", "x.io/c"] } })
        const fewer = yield* api.merge(`${configMaps}/a`, { metadata: { finalizers: ["x.io/b"] } })
        const none = yield* api.merge(`${configMaps}/a`, { metadata: { finalizers: null } })
        const gone = yield* api.get(`${configMaps}/a`)

        assert.isString(marked.at("metadata.deletionTimestamp"))
        assert.deepStrictEqual([again.status, again.at("reason")], [409, "AlreadyExists"])
        assert.deepStrictEqual([more.status, more.at("reason")], [422, "Invalid"])
        assert.strictEqual(more.at("details.causes.0.reason"), "FieldValueForbidden")
        assert.deepStrictEqual([fewer.status, none.status, gone.status], [200, 200, 404])
      })
    )
  )

  it.effect("T3: a Secret's stringData becomes data, and what is immutable stays", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const path = `${core}/secrets`
        const made = yield* api.post(path, { metadata: { name: "s" }, stringData: { a: "b" }, immutable: true })
        const garbled = yield* api.post(path, { metadata: { name: "g" }, data: { a: "!!" } })
        const changed = yield* api.merge(`${path}/s`, { stringData: { a: "c" } })
        const retyped = yield* api.merge(`${path}/s`, { type: "x" })
        const labelled = yield* api.merge(`${path}/s`, { metadata: { labels: { a: "b" } } })

        assert.deepStrictEqual([made.at("type"), made.at("data")], ["Opaque", { a: "Yg==" }])
        assert.strictEqual(made.at("stringData"), undefined)
        assert.deepStrictEqual(
          [changed, retyped].map((answer) => [answer.status, answer.at("details.causes.0.field")]),
          [
            [422, "data"],
            [422, "type"]
          ]
        )
        assert.deepStrictEqual([garbled.status, labelled.status], [400, 200])
      })
    )
  )

  it.effect("T3: what is too large is refused: a request, an object's data, its annotations", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const data = yield* api.post(configMaps, { metadata: { name: "a" }, data: { k: "x".repeat(1_048_577) } })
        const whole = yield* api.post(configMaps, { metadata: { name: "a" }, data: { k: "x".repeat(3_200_000) } })
        const notes = yield* api.post(configMaps, { metadata: { name: "a", annotations: { k: "x".repeat(262_144) } } })
        yield* api.post(definitions, widgets({ "x-kubernetes-preserve-unknown-fields": true }))
        const stored = yield* api.post(widgetsPath, widget("w", { k: "x".repeat(1_600_000) }))

        assert.deepStrictEqual([data.status, whole.status, notes.status, stored.status], [422, 413, 422, 500])
        assert.strictEqual(notes.at("details.causes.0.field"), "metadata.annotations")
      })
    )
  )

  it.effect("T3: both groups of Events show the same objects", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(`${core}/events`, {
          metadata: { name: "e" },
          involvedObject: { kind: "Pod", name: "p", namespace: "default" },
          reason: "Started",
          message: "m",
          type: "Normal"
        })

        const newer = yield* api.get("/apis/events.k8s.io/v1/namespaces/default/events/e")
        const found = yield* api.get(`${core}/events?fieldSelector=involvedObject.name%3Dp,type%3DNormal`)
        const other = yield* api.get(`${core}/events?fieldSelector=involvedObject.name%3Dq`)

        assert.deepStrictEqual(
          [newer.at("note"), newer.at("regarding")],
          ["m", { kind: "Pod", name: "p", namespace: "default" }]
        )
        assert.deepStrictEqual([namesOf(found), namesOf(other)], [["e"], []])
      })
    )
  )

  it.effect("T3: a Pod on a node is marked with its grace period, and one without goes at once", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const pods = `${core}/pods`
        const pod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: "c", image: "i" }] } })
        yield* api.post(pods, pod("idle"))
        yield* api.post(pods, pod("busy"))
        yield* api.post(`${pods}/busy/binding`, { target: { kind: "Node", name: "n" } })

        yield* api.delete(`${pods}/idle`)
        const marked = yield* api.delete(`${pods}/busy`)
        const kept = yield* api.get(`${pods}?fieldSelector=spec.nodeName%3Dn`)
        yield* api.delete(`${pods}/busy`, { gracePeriodSeconds: 0 })
        const left = yield* api.get(pods)

        assert.strictEqual(marked.at("metadata.deletionGracePeriodSeconds"), 30)
        assert.deepStrictEqual([namesOf(kept), namesOf(left)], [["busy"], []])
      })
    )
  )

  it.effect("T3: a claim for storage waits for the Pods that use it", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const claims = `${core}/persistentvolumeclaims`
        const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
        const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "used" } }]
        const containers = [{ name: "c", image: "i" }]
        yield* api.post(claims, { metadata: { name: "used" }, spec })
        yield* api.post(claims, { metadata: { name: "free" }, spec })
        yield* api.post(`${core}/pods`, { metadata: { name: "p" }, spec: { volumes, containers } })

        yield* api.delete(`${claims}/used`)
        yield* api.delete(`${claims}/free`)
        const waiting = yield* api.get(claims)
        yield* api.delete(`${core}/pods/p`)
        const left = yield* api.get(claims)

        assert.deepStrictEqual([namesOf(waiting), namesOf(left)], [["used"], []])
      })
    )
  )

  it.effect("T3: the refusals name what is wrong as the real server does", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const rows = yield* Effect.all([
          api.post(configMaps, { metadata: { name: "Bad_Name" } }),
          api.post(configMaps, { metadata: {} }),
          api.post(configMaps, { metadata: { name: "a", namespace: "other" } }),
          api.post("/api/v1/namespaces/nowhere/configmaps", { metadata: { name: "a" } }),
          api.post(configMaps, "{broken"),
          api.post(configMaps, { kind: "Secret", apiVersion: "v1", metadata: { name: "a" } }),
          api.put(configMaps, {}),
          api.get(`${configMaps}/none`),
          api.get(`${core}/nonsense`),
          api.get("/apis/nowhere.io/v1/x"),
          api.get(`${configMaps}?labelSelector=a%3D%3D%3Db`),
          api.get(`${configMaps}?fieldSelector=nope%3Db`),
          api.merge(`${configMaps}/none`, {}),
          api.send("PATCH", `${configMaps}/kube-root-ca.crt`, { body: {}, type: "application/nonsense" }),
          api.get(configMaps, { accept: "application/nonsense" })
        ])

        assert.deepStrictEqual(
          rows.map((answer) => [answer.status, answer.at("reason") ?? ""]),
          [
            [422, "Invalid"],
            [422, "Invalid"],
            [400, "BadRequest"],
            [404, "NotFound"],
            [400, "BadRequest"],
            [400, "BadRequest"],
            [405, "MethodNotAllowed"],
            [404, "NotFound"],
            [404, "NotFound"],
            [404, ""],
            [400, "BadRequest"],
            [400, "BadRequest"],
            [404, "NotFound"],
            [415, "UnsupportedMediaType"],
            [406, "NotAcceptable"]
          ]
        )
        assert.strictEqual(rows[0]?.at("details.causes.0.field"), "metadata.name")
        assert.strictEqual(rows[7]?.at("message"), 'configmaps "none" not found')
      })
    )
  )
})
