/** Objects of one kind that has every sort of constraint, each with what it is about. */
import type { Schema } from "../../../src/internal/engines/schema.ts"

const string: Schema = { type: "string" }
const ab: Schema = { type: "object", properties: { a: string, b: string } }
const format = (name: string): Schema => ({ type: "string", format: name })

const constraints: Schema = {
  type: "object",
  properties: {
    str: { type: "string", minLength: 2, maxLength: 4, pattern: "^[aü]" },
    en: { type: "string", enum: ["x", "y"] },
    eni: { type: "integer", enum: [1, 2] },
    int: { type: "integer", minimum: 1, maximum: 5 },
    num: { type: "number", exclusiveMinimum: true, minimum: 1.5, exclusiveMaximum: true, maximum: 5 },
    mul: { type: "integer", multipleOf: 3 },
    i32: { type: "integer", format: "int32" },
    b: { type: "boolean" },
    arr: { type: "array", minItems: 1, maxItems: 2, items: { type: "string", minLength: 1 } },
    set: { type: "array", items: string, "x-kubernetes-list-type": "set" },
    map: {
      type: "array",
      items: { type: "object", required: ["k"], properties: { k: string, v: { type: "integer" } } },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"]
    },
    obj: { type: "object", minProperties: 1, maxProperties: 2, additionalProperties: { type: "string", maxLength: 2 } },
    req: {
      type: "object",
      required: ["a", "b"],
      properties: { a: string, b: string, c: { type: "string", default: "d" } }
    },
    ios: { "x-kubernetes-int-or-string": true },
    one: { ...ab, oneOf: [{ required: ["a"] }, { required: ["b"] }] },
    any: { ...ab, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    anyval: { type: "string", anyOf: [{ pattern: "^x" }, { maxLength: 1 }] },
    all: { ...ab, allOf: [{ required: ["a"] }, { required: ["b"] }] },
    not: { type: "object", properties: { a: string }, not: { required: ["a"] } },
    nul: { type: "string", nullable: true },
    free: {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { in: { type: "object", properties: { x: string } } }
    },
    emb: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
    deep: {
      type: "object",
      default: {},
      properties: {
        d: {
          type: "object",
          default: { z: 1 },
          properties: { z: { type: "integer" }, y: { type: "string", default: "q" } }
        }
      }
    },
    defaults: {
      type: "array",
      items: { type: "object", properties: { p: { type: "integer", default: 80 }, n: string } }
    },
    mapped: {
      type: "object",
      additionalProperties: { type: "object", properties: { x: { type: "integer", default: 1 } } }
    },
    ...Object.fromEntries(
      ["date-time", "uuid", "email", "ipv4", "ipv6", "cidr", "mac", "hostname", "duration", "byte", "date", "uri"].map(
        (name) => [`f-${name}`, format(name)]
      )
    )
  }
}

const rule = (text: string, more: object = {}) => ({ rule: text, ...more })

const rules: Schema = {
  type: "object",
  "x-kubernetes-validations": [
    rule("!has(self.min) || !has(self.max) || self.min <= self.max", {
      messageExpression: "self.min > 100 ? 'huge' : 'over max'",
      reason: "FieldValueForbidden",
      fieldPath: ".max"
    }),
    rule("!has(self.min) || self.min > 0", { message: "must be positive" }),
    rule("!has(oldSelf.once) || has(self.once)", { message: "once set, stays" }),
    rule("!has(self.need) || has(self.need.a)", {
      reason: "FieldValueRequired",
      fieldPath: ".need.a",
      message: "a is needed"
    }),
    rule("self.risky.x == 'a'"),
    rule("!has(self.labels) || self.labels.all(k, k.startsWith('a') && self.labels[k] != 'bad')"),
    rule("!has(self.cpu) || quantity(self.cpu).isLessThan(quantity('2'))", { message: "too much cpu" }),
    rule("!has(self.at) || self.at > timestamp('2020-01-01T00:00:00Z')", { message: "too early" }),
    rule("!has(self.wait) || self.wait <= duration('1h')", { message: "too long a wait" }),
    rule("!has(self.link) || url(self.link).getScheme() == 'https'", { message: "not https" }),
    rule("!has(self.ip) || isIP(self.ip) && ip(self.ip).family() == 4", { message: "not IPv4" }),
    rule("!has(self.numbers) || self.numbers.isSorted() && self.numbers.sum() < 10 && self.numbers.max() < 6", {
      message: "bad numbers"
    }),
    rule("!has(self.ratio) || self.ratio < 1.0", { message: "ratio too big" }),
    rule("!has(self.pairs) || self.pairs.exists_one(p, p.k == 'main')", { message: "one main" }),
    rule("!has(self.pairs) || self.pairs.all(p, p.k != 'none' && (!has(p.v) || p.v != 50))", {
      message: "no fifty"
    }),
    rule("!has(self.a__dash__b) || self.a__dash__b.lowerAscii() == self.a__dash__b", { message: "lower case" }),
    rule(
      "!has(self.word) || self.word.matches('^[a-z]+$') && self.word.find('b') == '' && self.word.split('x').size() < 3",
      {
        message: "bad word"
      }
    ),
    rule("self.?opt.orValue('none') != 'bad'", { message: "bad opt" }),
    rule("!has(self.mode) || self.mode in ['on', 'off']", { message: "bad mode" })
  ],
  properties: {
    min: { type: "integer" },
    max: { type: "integer" },
    once: { type: "string", maxLength: 20 },
    need: { type: "object", properties: { a: { type: "string", maxLength: 9 } } },
    risky: { type: "object", default: { x: "a" }, properties: { x: { type: "string", maxLength: 9 } } },
    labels: { type: "object", maxProperties: 5, additionalProperties: { type: "string", maxLength: 9 } },
    cpu: { type: "string", maxLength: 9 },
    at: format("date-time"),
    wait: format("duration"),
    link: { type: "string", maxLength: 99 },
    ip: { type: "string", maxLength: 40 },
    numbers: { type: "array", maxItems: 5, items: { type: "integer" } },
    ratio: { type: "number" },
    "a-b": { type: "string", maxLength: 9 },
    word: { type: "string", maxLength: 9 },
    opt: { type: "string", maxLength: 9 },
    mode: { type: "string", maxLength: 9 },
    fixed: {
      type: "string",
      maxLength: 9,
      "x-kubernetes-validations": [rule("self == oldSelf", { message: "is immutable" }), rule("self != 'bad'")]
    },
    grow: {
      type: "integer",
      "x-kubernetes-validations": [
        rule("!oldSelf.hasValue() || self >= oldSelf.value()", { optionalOldSelf: true, message: "may not shrink" })
      ]
    },
    pairs: {
      type: "array",
      maxItems: 5,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: {
        type: "object",
        required: ["k"],
        properties: {
          k: { type: "string", maxLength: 9 },
          v: {
            type: "integer",
            "x-kubernetes-validations": [rule("self >= oldSelf", { message: "grows only" }), rule("self < 100")]
          }
        }
      }
    },
    boxes: {
      type: "object",
      maxProperties: 5,
      additionalProperties: {
        type: "string",
        maxLength: 9,
        "x-kubernetes-validations": [rule("self != 'bad'", { message: "bad box" })]
      }
    }
  }
}

export const schema: Schema = {
  type: "object",
  required: ["spec"],
  properties: { spec: { ...constraints, properties: { ...constraints.properties, cel: rules } } },
  "x-kubernetes-validations": [rule("self.metadata.name.startsWith('s')", { message: "names start with s" })]
}

export interface Case {
  readonly title: string
  readonly spec: unknown
  /** Stored before; absent when the object is created. */
  readonly old?: unknown
}

const cel = (title: string, spec: unknown, old?: unknown): Case => ({
  title,
  spec: { cel: spec },
  ...(old === undefined ? {} : { old: { cel: old } })
})

const TEXTS: { readonly [format: string]: ReadonlyArray<string> } = {
  "date-time": ["x", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5+02:00", "2020-13-01T00:00:00Z"],
  uuid: ["x", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"],
  email: ["x", "a@b.example"],
  ipv4: ["x", "1.2.3.4", "1.2.3.400"],
  ipv6: ["1.2.3.4", "::1"],
  cidr: ["1.2.3.4", "10.0.0.0/8", "10.0.0.0/40"],
  mac: ["x", "01:23:45:67:89:ab"],
  hostname: ["-", "a.example"],
  duration: ["x", "1h30m", "3 days"],
  byte: ["%", "aGk="],
  date: ["2020-1-1", "2020-02-29"],
  uri: ["x y", "https://a.example/b?c=d"]
}

const texts = Object.entries(TEXTS).flatMap(([name, values]) =>
  values.map((value): Case => ({ title: `format ${name}: ${value}`, spec: { [`f-${name}`]: value } }))
)

export const cases: ReadonlyArray<Case> = [
  { title: "no spec", spec: undefined },
  { title: "a spec that is text", spec: "x" },
  { title: "a number for a text", spec: { str: 1 } },
  { title: "a short text", spec: { str: "a" } },
  { title: "a long text", spec: { str: "abcde" } },
  { title: "lengths count characters", spec: { str: "üüüü" } },
  { title: "a text against the pattern", spec: { str: "bb" } },
  { title: "not in the enumeration", spec: { en: "q" } },
  { title: "a number not in the enumeration", spec: { eni: 4 } },
  { title: "another type than the enumeration's", spec: { en: 1 } },
  { title: "too small", spec: { int: 0 } },
  { title: "too big", spec: { int: 9 } },
  { title: "a text for a number", spec: { int: "9" } },
  { title: "a fraction for an integer", spec: { int: 1.5 } },
  { title: "at the exclusive minimum", spec: { num: 1.5 } },
  { title: "at the exclusive maximum", spec: { num: 5 } },
  { title: "not a multiple", spec: { mul: 4 } },
  { title: "beyond 32 bits", spec: { i32: 3000000000 } },
  { title: "a text for a boolean", spec: { b: "true" } },
  { title: "too few items", spec: { arr: [] } },
  { title: "too many items", spec: { arr: ["a", "b", "c"] } },
  { title: "bad items", spec: { arr: ["", 1] } },
  { title: "an object for a list", spec: { arr: {} } },
  { title: "a duplicate in a set", spec: { set: ["a", "b", "a", "a"] } },
  { title: "a duplicate key", spec: { map: [{ k: "a" }, { k: "b" }, { k: "a", v: 1 }] } },
  { title: "a missing key", spec: { map: [{}] } },
  { title: "too few members", spec: { obj: {} } },
  { title: "too many members and a long one", spec: { obj: { a: "a", b: "b", c: "ccc" } } },
  { title: "a number as a map's value", spec: { obj: { a: 1 } } },
  { title: "required members", spec: { req: {} } },
  { title: "nulls for required members", spec: { req: { a: null, b: null, c: null } } },
  { title: "a boolean for an int-or-string", spec: { ios: true } },
  { title: "a fraction for an int-or-string", spec: { ios: 1.5 } },
  { title: "an int and a string", spec: { ios: 1, nul: null } },
  { title: "oneOf: none", spec: { one: {} } },
  { title: "oneOf: two", spec: { one: { a: "a", b: "b" } } },
  { title: "anyOf: none", spec: { any: {} } },
  { title: "anyOf over values", spec: { anyval: "abc" } },
  { title: "allOf: none", spec: { all: {} } },
  { title: "allOf: one", spec: { all: { a: "a" } } },
  { title: "not", spec: { not: { a: "a" } } },
  { title: "nulls", spec: { nul: null, str: null, req: null, arr: [null], obj: { a: null, b: "b" } } },
  {
    title: "unknown fields",
    spec: { unknown: 1, free: { kept: 1, in: { x: "a", gone: 1 } }, map: [{ k: "a", gone: 1 }] }
  },
  { title: "an embedded resource without its type", spec: { emb: {} } },
  { title: "an embedded resource", spec: { emb: { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, more: 1 } } },
  { title: "nested defaults", spec: { deep: { d: {} }, defaults: [{}, { p: 1 }], mapped: { a: {}, b: { x: 2 } } } },
  { title: "null takes the default", spec: { deep: { d: { y: null } }, defaults: [{ p: null }] } },
  { title: "rules are not run after a blocking error", spec: { en: "q", int: 0, cel: { min: 3, max: 2 } } },
  { title: "rules are run after another error", spec: { int: 0, cel: { min: 3, max: 2 } } },
  { title: "an update judges only what changed", old: { int: 9, arr: [] }, spec: { int: 9, arr: [], b: true } },
  ...texts,
  cel("a message expression and a path", { min: 3, max: 2 }),
  cel("a big one", { min: 300, max: 2 }),
  cel("a plain message", { min: -3, max: -2 }),
  cel("a reason with a path", { need: {} }),
  cel("a missing key", { risky: {} }),
  cel("a rule that fails without a message", { risky: { x: "b" } }),
  cel("maps", { labels: { b: "1" } }),
  cel("map values", { labels: { a: "bad" }, boxes: { one: "bad", two: "good" } }),
  cel("quantities", { cpu: "2500m" }),
  cel("good quantities", { cpu: "1500m" }),
  cel("a bad quantity", { cpu: "lots" }),
  cel("timestamps", { at: "2019-01-01T00:00:00Z" }),
  cel("durations", { wait: "90m" }),
  cel("urls", { link: "http://a.example" }),
  cel("a good url", { link: "https://a.example" }),
  cel("addresses", { ip: "::1" }),
  cel("a good address", { ip: "1.2.3.4" }),
  cel("sums", { numbers: [1, 5, 5] }),
  cel("order", { numbers: [2, 1] }),
  cel("good numbers", { numbers: [1, 2, 3] }),
  cel("doubles", { ratio: 1 }),
  cel("good doubles", { ratio: 0 }),
  cel("exactly one", { pairs: [{ k: "x" }] }),
  cel("all", {
    pairs: [
      { k: "main", v: 1 },
      { k: "x", v: 2 },
      { k: "y", v: 2 }
    ]
  }),
  cel("a missing member of an item", { pairs: [{ k: "main" }, { k: "x", v: 2 }] }),
  cel("escaped names", { "a-b": "ABC" }),
  cel("words", { word: "axbxc" }),
  cel("a good word", { word: "acx" }),
  cel("optional values", { opt: "bad" }),
  cel("membership", { mode: "maybe" }),
  cel("a scalar", { fixed: "bad" }),
  cel("a transition", { fixed: "new" }, { fixed: "old" }),
  cel("no transition on what was absent", { fixed: "new" }, {}),
  cel("an optional old value", { grow: 1 }, { grow: 2 }),
  cel("an optional old value that is absent", { grow: 1 }, {}),
  cel("once set, stays", { min: 1 }, { once: "x" }),
  cel(
    "items correlate by their keys",
    {
      pairs: [
        { k: "main", v: 5 },
        { k: "a", v: 3 }
      ]
    },
    {
      pairs: [
        { k: "a", v: 4 },
        { k: "main", v: 2 }
      ]
    }
  ),
  cel("an integer's rule", { pairs: [{ k: "main", v: 200 }] })
]
