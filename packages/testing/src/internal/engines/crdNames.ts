/**
 * Checks the names and versions of a CustomResourceDefinition.
 *
 * @since 0.1.0
 */
import { type Cause, invalid, notSupported, required } from "./causes.ts"
import { arrayOf, at, type JsonObject, stringOf } from "./json.ts"
import { validateLabel1035, validateSubdomain } from "./names.ts"

/** What is wrong with the names, the group, the scope and the list of versions. */
export const checkNames = (crd: JsonObject): ReadonlyArray<Cause> => {
  const text = (...path: ReadonlyArray<string>) => stringOf(at(crd, ...path))
  const group = text("spec", "group")
  const plural = text("spec", "names", "plural")
  const scope = text("spec", "scope")
  const causes: Array<Cause> = []
  const name = text("metadata", "name")
  if (name !== `${plural}.${group}`) {
    causes.push(invalid("metadata.name", name, `must be spec.names.plural+"."+spec.group`))
  }
  if (group === "") causes.push(required("spec.group"))
  else if (!group.includes(".")) causes.push(invalid("spec.group", group, "should be a domain with at least one dot"))
  else causes.push(...validateSubdomain(group).map((why) => invalid("spec.group", group, why)))
  if (scope === "") causes.push(required("spec.scope"))
  else if (scope !== "Namespaced" && scope !== "Cluster") {
    causes.push(notSupported("spec.scope", scope, ["Cluster", "Namespaced"]))
  }
  return [...causes, ...checkAccepted(text), ...checkVersions(crd)]
}

const checkAccepted = (text: (...path: ReadonlyArray<string>) => string): ReadonlyArray<Cause> => {
  const plural = text("spec", "names", "plural")
  const kind = text("spec", "names", "kind")
  const why = (name: string, field: string) =>
    name === "" ? [required(field)] : validateLabel1035(name).map((wrong) => invalid(field, name, wrong))
  return [
    ...why(plural, "spec.names.plural"),
    ...(kind === "" ? [required("spec.names.kind")] : why(kind.toLowerCase(), "spec.names.kind"))
  ]
}

const checkVersions = (crd: JsonObject): ReadonlyArray<Cause> => {
  const versions = arrayOf(at(crd, "spec", "versions"))
  const names = versions.map((version) => stringOf(at(version, "name")))
  const causes: Array<Cause> = []
  if (new Set(names).size < names.length) {
    causes.push(invalid("spec.versions", names, "must contain unique version names"))
  }
  if (versions.filter((version) => at(version, "storage") === true).length !== 1) {
    causes.push(invalid("spec.versions", names, "must have exactly one version marked as storage version"))
  }
  return [
    ...causes,
    // The first one is told of under the name that it had in older definitions as well.
    ...names.slice(0, 1).flatMap((name) => validateLabel1035(name).map((why) => invalid("spec.version", name, why))),
    ...names.flatMap((name, index) =>
      validateLabel1035(name).map((why) => invalid(`spec.versions[${index}].name`, name, why))
    )
  ]
}
