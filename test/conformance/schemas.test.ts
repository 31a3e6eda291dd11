import { Effect, Schedule } from "effect"
import { type Api, definitions } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { gadget, gadgets, path } from "./support/kinds.ts"
import { at, textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
const text = { type: "string" }
const whole = { type: "integer" }
const name = `${definitions}/gadgets.{group}`

const schemaOf = (spec: object) => ({
  openAPIV3Schema: { type: "object", properties: { spec: { type: "object", ...spec } } }
})
const version = (name: string, spec: object, more: object = {}) => ({
  name,
  served: true,
  storage: name === "v1",
  schema: schemaOf(spec),
  ...more
})
const versions = (...all: ReadonlyArray<object>) => gadgets({}, {}, { versions: all })
const second = path.replace("/v1/", "/v2/")

/** Changes the definition, and waits until the change is served: a mark on a column tells. */
const redefine = Effect.fnUntraced(function* (api: Api, all: ReadonlyArray<object>) {
  yield* api.quietly("PATCH", name, {
    spec: {
      versions: all.map((each) => ({
        ...each,
        additionalPrinterColumns: [{ name: "Mark", type: "string", jsonPath: ".spec.mark" }]
      }))
    }
  })
  yield* Effect.repeat(
    api.quietly("GET", path, undefined, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }),
    { until: ({ body }) => textAt(body, "columnDefinitions.1.name") === "Mark", schedule: Schedule.spaced("50 millis") }
  )
})

/** What a definition is refused for, without the sentences, which quote what is the real server's own. */
const causesOf = Effect.fnUntraced(function* (api: Api, definition: object) {
  const { body, status } = yield* api.quietly("POST", definitions, definition)
  const causes = at(body, "details.causes")
  const fields = Array.isArray(causes) ? causes.map((each) => `${textAt(each, "reason")} ${textAt(each, "field")}`) : []
  return { status, fields: [...new Set(fields)].toSorted() }
})

conform("schemas", {
  "T3, T4: bounds of numbers, lists, maps and texts": run(function* (api: Api) {
    yield* api.define(
      gadgets({
        minProperties: 1,
        properties: {
          above: { type: "number", minimum: 1, exclusiveMinimum: true },
          even: { type: "integer", multipleOf: 2 },
          few: { type: "array", minItems: 2, items: text },
          map: { type: "object", maxProperties: 1, additionalProperties: whole },
          long: { type: "string", minLength: 3 },
          small: { type: "integer", format: "int32" },
          one: { type: "string", enum: ["a"] }
        }
      })
    )
    yield* api.post(path, gadget("g", {}))
    yield* api.post(path, gadget("g", { above: 1, even: 3, few: ["a"], long: "ab" }))
    yield* api.post(path, gadget("g", { map: { a: 1, b: 2 } }))
    yield* api.post(path, gadget("g", { map: { a: "x" }, one: "b" }))
    yield* api.post(path, gadget("g", { even: 1.5 }))
    yield* api.post(path, gadget("g", { above: 1.5, even: 4, few: ["a", "b"], long: "abc", small: 1 }))
  }),
  "T3, T4: one of, any of, all of and not": run(function* (api: Api) {
    const has = (field: string) => ({ required: [field] })
    yield* api.define(
      gadgets({
        properties: {
          a: text,
          b: text,
          c: whole,
          port: { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true }
        },
        oneOf: [has("a"), has("b")],
        anyOf: [{ properties: { c: { minimum: 5 } } }, { properties: { c: { maximum: 1 } } }],
        not: { properties: { a: { enum: ["never"] } }, required: ["a"] }
      })
    )
    yield* api.post(path, gadget("g", {}))
    yield* api.post(path, gadget("g", { a: "1", b: "1" }))
    yield* api.post(path, gadget("g", { a: "1", c: 3 }))
    yield* api.post(path, gadget("g", { a: "never" }))
    yield* api.post(path, gadget("g", { a: "1", port: true }))
    yield* api.post(path, gadget("g", { a: "1", port: "http", c: 9 }))
  }),
  "T3, T4: formats of texts": run(function* (api: Api) {
    const formatted = (format: string) => ({ type: "string", format })
    const formats = [
      "date",
      "date-time",
      "duration",
      "uuid",
      "email",
      "ipv4",
      "ipv6",
      "cidr",
      "byte",
      "hostname",
      "uri"
    ]
    yield* api.define(gadgets({ properties: Object.fromEntries(formats.map((each) => [each, formatted(each)])) }))
    for (const format of formats) yield* api.post(`${path}?dryRun=All`, gadget("g", { [format]: "no such!" }))
    const good = {
      date: "2026-01-31",
      duration: "1h5m",
      ipv4: "10.0.0.1",
      ipv6: "::1",
      cidr: "10.0.0.0/8",
      byte: "eA=="
    }
    yield* api.post(path, gadget("g", good))
  }),
  "T3, T4: null is kept, dropped or defaulted, as the schema says": run(function* (api: Api) {
    yield* api.define(
      gadgets({
        properties: {
          kept: { type: "string", nullable: true },
          keptDefault: { type: "string", nullable: true, default: "d" },
          defaulted: { type: "string", default: "d" },
          dropped: text,
          list: { type: "array", nullable: true, items: { type: "object", nullable: true, properties: { a: text } } }
        }
      })
    )
    yield* api.post(path, gadget("g", { kept: null, keptDefault: null, defaulted: null, dropped: null, list: null }))
    yield* api.post(path, gadget("h", { list: [null, { a: null }] }))
    yield* api.merge(`${path}/h`, { spec: { keptDefault: "x", kept: "x" } })
    yield* api.merge(`${path}/h`, { spec: { keptDefault: null, kept: null } })
  }),
  "T3, T4: what is unknown is pruned at every depth, but where it is preserved": run(function* (api: Api) {
    yield* api.define(
      gadgets({
        properties: {
          open: {
            type: "object",
            "x-kubernetes-preserve-unknown-fields": true,
            properties: { closed: { type: "object", properties: { a: whole } } }
          },
          list: { type: "array", items: { type: "object", properties: { a: whole } } },
          map: { type: "object", additionalProperties: { type: "object", properties: { a: whole } } },
          pod: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true }
        }
      })
    )
    const odd = { a: 1, odd: 1 }
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", odd: 1 }, spec: { odd: 1 } }
    yield* api.post(
      `${path}?fieldValidation=Warn`,
      gadget("g", { open: { closed: odd, odd }, list: [odd], map: { k: odd }, pod })
    )
    yield* api.post(path, gadget("h", { pod: { spec: {} } }))
    yield* api.post(path, gadget("h", { pod: { ...pod, metadata: { name: "Not_A_Name" } } }))
  }),
  "T3, T4: defaults reach into lists and maps, and not into what is not there": run(function* (api: Api) {
    const item = {
      type: "object",
      properties: {
        a: { type: "integer", default: 1 },
        b: { type: "object", properties: { c: { type: "string", default: "c" } } }
      }
    }
    yield* api.define(
      gadgets({
        properties: {
          list: { type: "array", items: item },
          map: { type: "object", additionalProperties: item },
          whole: { ...item, default: { b: {} } },
          absent: item
        }
      })
    )
    yield* api.post(path, gadget("g", { list: [{}, { a: 2, b: {} }], map: { k: {} } }))
    yield* api.post(path, { ...gadget("h"), spec: undefined })
  }),
  "T3, T4: rules of lists and maps name the item": run(function* (api: Api) {
    const rule = (rule: string, more: object = {}) => ({ "x-kubernetes-validations": [{ rule, ...more }] })
    yield* api.define(
      gadgets({
        properties: {
          ports: {
            type: "array",
            maxItems: 9,
            items: {
              type: "object",
              required: ["name"],
              properties: {
                name: { ...text, maxLength: 9 },
                port: { ...whole, ...rule("self > 0 && self < 65536", { message: "no port" }) }
              }
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            ...rule("self.all(p, !has(p.port) || self.exists_one(q, has(q.port) && q.port == p.port))", {
              message: "ports differ"
            })
          },
          map: { type: "object", maxProperties: 9, additionalProperties: { ...whole, ...rule("self % 2 == 0") } },
          size: {
            "x-kubernetes-int-or-string": true,
            ...rule("type(self) == int ? self < 100 : self.endsWith('%')", {
              messageExpression: "'no size: ' + string(self)"
            })
          }
        }
      })
    )
    yield* api.post(
      path,
      gadget("g", {
        ports: [
          { name: "a", port: 0 },
          { name: "b", port: 70_000 }
        ]
      })
    )
    yield* api.post(
      path,
      gadget("g", {
        ports: [
          { name: "a", port: 1 },
          { name: "b", port: 1 }
        ],
        map: { x: 1, "a/b": 3, y: 2 }
      })
    )
    yield* api.post(path, gadget("g", { size: 100 }))
    yield* api.post(path, gadget("g", { size: "half" }))
    yield* api.post(path, gadget("g", { size: "50%", map: { x: 2 } }))
  }),
  "T3, T4: rules of a change hold for what was there before, item by item": run(function* (api: Api) {
    const stays = [{ rule: "self == oldSelf", message: "it stays", reason: "FieldValueForbidden" }]
    yield* api.define(
      gadgets({
        properties: {
          fixed: { ...text, maxLength: 9, "x-kubernetes-validations": stays },
          once: {
            ...text,
            maxLength: 9,
            "x-kubernetes-validations": [
              { rule: "oldSelf.hasValue() || self != 'late'", optionalOldSelf: true, message: "only later" },
              {
                rule: "!oldSelf.hasValue() || oldSelf.value() != 'last'",
                optionalOldSelf: true,
                message: "that was the last"
              }
            ]
          },
          ports: {
            type: "array",
            maxItems: 9,
            items: {
              type: "object",
              required: ["name"],
              properties: { name: { ...text, maxLength: 9 }, port: { ...whole, "x-kubernetes-validations": stays } }
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"]
          }
        }
      })
    )
    yield* api.post(path, gadget("h", { once: "late" }))
    yield* api.post(path, gadget("g", { fixed: "a", once: "x", ports: [{ name: "a", port: 1 }] }))
    yield* api.merge(`${path}/g`, { spec: { fixed: "b" } })
    yield* api.merge(`${path}/g`, {
      spec: {
        ports: [
          { name: "b", port: 2 },
          { name: "a", port: 3 }
        ]
      }
    })
    yield* api.merge(`${path}/g`, { spec: { fixed: null, once: "late" } })
    yield* api.merge(`${path}/g`, { spec: { fixed: "b", once: "last" } })
    yield* api.merge(`${path}/g`, { spec: { once: "more" } })
  }),
  "T3, T4: rules know names, quantities, times and texts": run(function* (api: Api) {
    const bounded = { ...text, maxLength: 40 }
    yield* api.define(
      gadgets(
        {},
        {
          schema: {
            openAPIV3Schema: {
              type: "object",
              "x-kubernetes-validations": [
                {
                  rule: "self.metadata.name.startsWith('g')",
                  message: "the name begins with g",
                  fieldPath: ".spec.name"
                }
              ],
              properties: {
                spec: {
                  type: "object",
                  properties: {
                    name: bounded,
                    quantity: bounded,
                    duration: { ...bounded, format: "duration" },
                    url: bounded,
                    list: { type: "array", maxItems: 5, items: bounded }
                  },
                  "x-kubernetes-validations": [
                    {
                      rule: "!has(self.quantity) || quantity(self.quantity).isLessThan(quantity('1Gi'))",
                      message: "less than 1Gi"
                    },
                    { rule: "!has(self.duration) || self.duration <= duration('1h')", message: "an hour at most" },
                    { rule: "!has(self.url) || url(self.url).getScheme() == 'https'", message: "https only" },
                    { rule: "!has(self.list) || self.list.join(',').size() < 6", message: "short lists" },
                    {
                      rule: "!has(self.name) || self.name.matches('^[a-z]+$')",
                      reason: "FieldValueInvalid",
                      fieldPath: ".name"
                    }
                  ]
                }
              }
            }
          }
        }
      )
    )
    yield* api.post(path, gadget("h", {}))
    yield* api.post(
      path,
      gadget("g", { quantity: "2Gi", duration: "2h", url: "http://a/", list: ["abc", "def"], name: "A1" })
    )
    yield* api.post(
      path,
      gadget("g", { quantity: "512Mi", duration: "30m", url: "https://a/", list: ["a"], name: "abc" })
    )
    yield* api.post(path, gadget("g2", { quantity: "many" }))
  }),
  "T3, T4: what was wrong before and is not touched may stay": run(function* (api: Api) {
    const before = { properties: { size: text, other: text, list: { type: "array", items: text } } }
    const after = {
      properties: {
        size: { ...text, maxLength: 3, "x-kubernetes-validations": [{ rule: "self != 'huge'", message: "not huge" }] },
        other: text,
        list: { type: "array", maxItems: 1, items: { ...text, enum: ["a"] } }
      }
    }
    yield* api.define(versions(version("v1", before)))
    yield* api.post(path, gadget("g", { size: "huge", list: ["b", "c"] }))
    yield* redefine(api, [version("v1", after)])
    yield* api.merge(`${path}/g`, { spec: { other: "x" } })
    yield* api.merge(`${path}/g`, { spec: { size: "vast" } })
    yield* api.merge(`${path}/g`, { spec: { list: ["b", "d"] } })
    yield* api.post(path, gadget("h", { size: "huge" }))
  }),
  "T3, T4: a default that comes later is read from older objects": run(function* (api: Api) {
    yield* api.define(versions(version("v1", { properties: { a: text, gone: text } })))
    yield* api.post(path, gadget("g", { a: "1", gone: "1" }))
    yield* redefine(api, [version("v1", { properties: { a: text, b: { ...text, default: "later" } } })])
    yield* api.get(`${path}/g`)
    yield* api.merge(`${path}/g`, { spec: { a: "2" } })
  }),
  "T3, T4: each version shows and keeps what both know": run(function* (api: Api) {
    const one = version("v1", { properties: { a: text, both: text } })
    const two = version("v2", { properties: { b: { ...text, default: "two" }, both: text } })
    yield* api.define(versions(one, two))
    yield* api.until(second, ({ status }) => status === 200)
    yield* api.post(path, gadget("g", { a: "1", both: "1" }))
    yield* api.get(`${second}/g`)
    yield* api.send("PATCH", `${second}/g`, { spec: { both: "2" } })
    yield* api.get(`${path}/g`)
    yield* api.post(second, { ...gadget("h", { b: "1" }), apiVersion: "{group}/v2" })
    yield* api.get(second)
    yield* api.post(second, gadget("i"))
  }),
  "T3, T4: a version that is not served, or is old": run(function* (api: Api) {
    const one = version("v1", {}, { deprecated: true })
    const two = version("v2", {})
    const three = version("v3", {}, { served: false })
    const four = version("v1beta1", {}, { deprecated: true, deprecationWarning: "v1beta1 goes soon" })
    yield* api.define(versions(one, two, three, four))
    yield* api.until(second, ({ status }) => status === 200)
    yield* api.post(path, gadget("g"))
    yield* api.get(path.replace("/v1/", "/v1beta1/"))
    yield* api.get(second)
    yield* api.get(path.replace("/v1/", "/v3/"))
    yield* api.get("/apis/{group}")
  }),
  "T3, T4: a definition says what became of it": run(function* (api: Api) {
    yield* api.define(gadgets())
    yield* api.get(name)
    yield* api.merge(name, { spec: { names: { categories: ["all"], shortNames: ["gd"] } } })
    yield* api.until(name, ({ body }) => textAt(body, "status.acceptedNames.shortNames.0") === "gd")
    const { body } = yield* api.quietly("GET", name)
    yield* api.note("what was accepted", at(body, "status.acceptedNames") ?? null)
  }),
  "T3, T4: names that another definition has are not accepted": run(function* (api: Api) {
    yield* api.define(gadgets())
    const other = {
      ...gadgets({}, {}, { names: { plural: "widgets", kind: "Gadget", singular: "widget", listKind: "WidgetList" } }),
      metadata: { name: "widgets.{group}" }
    }
    yield* api.quietly("POST", definitions, other)
    const refused = yield* api.until(
      `${definitions}/widgets.{group}`,
      ({ body }) => at(body, "status.conditions.1") !== undefined
    )
    yield* api.note("its status", at(refused.body, "status") ?? null)
    yield* api.get("/apis/{group}/v1/widgets")
    yield* api.quietly("DELETE", `${definitions}/widgets.{group}`)
  }),
  "T3, T4: versions of a definition are checked": run(function* (api: Api) {
    const refused = Effect.fnUntraced(function* (what: string, definition: object) {
      yield* api.note(what, yield* causesOf(api, definition))
    })
    yield* refused("no version", versions())
    yield* refused("a version twice", versions(version("v1", {}), version("v1", {})))
    yield* refused("no storage", versions(version("v2", {})))
    yield* refused("two storages", versions(version("v1", {}), version("v2", {}, { storage: true })))
    yield* refused("no schema", versions({ name: "v1", served: true, storage: true }))
    yield* refused("a name that is none", versions(version("V_1", {}, { storage: true })))
    yield* refused("a scope that is none", { ...gadgets(), spec: { ...gadgets().spec, scope: "Everywhere" } })
  }),
  "T3, T4: a version that objects were stored in cannot go": run(function* (api: Api) {
    yield* api.define(versions(version("v1", {}), version("v2", {})))
    const moved = [version("v1", {}, { storage: false }), version("v2", {}, { storage: true })]
    yield* api.merge(name, { spec: { versions: moved } })
    yield* api.merge(name, { spec: { versions: [version("v2", {}, { storage: true })] } })
    const { body } = yield* api.quietly("GET", name)
    yield* api.note("where objects may be", at(body, "status.storedVersions") ?? null)
    yield* api.merge(`${name}/status`, { status: { storedVersions: ["v2"] } })
    yield* api.merge(name, { spec: { versions: [version("v2", {}, { storage: true })] } })
  }),
  "T3, T4: schemas of a definition are checked, field by field": run(function* (api: Api) {
    const refused = Effect.fnUntraced(function* (what: string, spec: object) {
      yield* api.note(what, yield* causesOf(api, gadgets(spec)))
    })
    yield* refused("a map that has properties as well", { properties: { a: text }, additionalProperties: text })
    yield* refused("a list without items", { properties: { a: { type: "array" } } })
    yield* refused("a list of keys that are no fields", {
      properties: {
        a: {
          type: "array",
          items: { type: "object", properties: {} },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["k"]
        }
      }
    })
    yield* refused("a set of lists of objects", {
      properties: {
        a: { type: "array", items: { type: "object", properties: { b: text } }, "x-kubernetes-list-type": "set" }
      }
    })
    yield* refused("a type within any of", { properties: { a: { type: "string", anyOf: [{ type: "string" }] } } })
    yield* refused("a pattern that is none", { properties: { a: { type: "string", pattern: "(" } } })
    yield* refused("a default that the schema refuses", {
      properties: { a: { type: "string", maxLength: 1, default: "ab" } }
    })
    yield* refused("unique items", { properties: { a: { type: "array", uniqueItems: true, items: text } } })
    yield* refused("a rule with an odd reason", { "x-kubernetes-validations": [{ rule: "true", reason: "Because" }] })
    yield* refused("a rule without text", { "x-kubernetes-validations": [{ rule: " " }] })
    yield* refused("a rule of no boolean", { "x-kubernetes-validations": [{ rule: "1" }] })
  }),
  "T3, T4: a kind of the whole cluster has no namespace": run(function* (api: Api) {
    const all = "/apis/{group}/v1/gadgets"
    yield* api.define(gadgets({}, {}, { scope: "Cluster" }))
    yield* api.post(all, gadget("g"))
    yield* api.get(`${all}/g`)
    yield* api.get(path)
    yield* api.post(all, gadget("h", {}, { metadata: { name: "h", namespace: "{ns}" } }))
    yield* api.get(`${all}?fieldSelector=metadata.namespace%3Dx`)
    yield* api.remove(`${all}/g`)
  }),
  "T3, T4: a scale says its selector, and is a compare and swap": run(function* (api: Api) {
    const scale = {
      specReplicasPath: ".spec.replicas",
      statusReplicasPath: ".status.replicas",
      labelSelectorPath: ".status.selector"
    }
    yield* api.define(
      gadgets({ properties: { replicas: { type: "integer", maximum: 5 } } }, { subresources: { status: {}, scale } })
    )
    yield* api.post(path, gadget("g", { replicas: 2 }))
    yield* api.merge(`${path}/g/status`, { status: { replicas: 1, selector: "a=b" } })
    const { body } = yield* api.get(`${path}/g/scale`)
    const written = (replicas: number) => ({
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "g", namespace: "{ns}", resourceVersion: textAt(body, "metadata.resourceVersion") },
      spec: { replicas }
    })
    yield* api.put(`${path}/g/scale`, written(3))
    yield* api.put(`${path}/g/scale`, written(4))
    yield* api.merge(`${path}/g/scale`, { spec: { replicas: -1 } })
    yield* api.merge(`${path}/g/scale`, { spec: { replicas: 9 } })
    yield* api.get(`${path}/none/scale`)
  }),
  "T3, T4: a status is checked by the schema, and a spec that is wrong does not hinder it": run(function* (api: Api) {
    yield* api.define(
      gadgets(
        { properties: { size: text } },
        {
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: { type: "object", properties: { size: text } },
                status: {
                  type: "object",
                  properties: { phase: { type: "string", enum: ["Ready"] }, seen: { type: "integer", default: 0 } }
                }
              }
            }
          }
        }
      )
    )
    yield* api.post(path, gadget("g", { size: "a" }))
    yield* api.merge(`${path}/g/status`, { status: { phase: "Odd" } })
    yield* api.merge(`${path}/g/status`, { status: { phase: "Ready", odd: true } })
    yield* api.json(`${path}/g/status`, [{ op: "replace", path: "/status/phase", value: "Ready" }])
    yield* api.merge(`${path}/g/status`, { metadata: { finalizers: ["example.com/held"], annotations: { a: "b" } } })
    yield* api.merge(`${path}/g/status`, { status: null })
  })
})
