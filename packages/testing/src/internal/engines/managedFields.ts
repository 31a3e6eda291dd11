/**
 * Server-side apply, and who manages which field.
 *
 * **Guarantees**
 * - T3: fields, conflicts, ownership, removal and times are those of a real server.
 * - T3: a no-op apply changes neither the object nor its `managedFields`.
 *
 * **Caveats**
 * - Entries of other API versions are taken as if their paths were the same in this one.
 *
 * @since 0.1.0
 */
import { at, clone, compareText, equal, isArray, isObject, type JsonObject, objectOf, withoutNulls } from "./json.ts"
import {
  difference,
  EMPTY,
  type FieldPath,
  type FieldSet,
  intersection,
  makeSet,
  printPath,
  union,
  withoutTrees
} from "./fieldSet.ts"
import { compare, fieldPath, fieldsOf, merge, removeFields, withNamedParents } from "./fieldWalk.ts"
import * as LastApplied from "./lastApplied.ts"
import { capped, decode, encode, type Entry, identityOf, type Managers } from "./managers.ts"
import { withObjectMeta } from "./objectMeta.ts"
import type { Schema } from "./schema.ts"

/** What every write says about its manager. */
export interface Writer {
  readonly manager: string
  readonly apiVersion: string
  /** The kind's schema with list and map types; `{}` when there is none. */
  readonly schema: Schema
  /** `status`, `scale`, …; absent for the object itself. */
  readonly subresource?: string | undefined
  /** The time of the write, RFC 3339 in whole seconds. */
  readonly now: string
  /** Top-level fields that this endpoint ignores: `status` on the object, `spec` on its status. */
  readonly resetFields?: ReadonlyArray<string> | undefined
}

export interface ApplyInput extends Writer {
  /** The stored object; absent when the apply creates it. */
  readonly live?: unknown
  readonly applied: unknown
  readonly force?: boolean | undefined
}

export interface UpdateInput extends Writer {
  /** The stored object; absent when the object is created, or then the blank object of a built-in kind. */
  readonly live?: unknown
  readonly updated: unknown
}

/** One field that another manager owns with another value. */
export interface Conflict {
  /** The manager as the server names it: `"kubectl" using v1`. */
  readonly manager: string
  readonly field: string
  readonly path: FieldPath
}

export type Applied = { readonly ok: JsonObject } | { readonly conflicts: ReadonlyArray<Conflict> }

/** The fields that nobody manages, since the server itself writes them. */
const UNMANAGED: ReadonlyArray<FieldPath> = [
  fieldPath("apiVersion"),
  fieldPath("kind"),
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion"
  ].map((name) => fieldPath("metadata", name))
]

const METADATA = fieldPath("metadata").join()

const managedOnly = (set: FieldSet, writer: Writer): FieldSet => {
  const roots = [...UNMANAGED, ...(writer.resetFields ?? []).map((name) => fieldPath(...name.split(".")))]
  const kept = withoutTrees(set, roots)
  return new Map([...kept].filter(([, path]) => path.length > 0 && path.join() !== METADATA))
}

const withoutManagedFields = (object: unknown): JsonObject => {
  const result = clone(objectOf(object))
  const metadata = result["metadata"]
  if (isObject(metadata)) delete metadata["managedFields"]
  return result
}

const withManagers = (object: JsonObject, managers: Managers): JsonObject => {
  // Metadata is typed on a real server: a null there is an absence.
  const metadata = objectOf(withoutNulls(object["metadata"]))
  delete metadata["managedFields"]
  const entries = encode(managers)
  return { ...object, metadata: entries.length === 0 ? metadata : { ...metadata, managedFields: entries } }
}

/** Takes from the others what a write changed or removed; the empty ones go. */
const takeFrom = (managers: Managers, except: string | undefined, taken: FieldSet): Managers => {
  const result: Managers = new Map()
  for (const [id, entry] of managers) {
    const set = id === except ? entry.set : difference(entry.set, taken)
    if (set.size > 0) result.set(id, { ...entry, set })
  }
  return result
}

/** An empty list, or one with nothing but an empty entry, says that nobody manages anything. */
const isReset = (managedFields: unknown): boolean => {
  if (!isArray(managedFields) || managedFields.length > 1) return false
  return managedFields.every((entry) => isObject(entry) && Object.keys(entry).length === 0)
}

/** Computes `managedFields` of a create, update or patch; returns the object that carries them. */
export const update = (input: UpdateInput): JsonObject => {
  const sent = at(input.updated, "metadata", "managedFields")
  const fromSent = decode(input.updated)
  const isObjectWrite = input.subresource === undefined || input.subresource === ""
  const managers =
    isObjectWrite && isReset(sent)
      ? new Map<string, Entry>()
      : isObjectWrite && fromSent.size > 0
        ? fromSent
        : decode(input.live)
  const updated = withoutManagedFields(input.updated)
  const isTracked = managers.size > 0 || at(input.live, "metadata", "uid") === undefined
  return withManagers(updated, isTracked ? updateManagers(input, updated, managers, "Update") : managers)
}

const updateManagers = (
  writer: Writer & { readonly live?: unknown },
  updated: JsonObject,
  managers: Managers,
  operation: string
): Managers => {
  const schema = withObjectMeta(writer.schema)
  const changes = compare(withoutManagedFields(writer.live), updated, schema)
  const ignored = (set: FieldSet) => managedOnly(set, writer)
  const taken = ignored(union(changes.added, changes.modified))
  const result = takeFrom(managers, undefined, union(taken, ignored(changes.removed)))
  if (taken.size > 0) {
    const self = {
      manager: writer.manager,
      operation,
      apiVersion: writer.apiVersion,
      subresource: writer.subresource ?? ""
    }
    const id = identityOf(self)
    result.set(id, { ...self, time: writer.now, set: union(taken, result.get(id)?.set ?? EMPTY) })
  }
  return capped(result)
}

/** The manager that owns what was there before the first apply of an object without managed fields. */
const BEFORE_FIRST_APPLY = "before-first-apply"

const initialManagers = (input: ApplyInput, live: JsonObject): Managers => {
  const managers = decode(input.live)
  if (managers.size > 0 || input.live === undefined) return managers
  const writer = { ...input, manager: BEFORE_FIRST_APPLY, live: undefined }
  return updateManagers(writer, live, managers, "Update")
}

/**
 * Applies a configuration; returns the merged object with its managers, or the conflicts.
 *
 * **Details**: a manager named `kubectl` takes over what the annotation of client-side apply says that it applied before, and
 * brings the annotation up to date.
 */
export const apply = (input: ApplyInput): Applied => {
  if (input.manager !== LastApplied.manager) return applyAs(input)
  const result = applyAs(input)
  if ("ok" in result) return { ok: LastApplied.updated(result.ok, input.applied) }
  const schema = withObjectMeta(input.schema)
  const allowed = LastApplied.allowed(input.live, (applied) => {
    // What somebody has changed since is not the client's any more.
    const { added, modified, removed } = compare(applied, withoutManagedFields(input.live), schema)
    return difference(fieldsOf(applied, schema), union(added, modified, removed))
  })
  const conflicts = result.conflicts.filter(({ path }) => intersection(makeSet([path]), allowed).size === 0)
  return conflicts.length > 0 ? { conflicts } : apply({ ...input, force: true })
}

const applyAs = (input: ApplyInput): Applied => {
  const schema = withObjectMeta(input.schema)
  const live = withoutManagedFields(input.live)
  const applied = withoutManagedFields(input.applied)
  const former = initialManagers(input, live)
  const self = {
    manager: input.manager,
    operation: "Apply",
    apiVersion: input.apiVersion,
    subresource: input.subresource ?? ""
  }
  const id = identityOf(self)
  const last = former.get(id)
  const set = managedOnly(fieldsOf(applied, schema), input)

  const managers: Managers = new Map(former)
  managers.set(id, { ...self, time: last?.time, set })
  const merged = prune(objectOf(merge(live, applied, schema)), managers, last?.set ?? EMPTY, schema)

  const changes = compare(live, merged, schema)
  const changed = managedOnly(union(changes.added, changes.modified), input)
  const conflicts = conflictsWith(managers, id, changed)
  if (conflicts.length > 0 && input.force !== true) return { conflicts }

  const others = takeFrom(managers, id, changed)
  const result = takeFrom(others, undefined, managedOnly(changes.removed, input))
  const own = result.get(id)
  // Only a change of the object moves the time; one of the owners alone does not.
  if (own !== undefined && !equal(live, merged)) result.set(id, { ...own, time: input.now })
  return { ok: withManagers(merged, result) }
}

/** Removes what this manager applied before and no longer does, unless somebody else owns it. */
const prune = (merged: JsonObject, managers: Managers, last: FieldSet, schema: Schema): JsonObject => {
  if (last.size === 0) return merged
  const named = (fields: FieldSet) => withNamedParents(fields, schema)
  const fields = (value: unknown) => named(fieldsOf(value, schema))
  // What nobody manages, such as the name, is there in any case.
  const owned = named(union(makeSet(UNMANAGED), ...[...managers.values()].map((entry) => entry.set)))
  const all = fields(merged)

  const pruned = removeFields(merged, named(last), schema)
  const unowned = difference(difference(all, fields(pruned)), owned)
  const withOwned = unowned.size === 0 ? merged : removeFields(merged, unowned, schema)
  const dangling = intersection(difference(all, fields(withOwned)), named(last))
  return dangling.size === 0 ? merged : objectOf(removeFields(merged, dangling, schema))
}

const conflictsWith = (managers: Managers, self: string, changed: FieldSet): ReadonlyArray<Conflict> =>
  [...managers]
    .filter(([id]) => id !== self)
    .flatMap(([, entry]) =>
      [...intersection(entry.set, changed).values()].map((path) => ({
        manager: printManager(entry),
        field: printPath(path),
        path
      }))
    )
    .sort((left, right) => compareText(left.manager, right.manager) || compareText(left.field, right.field))

const printManager = (entry: Entry): string => {
  const name =
    JSON.stringify(entry.manager) +
    (entry.subresource === "" ? "" : ` with subresource ${JSON.stringify(entry.subresource)}`)
  return entry.operation === "Update" ? `${name} using ${entry.apiVersion}` : name
}

/** The `message` of the Status that carries the conflicts. */
export const conflictMessage = (conflicts: ReadonlyArray<Conflict>): string => {
  const managers = [...new Set(conflicts.map((conflict) => conflict.manager))]
  const texts = managers.map((manager) => {
    const fields = conflicts.filter((conflict) => conflict.manager === manager).map((conflict) => conflict.field)
    return conflicts.length === 1
      ? `conflict with ${manager}: ${fields.join("")}`
      : `conflicts with ${manager}:${fields.map((name) => `\n- ${name}`).join("")}`
  })
  const count = conflicts.length === 1 ? "1 conflict" : `${conflicts.length} conflicts`
  return `Apply failed with ${count}: ${texts.join("\n")}`
}
