import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { core, definitions, scenario, widget, widgets, widgetsPath } from "./support/rawApi.ts"

const path = `${core}/configmaps/a`
const type = "application/apply-patch+yaml"
const configMap = (data: object) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data })

describe("Patches in the embedded cluster", () => {
  it.effect("T3: an apply creates, owns its fields, and takes away those that it stops to name", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const apply = (data: object) => api.send("PATCH", `${path}?fieldManager=me`, { type, body: configMap(data) })
        const created = yield* apply({ k: "v", l: "w" })
        const again = yield* apply({ k: "v", l: "w" })
        const less = yield* apply({ k: "v" })

        assert.deepStrictEqual([created.status, again.status, less.status], [201, 200, 200])
        assert.strictEqual(again.text, created.text)
        assert.deepStrictEqual(created.at("metadata.managedFields.0.fieldsV1"), {
          "f:data": { "f:k": {}, "f:l": {} }
        })
        assert.deepStrictEqual(less.at("data"), { k: "v" })
      })
    )
  )

  it.effect("T3: a field of another manager is a conflict that names both, unless it is forced", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const apply = (manager: string, value: string, force = "") =>
          api.send("PATCH", `${path}?fieldManager=${manager}${force}`, { type, body: configMap({ k: value }) })
        yield* apply("one", "1")
        const refused = yield* apply("two", "2")
        const shared = yield* apply("two", "1")
        const forced = yield* apply("two", "2", "&force=true")
        const late = yield* apply("one", "1")

        assert.deepStrictEqual(
          [refused.status, refused.at("message")],
          [409, 'Apply failed with 1 conflict: conflict with "one": .data.k']
        )
        assert.deepStrictEqual(refused.at("details.causes.0"), {
          reason: "FieldManagerConflict",
          message: 'conflict with "one"',
          field: ".data.k"
        })
        assert.deepStrictEqual([shared.status, forced.status, late.status], [200, 200, 409])
      })
    )
  )

  it.effect("T3: other writes are recorded for their manager, the status for its subresource", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(definitions, widgets({ properties: { a: { type: "integer" }, b: { type: "integer" } } }))
        yield* api.post(`${widgetsPath}?fieldManager=one`, widget("a", { a: 1 }))
        yield* api.merge(`${widgetsPath}/a?fieldManager=two`, { spec: { b: 2 } })
        const status = yield* api.merge(`${widgetsPath}/a/status?fieldManager=three`, { status: { x: 1 } })

        const entries = status.at("metadata.managedFields")
        assert.deepStrictEqual(
          Array.isArray(entries) ? entries.map(({ manager, subresource }) => [manager, subresource]) : [],
          [
            ["one", undefined],
            ["three", "status"],
            ["two", undefined]
          ]
        )
      })
    )
  )

  it.effect("T3: an apply states who applies and what", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const nobody = yield* api.send("PATCH", path, { type, body: configMap({}) })
        const nothing = yield* api.send("PATCH", `${path}?fieldManager=me`, { type, body: { data: {} } })
        const managed = { ...configMap({}), metadata: { name: "a", managedFields: [] } }
        const given = yield* api.send("PATCH", `${path}?fieldManager=me`, { type, body: managed })
        const forced = yield* api.merge(`${path}?force=true`, {})

        assert.deepStrictEqual([nobody.status, nothing.status, given.status, forced.status], [422, 400, 400, 422])
      })
    )
  )

  it.effect("T3: the three kinds of plain patch, each as it is meant", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const pods = `${core}/pods`
        const containers = ["a", "b"].map((name) => ({ name, image: "1" }))
        yield* api.post(pods, { metadata: { name: "p" }, spec: { containers } })
        const image = { spec: { containers: [{ name: "a", image: "2" }] } }

        const strategic = yield* api.send("PATCH", `${pods}/p`, {
          type: "application/strategic-merge-patch+json",
          body: image
        })
        yield* api.post(`${core}/configmaps`, configMap({ k: "v", l: "w" }))
        const merged = yield* api.merge(path, { data: { k: null, m: "x" } })
        const json = (body: object) => api.send("PATCH", path, { type: "application/json-patch+json", body })
        const tested = yield* json([
          { op: "test", path: "/data/l", value: "w" },
          { op: "replace", path: "/data/l", value: "y" }
        ])
        const failed = yield* json([{ op: "test", path: "/data/l", value: "w" }])

        assert.deepStrictEqual(
          [strategic.at("spec.containers.0.image"), strategic.at("spec.containers.1.image")],
          ["2", "1"]
        )
        assert.deepStrictEqual(merged.at("data"), { l: "w", m: "x" })
        assert.deepStrictEqual([tested.at("data.l"), failed.status], ["y", 422])
      })
    )
  )

  it.effect("T3: custom kinds know no strategic merge", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(definitions, widgets())
        yield* api.post(widgetsPath, widget("a"))
        const refused = yield* api.send("PATCH", `${widgetsPath}/a`, {
          type: "application/strategic-merge-patch+json",
          body: {}
        })

        assert.strictEqual(refused.status, 415)
      })
    )
  )
})
