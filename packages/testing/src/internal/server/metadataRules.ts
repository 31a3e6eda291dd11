/**
 * What the server demands of names, labels, annotations, finalizers and owner references.
 */
import { causes, type Cause } from "./apiError.ts"
import { same, type Meta, type Obj } from "./json.ts"
import type { Resource } from "./resource.ts"

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
const subdomain = `${label}(\\.${label})*`
const subdomainPattern = new RegExp(`^${subdomain}$`, "u")
const labelPattern = new RegExp(`^${label}$`, "u")
const qualifiedPattern = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/u

const qualifiedText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const valueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
const subdomainText = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`
const labelText = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`
const label1035Text =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"

const annotationBytesMax = 256 * 1024

/** Why a name is refused; empty where it is fine. */
const nameFaults = (resource: Resource, name: string): ReadonlyArray<string> => {
  if (resource.group === "rbac.authorization.k8s.io") {
    if (name === "." || name === "..") return [`may not be '${name}'`]
    return ["/", "%"].filter((sign) => name.includes(sign)).map((sign) => `may not contain '${sign}'`)
  }
  if (resource.storage === "services") {
    return [
      ...(/^[a-z]([-a-z0-9]*[a-z0-9])?$/u.test(name) ? [] : [label1035Text]),
      ...(name.length > 63 ? ["must be no more than 63 characters"] : [])
    ]
  }
  if (resource.storage === "namespaces") {
    return [
      ...(labelPattern.test(name) ? [] : [labelText]),
      ...(name.length > 63 ? ["must be no more than 63 characters"] : [])
    ]
  }
  return [
    ...(name.length > 253 ? ["must be no more than 253 characters"] : []),
    ...(subdomainPattern.test(name) ? [] : [subdomainText])
  ]
}

/** Why a qualified name, such as a label's key, is refused. */
const qualifiedFaults = (name: string): ReadonlyArray<string> => {
  const parts = name.split("/")
  const part = parts.at(-1) ?? ""
  const prefix = parts.length === 2 ? parts[0] : undefined
  if (parts.length > 2) {
    return [
      "a valid label key must consist of alphanumeric characters, '-', '_' or '.', with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    ]
  }
  return [
    ...(prefix === undefined || subdomainPattern.test(prefix) ? [] : [`prefix part ${subdomainText}`]),
    ...(part === "" ? ["name part must be non-empty"] : []),
    ...(part.length > 63 ? ["name part must be no more than 63 characters"] : []),
    ...(qualifiedPattern.test(part) ? [] : [qualifiedText])
  ]
}

const labelCauses = (labels: Readonly<Record<string, string>>): ReadonlyArray<Cause> =>
  Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedFaults(key).map((fault) => causes.invalid("metadata.labels", key, fault)),
    ...(value.length > 63 ? [causes.invalid("metadata.labels", value, "must be no more than 63 characters")] : []),
    ...(value === "" || qualifiedPattern.test(value) ? [] : [causes.invalid("metadata.labels", value, valueText)])
  ])

const annotationCauses = (annotations: Readonly<Record<string, string>>): ReadonlyArray<Cause> => {
  const bytes = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0
  )
  return [
    ...Object.keys(annotations).flatMap((key) =>
      qualifiedFaults(key.toLowerCase()).map((fault) => causes.invalid("metadata.annotations", key, fault))
    ),
    ...(bytes > annotationBytesMax ? [causes.tooLong("metadata.annotations", annotationBytesMax)] : [])
  ]
}

const finalizerCauses = (finalizers: ReadonlyArray<string>): ReadonlyArray<Cause> =>
  finalizers.flatMap((finalizer) => {
    const faults = qualifiedFaults(finalizer)
    if (faults.length > 0) return faults.map((fault) => causes.invalid("metadata.finalizers", finalizer, fault))
    return finalizer.includes("/") || finalizer === "orphan" || finalizer === "foregroundDeletion"
      ? []
      : [
          causes.invalid(
            "metadata.finalizers",
            finalizer,
            "name is neither a standard finalizer name nor is it fully qualified"
          )
        ]
  })

const ownerCauses = (meta: Meta): ReadonlyArray<Cause> => {
  const owners = meta.ownerReferences ?? []
  const required = owners.flatMap((owner) =>
    (["apiVersion", "kind", "name", "uid"] as const)
      .filter((field) => typeof owner[field] !== "string" || owner[field] === "")
      .map((field) =>
        causes.invalid(
          `metadata.ownerReferences.${field}`,
          "",
          field === "apiVersion" ? "version must not be empty" : `${field} must not be empty`
        )
      )
  )
  const controllers = owners.filter((owner) => owner["controller"] === true)
  const [first, second] = controllers
  return first === undefined || second === undefined
    ? required
    : [
        ...required,
        causes.invalid(
          "metadata.ownerReferences",
          owners,
          `Only one reference can have Controller set to true. Found "true" in references for ${first.kind}/${first.name} and ${second.kind}/${second.name}`
        )
      ]
}

const commonCauses = (meta: Meta): ReadonlyArray<Cause> => [
  ...labelCauses(meta.labels ?? {}),
  ...annotationCauses(meta.annotations ?? {}),
  ...ownerCauses(meta),
  ...finalizerCauses(meta.finalizers ?? [])
]

/** @internal */
export const metadataCausesOfCreate = (resource: Resource, { metadata }: Obj): ReadonlyArray<Cause> => {
  const named =
    metadata.name === ""
      ? [causes.required("metadata.name", "name or generateName is required")]
      : nameFaults(resource, metadata.name).map((fault) => causes.invalid("metadata.name", metadata.name, fault))
  return [...named, ...commonCauses(metadata)]
}

/** @internal */
export const metadataCausesOfUpdate = (object: Obj, old: Obj): ReadonlyArray<Cause> => {
  const found: Array<Cause> = []
  for (const field of ["uid", "creationTimestamp", "deletionTimestamp"] as const) {
    const value = object.metadata[field]
    if (!same(value, old.metadata[field]))
      found.push(causes.invalid(`metadata.${field}`, value ?? null, "field is immutable"))
  }
  if (old.metadata.deletionTimestamp !== undefined) {
    const added = (object.metadata.finalizers ?? []).filter((one) => !(old.metadata.finalizers ?? []).includes(one))
    if (added.length > 0) {
      found.push(
        causes.forbidden(
          "metadata.finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((one) => `"${one}"`).join(", ")}}`
        )
      )
    }
  }
  return [...found, ...commonCauses(object.metadata)]
}
