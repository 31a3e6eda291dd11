/** Histories of one object under several managers. */
import type { Schema } from "../../../src/internal/engines/schema.ts"

export interface Step {
  readonly verb: "create" | "apply" | "merge" | "update"
  readonly manager: string
  readonly body: { readonly [key: string]: unknown }
  readonly force?: boolean
  readonly subresource?: "status"
}

export interface History {
  readonly title: string
  readonly steps: ReadonlyArray<Step>
}

const string: Schema = { type: "string" }

/** A kind with every sort of list and map. */
export const schema: Schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        replicas: { type: "integer" },
        text: string,
        atomicList: { type: "array", items: string },
        set: { type: "array", items: string, "x-kubernetes-list-type": "set" },
        list: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name", "port"],
          items: {
            type: "object",
            required: ["name"],
            properties: {
              name: string,
              port: { type: "integer", default: 80 },
              value: string,
              inner: { type: "object", additionalProperties: string }
            }
          }
        },
        map: { type: "object", additionalProperties: string },
        atomicMap: { type: "object", additionalProperties: string, "x-kubernetes-map-type": "atomic" },
        nested: {
          type: "object",
          properties: { a: string, b: string, deep: { type: "object", properties: { c: string } } }
        },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true }
      }
    },
    status: { type: "object", properties: { phase: string, count: { type: "integer" } } }
  }
}

const apply = (manager: string, spec: unknown, more: Partial<Step> = {}): Step => ({
  verb: "apply",
  manager,
  body: spec === undefined ? {} : { spec },
  ...more
})
const create = (manager: string, spec: unknown): Step => ({ verb: "create", manager, body: { spec } })
const merge = (manager: string, body: Step["body"], more: Partial<Step> = {}): Step => ({
  verb: "merge",
  manager,
  body,
  ...more
})

/** Orders of live items against orders of applied ones. */
const ORDERS: ReadonlyArray<readonly [string, string]> = [
  ["abcd", "dcba"],
  ["abcd", "bxd"],
  ["abcd", "xdya"],
  ["abcde", "ecxb"],
  ["abc", "xyz"],
  ["abcdef", "fxbyd"],
  ["abcdef", "acb"],
  ["abcdef", "cxaf"],
  ["ecfba", "xedc"],
  ["acfed", "axfy"],
  ["eacfb", "aycf"],
  ["bedfc", "bayf"]
]

const orders = ORDERS.map(([live, next]): History => ({
  title: `${next} over ${live}`,
  steps: [apply("a", { set: Array.from(live) }), apply("b", { set: Array.from(next) })]
}))

export const histories: ReadonlyArray<History> = [
  { title: "an apply creates", steps: [apply("a", { replicas: 1, map: { x: "1" } })] },
  { title: "the same apply twice changes nothing", steps: [apply("a", { replicas: 1 }), apply("a", { replicas: 1 })] },
  {
    title: "a field no longer applied goes",
    steps: [
      apply("a", { replicas: 1, text: "t", map: { x: "1", y: "2" } }),
      apply("a", { replicas: 1, map: { y: "2" } })
    ]
  },
  { title: "the last field of the spec goes", steps: [apply("a", { replicas: 1 }), apply("a", {})] },
  { title: "the spec goes", steps: [apply("a", { replicas: 1, nested: { a: "1" } }), apply("a", undefined)] },
  {
    title: "equal values are shared",
    steps: [apply("a", { replicas: 1 }), apply("b", { replicas: 1 }), apply("a", {}), apply("b", {})]
  },
  {
    title: "another value conflicts, and force takes",
    steps: [
      apply("a", { replicas: 1, text: "t" }),
      apply("b", { replicas: 2, text: "u" }),
      apply("b", { replicas: 2, text: "u" }, { force: true }),
      apply("a", { text: "t" })
    ]
  },
  {
    title: "conflicts with several managers",
    steps: [apply("a", { replicas: 1 }), apply("b", { text: "t" }), apply("c", { replicas: 2, text: "u" })]
  },
  {
    title: "an update takes what it changes",
    steps: [
      apply("a", { replicas: 1, text: "t", map: { x: "1" } }),
      merge("m", { spec: { replicas: 5, map: { x: "2", z: "3" } } }),
      apply("a", { replicas: 1, text: "t" }),
      apply("a", { replicas: 1, text: "t" }, { force: true })
    ]
  },
  {
    title: "a removal by update is nobody's",
    steps: [
      apply("a", { replicas: 1, text: "t", map: { x: "1" } }),
      merge("m", { spec: { text: null, map: { x: null } } }),
      apply("a", { replicas: 1 })
    ]
  },
  {
    title: "a create and an update by one manager share an entry",
    steps: [create("m", { replicas: 1, map: { a: "1" } }), merge("m", { spec: { text: "t", map: { b: "2" } } })]
  },
  {
    title: "an update that changes nothing",
    steps: [create("m", { replicas: 1 }), merge("n", { spec: { replicas: 1 } })]
  },
  {
    title: "a map list merges by its keys",
    steps: [
      apply("a", {
        list: [
          { name: "x", value: "1" },
          { name: "y", port: 81, value: "2" }
        ]
      }),
      apply("b", {
        list: [
          { name: "z", value: "3" },
          { name: "x", inner: { k: "v" } }
        ]
      }),
      apply("a", { list: [{ name: "y", port: 81, value: "2" }] }),
      apply("b", { list: [] }),
      apply("a", { list: [] })
    ]
  },
  {
    title: "the order of a map list",
    steps: [
      apply("a", { list: [{ name: "a" }, { name: "b" }, { name: "c" }, { name: "d" }] }),
      apply("b", { list: [{ name: "n" }, { name: "d" }, { name: "b" }, { name: "o" }] }),
      apply("a", { list: [{ name: "d" }, { name: "c" }, { name: "a" }, { name: "b" }] })
    ]
  },
  {
    title: "a set merges by its values",
    steps: [
      apply("a", { set: ["x", "y"] }),
      apply("b", { set: ["z", "y"] }),
      apply("a", { set: ["x"] }),
      apply("b", { set: [] }),
      apply("a", {})
    ]
  },
  {
    title: "an atomic list and map belong whole",
    steps: [
      apply("a", { atomicList: ["x", "y"], atomicMap: { k: "1" } }),
      apply("b", { atomicList: ["x"], atomicMap: { k: "1", l: "2" } }),
      apply("b", { atomicList: ["x"], atomicMap: { k: "1", l: "2" } }, { force: true }),
      apply("b", {})
    ]
  },
  {
    title: "fields without a schema",
    steps: [
      apply("a", { free: { x: { y: 1 }, l: [{ name: "a" }], e: {} } }),
      apply("b", { free: { x: { z: 2 } } }),
      apply("a", { free: { x: { y: 1 } } }),
      apply("a", { free: {} })
    ]
  },
  {
    title: "empty maps and nulls",
    steps: [
      apply("a", { map: {}, nested: {}, list: [], set: [] }),
      apply("a", { nested: { deep: { c: "1" } } }),
      apply("a", { nested: { deep: {} } }),
      apply("a", { nested: {} })
    ]
  },
  {
    title: "an apply over an object that was created",
    steps: [
      create("m", { replicas: 1, list: [{ name: "x", value: "1" }] }),
      apply("a", { replicas: 1, text: "t" }),
      apply("a", { text: "t" })
    ]
  },
  {
    title: "the status has entries of its own",
    steps: [
      apply("a", { replicas: 1 }),
      { verb: "apply", manager: "a", subresource: "status", body: { status: { phase: "Up", count: 1 } } },
      merge("m", { status: { count: 2 } }, { subresource: "status" }),
      { verb: "apply", manager: "a", subresource: "status", body: { status: { phase: "Down", count: 1 } } },
      {
        verb: "apply",
        manager: "a",
        subresource: "status",
        body: { spec: { replicas: 7 }, status: { phase: "Down" } }
      },
      { verb: "apply", manager: "a", body: { spec: { replicas: 1 }, status: { phase: "Lost" } } }
    ]
  },
  {
    title: "metadata",
    steps: [
      {
        verb: "apply",
        manager: "a",
        body: { metadata: { labels: { x: "1", y: "2" }, annotations: { n: "1" }, finalizers: ["e.example/a"] } }
      },
      {
        verb: "merge",
        manager: "m",
        body: { metadata: { labels: { x: "2", z: "3" }, finalizers: ["e.example/a", "e.example/b"] } }
      },
      { verb: "apply", manager: "a", body: { metadata: { labels: { y: "2" }, annotations: {} } } },
      { verb: "apply", manager: "b", body: { metadata: { labels: { z: "4" } } } },
      {
        verb: "merge",
        manager: "m",
        body: { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u-1" }] } }
      },
      {
        verb: "apply",
        manager: "b",
        body: { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "p", uid: "u-2" }] } }
      }
    ]
  },
  {
    title: "managed fields are reset",
    steps: [
      create("m", { replicas: 1 }),
      merge("m", { metadata: { managedFields: [{}] } }),
      merge("m", { spec: { text: "t" } }),
      apply("a", { text: "u" }),
      apply("a", { text: "u" }, { force: true })
    ]
  },
  {
    title: "a manager that loses all",
    steps: [
      apply("a", { replicas: 1 }),
      apply("b", { replicas: 2 }, { force: true }),
      apply("a", { map: { x: "1" } }),
      apply("b", {})
    ]
  },
  ...orders
]
