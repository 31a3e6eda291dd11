/** Schemas that a server takes or refuses. */
import type { Schema, ValidationRule } from "../../../src/internal/engines/schema.ts"

export interface Case {
  readonly title: string
  // Some are not schemas at all.
  readonly schema: Schema & { readonly [key: string]: unknown }
}

const spec = (title: string, a: object): Case => ({
  title,
  schema: { type: "object", properties: { spec: { type: "object", properties: { a } } } }
})

const string: Schema = { type: "string", maxLength: 9 }

const rules = (title: string, ...validations: ReadonlyArray<ValidationRule>): Case => ({
  title: `rule: ${title}`,
  schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        "x-kubernetes-validations": validations,
        properties: {
          min: { type: "integer" },
          s: string,
          l: { type: "array", maxItems: 5, items: string },
          "a-b": string,
          namespace: string,
          t: { type: "string", format: "date-time" },
          q: { "x-kubernetes-int-or-string": true },
          a: { type: "object", maxProperties: 3, additionalProperties: { type: "integer" } },
          o: { type: "array", maxItems: 3, items: { type: "object", properties: { n: string } } }
        }
      }
    }
  }
})

const keyed = (more: object): object => ({
  type: "array",
  items: { type: "object", properties: { k: string } },
  "x-kubernetes-list-type": "map",
  ...more
})

export const cases: ReadonlyArray<Case> = [
  { title: "no type at the root", schema: { properties: { a: string } } },
  { title: "no type in a member", schema: { type: "object", properties: { spec: { properties: { a: string } } } } },
  { title: "preserving at the root", schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
  {
    title: "rules about metadata",
    schema: { type: "object", properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } } }
  },
  {
    title: "a pattern of the name",
    schema: {
      type: "object",
      properties: { metadata: { type: "object", properties: { name: { type: "string", pattern: "^a" } } } }
    }
  },
  spec("a list without items", { type: "array" }),
  spec("items without a type", { type: "array", items: {} }),
  spec("properties and additionalProperties", {
    type: "object",
    properties: { x: string },
    additionalProperties: string
  }),
  spec("additionalProperties false", { type: "object", additionalProperties: false }),
  spec("a type in anyOf", { type: "object", anyOf: [{ type: "object" }] }),
  spec("a value validation in anyOf", {
    type: "object",
    properties: { z: { type: "integer" } },
    anyOf: [{ properties: { z: { minimum: 1 } } }]
  }),
  spec("a description in anyOf", { type: "object", anyOf: [{ description: "x" }] }),
  spec("a default in not", { type: "object", not: { default: 1 } }),
  spec("unique items", { type: "array", uniqueItems: true, items: string }),
  spec("a default of another type", { type: "string", default: 1 }),
  spec("a default against the schema", { type: "string", minLength: 3, default: "a" }),
  spec("a default with unknown fields", { type: "object", properties: {}, default: { z: 1 } }),
  spec("a null default of a nullable", { type: "string", nullable: true, default: null }),
  spec("an unknown type", { type: "foo" }),
  spec("map keys missing", keyed({})),
  spec("map keys not required", keyed({ "x-kubernetes-list-map-keys": ["k"] })),
  spec("map keys unknown", keyed({ "x-kubernetes-list-map-keys": ["z"] })),
  spec("a list type on a text", { type: "string", "x-kubernetes-list-type": "set" }),
  spec("a set of objects", { type: "array", items: { type: "object" }, "x-kubernetes-list-type": "set" }),
  spec("an unknown list type", { type: "array", items: string, "x-kubernetes-list-type": "bag" }),
  spec("a reference", { $ref: "#/x" }),
  spec("an id", { type: "string", id: "x" }),
  spec("an unclosed pattern", { type: "string", pattern: "(" }),
  spec("a pattern that looks ahead", { type: "string", pattern: "^(?!x)" }),
  spec("an embedded resource without fields", { type: "object", "x-kubernetes-embedded-resource": true }),
  spec("preserving false", { type: "object", "x-kubernetes-preserve-unknown-fields": false }),
  spec("an int or string spelt out", {
    "x-kubernetes-int-or-string": true,
    anyOf: [{ type: "integer" }, { type: "string" }]
  }),
  rules("a syntax error", { rule: "self.min >" }),
  rules("an unknown member", { rule: "self.zz > 1" }),
  rules("types that do not compare", { rule: "self.min == 'a'" }),
  rules("no boolean", { rule: "self.min" }),
  rules("a message expression of a number", { rule: "true", messageExpression: "self.min" }),
  rules("a message expression with an unknown member", { rule: "true", messageExpression: "self.zz" }),
  rules("a path to nowhere", { rule: "true", fieldPath: ".zz" }),
  rules("a malformed path", { rule: "true", fieldPath: "min" }),
  rules("a path", { rule: "true", fieldPath: ".a['x']" }),
  rules("an unknown reason", { rule: "true", reason: "Foo" }),
  rules("empty", { rule: "" }),
  rules("lines without a message", { rule: "true\n && true" }),
  rules("lines in the message", { rule: "true", message: "a\nb" }),
  rules("a blank message", { rule: "true", message: " " }),
  rules("a transition", { rule: "self.min == oldSelf.min" }),
  rules("an optional transition", { rule: "oldSelf.hasValue() && self.min == 1", optionalOldSelf: true }),
  rules("optional for nothing", { rule: "true", optionalOldSelf: true }),
  rules("escaped names", { rule: "self.a__dash__b == 'a' && self.__namespace__ == 'b'" }),
  rules("maps", { rule: "self.a.all(k, self.a[k] > 1)" }),
  rules("quantities", { rule: "isQuantity('1') && quantity('1').isGreaterThan(quantity('2'))" }),
  rules("a sum of texts", { rule: "self.l.isSorted() && self.l.sum() == 'a'" }),
  rules("lists", { rule: "self.l.isSorted() && self.l.max() == 'a' && self.l.indexOf('a') == 0" }),
  rules("an unknown member in has", { rule: "has(self.a) && has(self.nope)" }),
  rules("has on an item", { rule: "self.o.all(x, has(x.n)) && has(self.o[0].n)" }),
  rules("an unknown member of an item", { rule: "self.o.all(x, x.q == 'a')" }),
  rules("an unknown variable", { rule: "slef.min > 1" }),
  rules("an unknown function", { rule: "self.s.shout() == 'A'" }),
  rules("objects compare", { rule: "self.o == oldSelf.o" }),
  rules("int or string", { rule: "type(self.q) == string ? self.q == 'a' : self.q == 1" }),
  rules("a time", { rule: "self.t < timestamp('2030-01-01T00:00:00Z')" }),
  rules("formats", { rule: "!format.dns1123Label().validate(self.s).hasValue()" }),
  rules("sets", { rule: "sets.contains(self.l, ['a'])" }),
  rules("addresses", { rule: "isCIDR(self.s) && cidr(self.s).containsIP('10.0.0.1') && ip.isCanonical('::1')" }),
  {
    title: "rule: a transition in a list without keys",
    schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            l: {
              type: "array",
              maxItems: 3,
              items: { ...string, "x-kubernetes-validations": [{ rule: "self == oldSelf" }] }
            }
          }
        }
      }
    }
  },
  {
    title: "rule: metadata has only names",
    schema: {
      type: "object",
      "x-kubernetes-validations": [
        { rule: "self.metadata.name == 'a' && self.kind == 'b'" },
        { rule: "self.metadata.labels['a'] == 'x'" }
      ]
    }
  }
]
