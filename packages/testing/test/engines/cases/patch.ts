/** Patches of one object each, and selectors. */

export interface Case {
  readonly title: string
  readonly path: string
  readonly object: { readonly [key: string]: unknown }
  readonly type: "json" | "merge" | "strategic"
  readonly patch: unknown
}

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
const PODS = "/api/v1/namespaces/default/podtemplates"

const configMap = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "p", labels: { x: "1", y: "2" }, finalizers: ["e.example/a", "e.example/b"] },
  data: { a: "1", b: "2" }
}

const json = (...operations: ReadonlyArray<unknown>): Case => ({
  title: `JSON patch ${JSON.stringify(operations)}`,
  path: CONFIG_MAPS,
  object: configMap,
  type: "json",
  patch: operations
})

const merge = (patch: unknown): Case => ({
  title: `merge patch ${JSON.stringify(patch)}`,
  path: CONFIG_MAPS,
  object: configMap,
  type: "merge",
  patch
})

const container = (name: string, more: object = {}) => ({ name, image: `${name}:1`, ...more })

/** A kind that holds a Pod's spec and checks nothing of it. */
const podTemplate = {
  apiVersion: "v1",
  kind: "PodTemplate",
  metadata: { name: "p" },
  template: {
    metadata: { labels: { x: "1" } },
    spec: {
      containers: [
        container("a", {
          env: [
            { name: "A", value: "1" },
            { name: "B", value: "2" }
          ],
          ports: [{ containerPort: 80, protocol: "TCP" }]
        }),
        container("b", { args: ["x", "y"] }),
        container("c")
      ],
      volumes: [
        { name: "v", emptyDir: {} },
        { name: "w", configMap: { name: "m" } }
      ],
      tolerations: [{ key: "k", operator: "Exists" }],
      imagePullSecrets: [{ name: "s" }]
    }
  }
}

const spec = (title: string, patch: unknown): Case => ({
  title: `strategic merge: ${title}`,
  path: PODS,
  object: podTemplate,
  type: "strategic",
  patch: { template: { spec: patch } }
})

const strategic = (title: string, patch: unknown): Case => ({
  title: `strategic merge: ${title}`,
  path: CONFIG_MAPS,
  object: configMap,
  type: "strategic",
  patch
})

export const cases: ReadonlyArray<Case> = [
  json({ op: "test", path: "/data/a", value: "2" }),
  json({ op: "test", path: "/data/a", value: "1" }, { op: "remove", path: "/data/a" }),
  json({ op: "remove", path: "/data/zz" }),
  json({ op: "replace", path: "/data/zz", value: "1" }),
  json({ op: "add", path: "/data/c", value: "3" }),
  json({ op: "add", path: "/nope/c", value: "3" }),
  json({ op: "move", from: "/data/a", path: "/data/z" }),
  json({ op: "copy", from: "/data/a", path: "/data/z" }),
  json({ op: "test", path: "/data/zz", value: null }),
  json({ op: "test", path: "/data/zz", value: "x" }),
  json({ op: "foo", path: "/data/a" }),
  json({ path: "/data/a" }),
  json({ op: "add", value: "1" }),
  json({ op: "add", path: "/metadata/labels/a.example~1b", value: "1" }),
  json({ op: "add", path: "/metadata/finalizers/-", value: "e.example/c" }),
  json({ op: "add", path: "/metadata/finalizers/0", value: "e.example/c" }),
  json({ op: "replace", path: "/metadata/finalizers/1", value: "e.example/c" }),
  json({ op: "remove", path: "/metadata/finalizers/0" }),
  json({ op: "remove", path: "/metadata/finalizers/7" }),
  json({ op: "add", path: "/metadata/finalizers/7", value: "e.example/c" }),
  json({ op: "add", path: "/metadata/annotations", value: { n: "1" } }),
  json({ op: "add", path: "/metadata/annotations/n", value: "1" }),
  json(
    { op: "test", path: "/metadata/finalizers/0", value: "e.example/a" },
    { op: "remove", path: "/metadata/finalizers" }
  ),
  merge({ data: { a: null, c: "3" } }),
  merge({ data: null }),
  merge({ metadata: { labels: { x: null, z: "3" }, finalizers: ["e.example/c"] } }),
  merge({ data: { nope: null } }),
  strategic("maps merge", { data: { a: null, c: "3" }, metadata: { labels: { y: "3" } } }),
  strategic("a map is replaced", { data: { $patch: "replace", c: "3" } }),
  strategic("a map is deleted", { data: { $patch: "delete" } }),
  strategic("finalizers are united", { metadata: { finalizers: ["e.example/c"] } }),
  strategic("a finalizer is deleted", { metadata: { "$deleteFromPrimitiveList/finalizers": ["e.example/a"] } }),
  strategic("finalizers in an order", {
    metadata: {
      "$setElementOrder/finalizers": ["e.example/b", "e.example/c", "e.example/a"],
      finalizers: ["e.example/c"]
    }
  }),
  spec("an item by its key", { containers: [{ name: "b", image: "b:2" }] }),
  spec("a new item", { containers: [{ name: "z", image: "z:1" }] }),
  spec("an item without its key", { containers: [{ image: "z:1" }] }),
  spec("an item is deleted", { containers: [{ name: "b", $patch: "delete" }] }),
  spec("a list is replaced", { containers: [{ name: "z", image: "z:1" }, { $patch: "replace" }] }),
  spec("nested lists merge", {
    containers: [
      {
        name: "a",
        env: [
          { name: "B", value: "3" },
          { name: "C", value: "4" }
        ]
      }
    ]
  }),
  spec("an environment variable is deleted", { containers: [{ name: "a", env: [{ name: "A", $patch: "delete" }] }] }),
  spec("an order", { "$setElementOrder/containers": [{ name: "c" }, { name: "a" }, { name: "b" }] }),
  spec("an order with changes", {
    "$setElementOrder/containers": [{ name: "z" }, { name: "b" }, { name: "a" }],
    containers: [
      { name: "z", image: "z:1" },
      { name: "a", image: "a:2" }
    ]
  }),
  spec("atomic lists are replaced", {
    tolerations: [{ key: "l", operator: "Exists" }],
    containers: [{ name: "b", args: ["z"] }]
  }),
  spec("retained keys", { volumes: [{ name: "v", $retainKeys: ["name", "configMap"], configMap: { name: "m" } }] }),
  spec("a volume changes its source without retained keys", { volumes: [{ name: "w", configMap: { name: "n" } }] }),
  spec("ports merge by number", {
    containers: [{ name: "a", ports: [{ containerPort: 80, name: "http" }, { containerPort: 81 }] }]
  }),
  spec("nulls in what is new", { containers: [{ name: "z", image: "z:1", args: null }], imagePullSecrets: null })
]

export const labelSelectors: ReadonlyArray<string> = [
  "q notin (b)",
  "q!=b",
  "a notin (c)",
  "a",
  "!a",
  "a=b",
  "a==b",
  "a!=b",
  "a in (b,c)",
  "a notin (b)",
  "a in (b",
  "a=b,",
  "a=b,,c=d",
  ",a",
  "a=b c",
  "n>1",
  "a>x",
  "n<9",
  "n<1",
  "a in ()",
  "a in (,)",
  "-a=b",
  "a=-",
  "a=b=c",
  "a in b",
  "! a",
  " a = b ",
  "in=x",
  "a in (in)",
  "notin",
  "!a=b",
  "a=,b=c",
  "(a)",
  "a,!a",
  "a=b in (c)",
  "e=",
  "e",
  "a.example/x=y",
  "x in (y, z),a=b",
  "x notin (y),!q",
  ""
]

/** The labels that the selectors are asked about. */
export const labels = { a: "b", n: "5", e: "", x: "y", "a.example/x": "y" }

export const fieldSelectors: ReadonlyArray<string> = [
  "metadata.name=p",
  "metadata.name==p",
  "metadata.name!=p",
  "metadata.name=q",
  "a",
  "metadata.name=p,",
  "metadata.name=a=b",
  "metadata.name=a\\=b",
  "metadata.name!=q,metadata.namespace=default",
  "metadata.name=p,metadata.namespace!=default",
  "metadata.name in (p)",
  ""
]
