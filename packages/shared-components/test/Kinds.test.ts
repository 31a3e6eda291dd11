import * as Kind from "@berth/kube/Kind"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Result, Schema } from "effect"
import { Environment } from "../src/Environment.ts"
import { EnvironmentTemplate } from "../src/EnvironmentTemplate.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { SharedComponentProvider } from "../src/SharedComponentProvider.ts"
import { Slice } from "../src/Slice.ts"
import { environmentTemplate, provider } from "./specs.ts"

const kinds = [Environment, EnvironmentTemplate, SharedComponent, SharedComponentProvider, Slice]

interface Node {
  readonly [key: string]: unknown
}
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value)
const child = (node: unknown, key: string): Node => (isNode(node) && isNode(node[key]) ? node[key] : {})

/** Every schema within a schema, with its path. Conditions and the manager's record belong to other packages. */
const nodes = (node: unknown, path: string): ReadonlyArray<{ readonly path: string; readonly node: Node }> => {
  if (!isNode(node) || path === "status.conditions" || path === "status.provisioning") return []
  return [
    { path, node },
    ...Object.entries(child(node, "properties")).flatMap(([key, inner]) =>
      nodes(inner, path === "" ? key : `${path}.${key}`)
    ),
    ...nodes(node["items"], `${path}[]`),
    ...nodes(node["additionalProperties"], `${path}.*`)
  ]
}

const schemaOf = (kind: Kind.Declared) => {
  const properties = child(Kind.crd(kind).spec.versions[0]?.schema.openAPIV3Schema, "properties")
  return [...nodes(properties["spec"], "spec"), ...nodes(properties["status"], "status")]
}

const unbounded = (node: Node): boolean => {
  if (node["type"] === "array") return node["maxItems"] === undefined
  if (isNode(node["additionalProperties"])) return node["maxProperties"] === undefined
  return (
    node["type"] === "string" &&
    node["enum"] === undefined &&
    node["format"] === undefined &&
    node["maxLength"] === undefined
  )
}

describe("The five kinds", () => {
  it.each(kinds)(
    "S11, S23: every list, map and text of $kind has a bound, so that the API server can price its rules",
    (kind) => {
      assert.deepStrictEqual(
        schemaOf(kind)
          .filter(({ node }) => unbounded(node))
          .map(({ path }) => path),
        []
      )
    }
  )

  it.each(kinds)("every field of $kind has a description", (kind) => {
    const undescribed = schemaOf(kind).filter(
      ({ node, path }) => typeof node["description"] !== "string" && !/(?:^spec|^status|\[\]|\*)$/u.test(path)
    )

    assert.deepStrictEqual(
      undescribed.map(({ path }) => path),
      []
    )
  })

  it.each(kinds)("$kind shows whether it is ready and how old it is", (kind) => {
    const names = (kind.columns ?? []).map(({ name }) => name)

    assert.includeMembers(names, ["Ready", "Age"])
    assert.strictEqual(kind.group, "berth.dev")
    assert.strictEqual(kind.scope, "Namespaced")
  })

  it.each(kinds)("P14, P17: $kind shows in a list whether somebody has paused it", (kind) => {
    assert.deepInclude(kind.columns ?? [], {
      name: "Paused",
      path: ".status.conditions[?(@.type=='Paused')].status"
    })
  })

  it("S27: an Environment shows in a list where it is, when it ends as a time to come, and whether it is suspended", () => {
    const shown = new Map((Environment.columns ?? []).map(({ name, type = "string" }) => [name, type]))

    assert.deepInclude(Object.fromEntries(shown), { URL: "string", Expires: "string", Suspended: "boolean" })
  })

  it("SharedComponent does not take the short name of StorageClass", () => {
    assert.isFalse(SharedComponent.shortNames?.includes("sc"))
  })
})

const capsule = {
  provider: { name: "postgres", uid: "p", generation: 1 },
  env: { name: "one", slug: "one" },
  sharedNamespace: "berth-shared",
  instance: { secretRef: { name: "pg" }, hostKey: "host", portKey: "port" },
  provision: { image: "x", script: "{{ .Slice.Id }}" },
  deprovision: { image: "x", command: ["true"] },
  binding: { URL: "{{ .Host }}" },
  parameters: { deep: { er: [1, null] } }
}
const slice = {
  consumer: { name: "one", uid: "e", namespace: "env-one", component: "db" },
  sharedComponent: { name: "db", uid: "s" },
  sliceId: "abcdefghijklmnopqrst",
  arrivedAt: "2026-01-02T03:04:05.000006Z",
  capsule
}
describe("Slice", () => {
  it.effect("S11: the capsule keeps everything that it is given, its own parameters untouched, through the codec", () =>
    Effect.gen(function* () {
      const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(Slice.spec))
      const spec = yield* decode(slice)
      const again = yield* decode(yield* Slice.encodeSpec(spec))

      assert.deepStrictEqual(again, spec)
      assert.deepStrictEqual(spec.capsule?.parameters, capsule.parameters)
      assert.strictEqual(spec.capsule?.provision?.retries, 3)
    })
  )

  const decode = Schema.decodeUnknownResult(Schema.toCodecJson(Slice.spec))
  const accepts = (value: unknown): boolean => Result.isSuccess(decode(value))
  const refused = [
    { why: "an id of another alphabet", change: { sliceId: "abcdefghijklmnopqrs1" } },
    { why: "an id that is too short", change: { sliceId: "abcdefghijklmnopqrs" } },
    {
      why: "an arrival in milliseconds, which would sort otherwise",
      change: { arrivedAt: "2026-01-02T03:04:05.006Z" }
    },
    {
      why: "an arrival with an offset, which would sort otherwise",
      change: { arrivedAt: "2026-01-02T03:04:05.000006+01:00" }
    },
    { why: "a consumer without a UID", change: { consumer: { name: "one", namespace: "env-one", component: "db" } } }
  ]
  it.each(refused)("S7: refuses $why", ({ change }) => {
    assert.isTrue(accepts(slice))
    assert.isFalse(accepts({ ...slice, ...change }))
  })

  it("S7: says with rules what may not change", () => {
    const rules = schemaOf(Slice).flatMap(({ node, path }) => {
      const found: unknown = node["x-kubernetes-validations"]
      return Array.isArray(found) ? found.filter(isNode).map(({ rule }) => `${path}: ${String(rule)}`) : []
    })

    assert.includeMembers(rules, [
      "spec: !has(oldSelf.capsule) || has(self.capsule)",
      "spec.consumer: self == oldSelf",
      "spec.sharedComponent: self == oldSelf",
      "spec.sliceId: self == oldSelf",
      "spec.arrivedAt: self == oldSelf",
      "spec.desired: oldSelf == 'Reserved' || self == 'Released' || self == oldSelf"
    ])
  })
})

describe("Lengths of time", () => {
  const spec = (deployTimeout: string) => environmentTemplate({ deployTimeout, components: [{ name: "a" }] })

  it("are written as people write them", () => {
    assert.strictEqual(Duration.toSeconds(spec("1d2h3m4s").deployTimeout), 93_784)
    assert.strictEqual(Duration.toSeconds(spec("90m").deployTimeout), 5400)
    for (const text of ["", "5", "m", "5x", "-5m", "1.5h", "5 m"]) assert.throws(() => spec(text))
  })

  it.effect("come back as seconds", () =>
    Effect.gen(function* () {
      const encoded = yield* EnvironmentTemplate.encodeSpec(spec("15m"))

      assert.deepInclude(encoded, { deployTimeout: "900s" })
    })
  )
})

describe("SharedComponentProvider", () => {
  it("supplies the defaults of a script", () => {
    const { provision } = provider({
      external: { secretRef: { name: "pg" } },
      provision: { image: "x", script: "y" },
      deprovision: { image: "x", script: "y" }
    })

    assert.deepInclude(provision, { retries: 3, env: [], volumes: [], nodeSelector: {} })
    assert.strictEqual(provision === undefined ? 0 : Duration.toMinutes(provision.deadline), 10)
  })
})
