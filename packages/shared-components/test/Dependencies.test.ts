import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Dependencies from "../src/Dependencies.ts"
import { environment, template } from "./specs.ts"

/** A component whose one variable reads a key of each of these. */
const reading = (name: string, ...others: ReadonlyArray<string>) => ({
  name,
  env: { X: others.map((other) => `{{ .Components.${other}.X }}`).join("") }
})

const steps = (of: ReturnType<typeof template>) =>
  Result.match(Dependencies.graph(of), { onSuccess: Dependencies.order, onFailure: (error) => error.message })

describe("Dependencies", () => {
  it("S22: needs are derived from references and added to those that are declared", () => {
    const of = template(
      { name: "web", dependsOn: ["api"], env: { A: '{{ index .Components "api" "X" }}' } },
      {
        name: "api",
        env: { X: "{{ with .Components.db }}{{ .URL }}{{ end }}", Y: "{{ $c := .Components }}{{ $c.my-cache.URL }}" }
      },
      { name: "db" },
      { name: "my-cache" },
      { name: "probe", readiness: { httpGet: { url: "{{ .Components.web.A }}" } } },
      { name: "chart", helm: { path: "x", values: { deep: ["{{ if false }}{{ .Components.probe.X }}{{ end }}"] } } }
    )
    const graph = Result.getOrThrow(Dependencies.graph(of))

    assert.deepStrictEqual(Dependencies.edges(graph), {
      web: ["api"],
      api: ["db", "my-cache"],
      db: [],
      "my-cache": [],
      probe: ["web"],
      chart: ["probe"]
    })
    assert.deepStrictEqual(Dependencies.order(graph), [["db", "my-cache"], ["api"], ["web"], ["probe"], ["chart"]])
  })

  it("S22: what needs nothing is in the first step, whatever the declared order", () => {
    assert.deepStrictEqual(steps(template(reading("c", "a", "b"), reading("b", "a"), reading("a"), reading("d"))), [
      ["a", "d"],
      ["b"],
      ["c"]
    ])
  })

  it("S22: a circle is refused with its path", () => {
    assert.strictEqual(
      steps(template(reading("a", "b"), reading("b", "c"), { name: "c", dependsOn: ["a"] })),
      "spec.components[2].dependsOn[0]: components need each other in a circle: a -> b -> c -> a"
    )
    assert.strictEqual(
      steps(template(reading("x", "a"), reading("a", "a"))),
      "spec.components[1].env.X:1:4: components need each other in a circle: a -> a"
    )
  })

  it("S22: every circle is found", () => {
    const found = Dependencies.problems(template(reading("a", "b", "c"), reading("b", "a"), reading("c", "a")))

    assert.deepStrictEqual(
      found.map((each) => each._tag === "DependencyCycle" && each.path.join(" -> ")),
      ["a -> b -> a", "a -> c -> a"]
    )
  })

  it("S22: an unknown name is refused with its place", () => {
    assert.strictEqual(
      steps(template({ name: "a", dependsOn: ["b"] })),
      "spec.components[0].dependsOn[0]: there is no component b"
    )
    assert.strictEqual(steps(template(reading("a", "b"))), "spec.components[0].env.X:1:4: there is no component b")
  })

  it("S22: an environment's own variables count", () => {
    const of = template(reading("a"), reading("b", "a"))
    const own = (component: string, on: string) =>
      environment({
        templateRef: { name: "t" },
        env: { [component]: { V: { sliceKeyRef: { component: on, key: "K" } } } }
      })

    assert.deepStrictEqual(
      Result.map(Dependencies.graph(template(reading("a"), reading("b")), own("a", "b")), Dependencies.order),
      Result.succeed([["b"], ["a"]])
    )
    assert.strictEqual(
      Result.match(Dependencies.graph(of, own("a", "b")), { onSuccess: () => "", onFailure: ({ message }) => message }),
      "spec.components[1].env.X:1:4: components need each other in a circle: a -> b -> a"
    )
  })

  it("S2: what a component needs is in name order", () => {
    const graph = Result.getOrThrow(
      Dependencies.graph(template(reading("z", "c", "a", "b"), reading("c"), reading("b"), reading("a")))
    )

    assert.deepStrictEqual(graph.needs.get("z"), ["a", "b", "c"])
  })

  const Edges = Schema.Array(
    Schema.Tuple([Schema.Literals(["a", "b", "c", "d", "e"]), Schema.Literals(["a", "b", "c", "d", "e"])])
  )
  it.prop(
    "S22: components are ordered after all that they need, or a real circle is named",
    [Edges],
    ([pairs]) => {
      const needs = (name: string) => pairs.filter(([from]) => from === name).map(([, to]) => to)
      const of = template(...["a", "b", "c", "d", "e"].map((name) => reading(name, ...needs(name))))

      Result.match(Dependencies.graph(of), {
        onSuccess: (graph) => {
          const order = Dependencies.order(graph)
          const step = (name: string) => order.findIndex((names) => names.includes(name))
          assert.strictEqual(order.flat().length, 5)
          for (const [from, to] of pairs) assert.isBelow(step(to), step(from))
        },
        onFailure: (error) => {
          assert(error._tag === "DependencyCycle")
          assert.strictEqual(error.path[0], error.path[error.path.length - 1])
          error.path.slice(1).forEach((to, index) => assert(needs(error.path[index] ?? "").some((each) => each === to)))
        }
      })
    },
    { arbitrary: { runs: 300, size: 20 } }
  )
})
