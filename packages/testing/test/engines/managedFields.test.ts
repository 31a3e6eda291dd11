import { assert, describe, it } from "@effect/vitest"
import {
  arrayOf,
  at,
  clone,
  equal,
  isObject,
  type JsonObject,
  objectOf,
  stringOf
} from "../../src/internal/engines/json.ts"
import { apply, conflictMessage, update } from "../../src/internal/engines/managedFields.ts"
import { mergePatch } from "../../src/internal/engines/patch.ts"
import { histories, schema, type Step } from "./cases/apply.ts"
import {
  blankBuiltin,
  builtinSchema,
  decodeBuiltin,
  prepareBuiltin,
  validateBuiltin
} from "../../src/internal/engines/builtins.ts"
import { type Cause, invalidMessage } from "../../src/internal/engines/causes.ts"
import { compile } from "../../src/internal/engines/structural.ts"
import type { Schema } from "../../src/internal/engines/schema.ts"
import { histories as builtins } from "./cases/applyBuiltins.ts"
import { golden } from "./goldens.ts"
import { normalize } from "./recordApply.ts"

const UNIQUE = "5d2f8f0a-0000-4000-8000-000000000000"

type Result = { readonly object: JsonObject } | { readonly message: string }

/** What a server knows of the kind whose history is told. */
interface Kind {
  readonly apiVersion: string
  readonly kind: string
  readonly schema: Schema
  readonly blank: JsonObject | undefined
  readonly defaults: (object: JsonObject, isApply: boolean) => JsonObject
  readonly prepare: (object: JsonObject) => JsonObject
  readonly validate: (object: JsonObject, old: JsonObject | undefined) => ReadonlyArray<Cause>
}

/** Keeps of a subresource write only what that endpoint may change. */
const accept = (live: JsonObject, next: JsonObject, step: Step): JsonObject => {
  if (step.subresource === undefined) return { ...next, ...("status" in live ? { status: live["status"] } : {}) }
  const metadata = { ...objectOf(live["metadata"]), managedFields: at(next, "metadata", "managedFields") }
  return { ...live, metadata, status: next["status"] }
}

const run = (kind: Kind, live: JsonObject | undefined, step: Step): Result => {
  const body: JsonObject = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    ...clone(step.body),
    metadata: { name: "h0", ...objectOf(step.body["metadata"]) }
  }
  const writer = {
    manager: step.manager,
    apiVersion: kind.apiVersion,
    schema: kind.schema,
    subresource: step.subresource,
    now: "2026-01-01T00:00:00Z",
    resetFields:
      step.subresource === "status" ? ["spec"] : kind.blank === undefined || "status" in kind.blank ? ["status"] : []
  }
  if (step.verb === "apply") {
    const result = apply({ ...writer, live, applied: body, force: step.force })
    if ("conflicts" in result) return { message: conflictMessage(result.conflicts) }
    return { object: kind.prepare(kind.defaults(result.ok, true)) }
  }
  const updated = kind.defaults(step.verb === "merge" ? objectOf(mergePatch(live, body)) : body, false)
  return { object: kind.prepare(update({ ...writer, live: live ?? kind.blank, updated })) }
}

/** What the server does between the merge and the store. */
const checked = (kind: Kind, name: string, result: Result, live: JsonObject | undefined): Result => {
  if ("message" in result) return result
  const causes = kind.validate({ ...result.object, metadata: { name, ...objectOf(result.object["metadata"]) } }, live)
  return causes.length === 0 ? result : { message: invalidMessage(nameOf(kind), name, causes) }
}

const nameOf = ({ apiVersion, kind }: Kind): string => {
  const [group, version] = apiVersion.split("/")
  return version === undefined ? kind : `${kind}.${group}`
}

const replay = (kind: Kind, name: string, steps: ReadonlyArray<Step>, outcomes: ReadonlyArray<unknown>) => {
  let live: JsonObject | undefined
  for (const [number, step] of steps.entries()) {
    const expected = outcomes[number]
    const result = checked(kind, name, run(kind, live, step), live)
    const where = `step ${number}: ${JSON.stringify(step)}`
    if ("message" in result) {
      assert.strictEqual(result.message, stringOf(at(expected, "refused", "message")), where)
      continue
    }
    const stored: JsonObject = { ...result.object, metadata: { ...objectOf(result.object["metadata"]), uid: UNIQUE } }
    const next = live === undefined ? stored : accept(live, stored, step)
    assert.deepStrictEqual(normalize(next), at(expected, "object"), where)
    if (live !== undefined) assert.strictEqual(!equal(live, next), at(expected, "changed"), where)
    live = next
  }
  assert.isTrue(isObject(live))
}

const compiled = compile(schema)

const custom: Kind = {
  apiVersion: "golden.example/v1",
  kind: "Applied",
  schema,
  blank: undefined,
  defaults: (object, isApply) => compiled.defaults(object, { keepNulls: isApply }),
  prepare: (object) => object,
  validate: (object, old) => compiled.validate(object, old === undefined ? {} : { old })
}

const builtin = (kind: string, apiVersion: string): Kind => {
  const name = nameOf({ ...custom, kind, apiVersion })
  return {
    apiVersion,
    kind,
    schema: builtinSchema(name),
    blank: blankBuiltin(name),
    defaults: (object) => decodeBuiltin(name, object),
    prepare: (object) =>
      prepareBuiltin(name, { ...object, metadata: { uid: UNIQUE, ...objectOf(object["metadata"]) } }),
    validate: (object, old) => validateBuiltin(name, object, old === undefined ? undefined : { ...old, metadata: {} })
  }
}

describe("managedFields", () => {
  const recorded = arrayOf(golden("apply"))
  for (const [index, { title, steps }] of histories.entries()) {
    it(`T3: server-side apply is the real server's: ${title}`, () => {
      replay(custom, `h${index}`, steps, arrayOf(at(recorded[index], "outcomes")))
    })
  }

  const recordedBuiltins = arrayOf(golden("applyBuiltins"))
  for (const [index, { title, kind, apiVersion, steps }] of builtins.entries()) {
    it(`T3: server-side apply is the real server's: ${title}`, () => {
      replay(builtin(kind, apiVersion), `h${index}`, steps, arrayOf(at(recordedBuiltins[index], "outcomes")))
    })
  }
})
