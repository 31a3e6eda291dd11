import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { at, core, definitions, namesOf, scenario, widget, widgets, widgetsPath } from "./support/rawApi.ts"

const spec = {
  required: ["color"],
  properties: {
    color: { type: "string", enum: ["red", "blue"] },
    size: { type: "integer", default: 1, maximum: 9 }
  },
  "x-kubernetes-validations": [
    { rule: "self.size < 5 || self.color == 'red'", message: "only red may be large" },
    { rule: "self.color == oldSelf.color", message: "the color is fixed", fieldPath: ".color" }
  ]
}

describe("Definitions of kinds in the embedded cluster", () => {
  it.effect("T3: a definition is established and its kind is discovered", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const before = yield* api.get(widgetsPath)
        yield* api.post(definitions, widgets(spec))
        const crd = yield* api.get(`${definitions}/widgets.test.io`)
        const discovered = yield* api.get("/apis/test.io/v1")
        const group = yield* api.get("/apis/test.io")
        const listed = yield* api.get(widgetsPath)

        const conditions = crd.at("status.conditions")
        assert.deepStrictEqual(
          Array.isArray(conditions) ? conditions.map((one) => [at(one, "type"), at(one, "status")]) : [],
          [
            ["NamesAccepted", "True"],
            ["Established", "True"]
          ]
        )
        assert.deepStrictEqual([before.status, listed.status], [404, 200])
        assert.deepStrictEqual(
          [discovered.at("resources.0.name"), discovered.at("resources.1.name")],
          ["widgets", "widgets/status"]
        )
        assert.strictEqual(group.at("preferredVersion.version"), "v1")
      })
    )
  )

  it.effect("T3: objects are pruned, defaulted and refused with the fields at fault", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(definitions, widgets(spec))

        const made = yield* api.post(widgetsPath, widget("a", { color: "red", other: 1 }, { status: { x: 1 } }))
        const refused = yield* api.post(widgetsPath, widget("b", { color: "green", size: 10 }))
        const empty = yield* api.post(widgetsPath, widget("b"))

        assert.deepStrictEqual(made.at("spec"), { color: "red", size: 1 })
        assert.strictEqual(made.at("status"), undefined)
        assert.match(made.headers.get("warning") ?? "", /unknown field \\"spec\.other\\"/u)
        assert.deepStrictEqual(
          [refused.status, refused.at("details.causes.0.field"), refused.at("details.causes.0.reason")],
          [422, "spec.color", "FieldValueNotSupported"]
        )
        assert.deepStrictEqual(
          [empty.at("details.causes.0.field"), empty.at("details.causes.0.reason")],
          ["spec.color", "FieldValueRequired"]
        )
      })
    )
  )

  it.effect("T3: CEL rules hold on create, and rules about changes on update", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(definitions, widgets(spec))
        const large = yield* api.post(widgetsPath, widget("a", { color: "blue", size: 7 }))
        yield* api.post(widgetsPath, widget("a", { color: "blue" }))
        const repainted = yield* api.merge(`${widgetsPath}/a`, { spec: { color: "red" } })

        assert.strictEqual(
          large.at("message"),
          'Widget.test.io "a" is invalid: spec: Invalid value: only red may be large'
        )
        assert.deepStrictEqual([repainted.status, repainted.at("details.causes.0.field")], [422, "spec.color"])
      })
    )
  )

  it.effect("T3: the status is written through its subresource only", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(definitions, widgets(spec))
        yield* api.post(widgetsPath, widget("a", { color: "red" }))
        const main = yield* api.merge(`${widgetsPath}/a`, { status: { x: 1 }, spec: { size: 2 } })
        const status = yield* api.merge(`${widgetsPath}/a/status`, { status: { x: 2 }, spec: { size: 3 } })

        assert.deepStrictEqual([main.at("status"), main.at("spec.size")], [undefined, 2])
        assert.deepStrictEqual([status.at("status.x"), status.at("spec.size")], [2, 2])
        assert.deepStrictEqual([main.at("metadata.generation"), status.at("metadata.generation")], [2, 2])
      })
    )
  )

  it.effect("T3: strict requests refuse unknown fields, and none are noticed where they are ignored", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(definitions, widgets(spec))
        const body = widget("a", { color: "red", other: 1 })
        const strict = yield* api.post(`${widgetsPath}?fieldValidation=Strict`, body)
        const ignored = yield* api.post(`${widgetsPath}?fieldValidation=Ignore`, body)

        assert.strictEqual(
          strict.at("message"),
          'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.other"'
        )
        assert.deepStrictEqual([ignored.status, ignored.headers.get("warning")], [201, null])
      })
    )
  )

  it.effect("T3: several versions show the same object, and the deprecated one warns", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const definition = widgets(spec)
        const [stable] = definition.spec.versions
        const older = { ...stable, name: "v1beta1", storage: false, deprecated: true }
        yield* api.post(definitions, { ...definition, spec: { ...definition.spec, versions: [older, stable] } })

        const path = "/apis/test.io/v1beta1/namespaces/default/widgets"
        const made = yield* api.post(path, { ...widget("a", { color: "red" }), apiVersion: "test.io/v1beta1" })
        const read = yield* api.get(`${widgetsPath}/a`)
        const group = yield* api.get("/apis/test.io")

        assert.strictEqual(made.at("apiVersion"), "test.io/v1beta1")
        assert.strictEqual(
          made.headers.get("warning"),
          '299 - "test.io/v1beta1 Widget is deprecated; use test.io/v1 Widget"'
        )
        assert.deepStrictEqual(
          [read.at("apiVersion"), read.at("metadata.uid")],
          ["test.io/v1", made.at("metadata.uid")]
        )
        assert.strictEqual(group.at("preferredVersion.version"), "v1")
      })
    )
  )

  it.effect("T3: selectable fields select, and others are refused", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(definitions, widgets(spec, { selectableFields: [{ jsonPath: ".spec.color" }] }))
        yield* api.post(widgetsPath, widget("a", { color: "red" }))
        yield* api.post(widgetsPath, widget("b", { color: "blue" }))
        const red = yield* api.get(`${widgetsPath}?fieldSelector=spec.color%3Dred`)
        const other = yield* api.get(`${widgetsPath}?fieldSelector=spec.size%3D1`)

        assert.deepStrictEqual(namesOf(red), ["a"])
        assert.deepStrictEqual([other.status, other.at("message")], [400, "field label not supported: spec.size"])
      })
    )
  )

  it.effect("T3: a definition goes only after all of its objects have gone", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(definitions, widgets(spec))
        yield* api.post(widgetsPath, widget("free", { color: "red" }))
        const held = widget("held", { color: "red" })
        yield* api.post(widgetsPath, { ...held, metadata: { name: "held", finalizers: ["x.io/f"] } })

        yield* api.delete(`${definitions}/widgets.test.io`)
        const waiting = yield* api.get(`${definitions}/widgets.test.io`)
        const left = yield* api.get(widgetsPath)
        const more = yield* api.post(widgetsPath, widget("more", { color: "red" }))
        yield* api.merge(`${widgetsPath}/held`, { metadata: { finalizers: null } })
        const gone = yield* api.get(`${definitions}/widgets.test.io`)
        const kind = yield* api.get(widgetsPath)

        assert.deepStrictEqual(waiting.at("metadata.finalizers"), ["customresourcecleanup.apiextensions.k8s.io"])
        assert.deepStrictEqual(namesOf(left), ["held"])
        assert.deepStrictEqual([more.status, gone.status, kind.status], [403, 404, 404])
      })
    )
  )

  it.effect("T3: a definition that is wrong is refused", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const refused = yield* api.post(definitions, widgets({ properties: { a: { description: "no type" } } }))

        assert.deepStrictEqual([refused.status, refused.at("reason")], [422, "Invalid"])
      })
    )
  )

  it.effect("T3: tables have the printer columns of the kind, and lists of metadata nothing but metadata", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const columns = [
          { name: "Color", type: "string", jsonPath: ".spec.color" },
          { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
        ]
        yield* api.post(definitions, widgets(spec, { additionalPrinterColumns: columns }))
        yield* api.post(widgetsPath, widget("a", { color: "red" }))
        yield* api.merge(`${widgetsPath}/a/status`, { status: { conditions: [{ type: "Ready", status: "True" }] } })
        const accept = (as: string) => ({ accept: `application/json;as=${as};v=v1;g=meta.k8s.io,application/json` })

        const table = yield* api.get(widgetsPath, accept("Table"))
        const metadata = yield* api.get(widgetsPath, accept("PartialObjectMetadataList"))
        const secrets = yield* api.get(`${core}/configmaps`, accept("Table"))

        assert.deepStrictEqual(table.at("rows.0.cells"), ["a", "red", "True", "0s"])
        assert.strictEqual(table.at("rows.0.object.kind"), "PartialObjectMetadata")
        assert.deepStrictEqual(
          [metadata.at("kind"), metadata.at("items.0.metadata.name"), metadata.at("items.0.spec")],
          ["PartialObjectMetadataList", "a", undefined]
        )
        assert.deepStrictEqual(secrets.at("rows.0.cells"), ["kube-root-ca.crt", 1, "0s"])
      })
    )
  )
})
