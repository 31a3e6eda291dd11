/**
 * Which names of a CustomResourceDefinition are accepted: those that no other definition of its group has.
 */
import type { Api } from "./api.ts"
import { definitions } from "./definitionStatus.ts"
import { at, fields, list, text, type Fields, type Obj } from "./json.ts"

/** @internal */
export interface Naming {
  readonly accepted: Fields
  /** The last conflict that was found; undefined where there is none. */
  readonly conflict: { readonly reason: string; readonly message: string } | undefined
}

/** The definitions of the same group, without this one. @internal */
export const siblings = (api: Api, crd: Obj): ReadonlyArray<Obj> => {
  const group = at(crd, "spec", "group")
  return api.store
    .all(definitions)
    .filter((other) => other.metadata.name !== crd.metadata.name && at(other, "spec", "group") === group)
}

/** @internal */
export const naming = (api: Api, crd: Obj): Naming => {
  const taken = siblings(api, crd).map((other) => fields(at(other, "status", "acceptedNames")))
  const resources = new Set(
    taken.flatMap((names) => [text(names["plural"]), text(names["singular"]), ...list(names["shortNames"]).map(text)])
  )
  const kinds = new Set(taken.flatMap((names) => [text(names["kind"]), text(names["listKind"])]))
  const asked = fields(at(crd, "spec", "names"))
  const before = fields(at(crd, "status", "acceptedNames"))
  let conflict: Naming["conflict"]
  const free = (name: string, among: ReadonlySet<string>, reason: string): boolean => {
    if (!among.has(name) || name === "") return true
    conflict = { reason, message: `${JSON.stringify(name)} is already in use` }
    return false
  }
  const one = (key: string, among: ReadonlySet<string>, reason: string): unknown =>
    free(text(asked[key]), among, reason) ? asked[key] : before[key]
  const plural = one("plural", resources, "PluralConflict")
  const singular = one("singular", resources, "SingularConflict")
  const shortNames = list(asked["shortNames"]).map(text)
  const accepted = shortNames.filter((name) => free(name, resources, "ShortNamesConflict"))
  const kind = one("kind", kinds, "KindConflict") ?? ""
  const listKind = one("listKind", kinds, "ListKindConflict")
  return {
    conflict,
    accepted: {
      ...asked,
      plural,
      singular,
      kind,
      listKind,
      ...(accepted.length === shortNames.length ? {} : { shortNames: before["shortNames"] })
    }
  }
}
