/** Field types that the kinds share. Every one has a bound, so that the API server can price the rules over it. */
import * as Conditions from "@berth/kube/Conditions"
import * as Kind from "@berth/kube/Kind"
import * as Manager from "@berth/provisioners/Manager"
import { Schema } from "effect"

export { age, ready, reason } from "@berth/kube/Columns"
export { ObjectName, optional, Span } from "@berth/kube/Kind"

const { described } = Kind

/** Names may be shown: what has one of these shapes is an identifier, which failures' messages take. */
const identifier = Schema.brand("Identifier")

/** What a consumer calls its database: a part of a URL's path as it stands. */
export const ExternalId = Kind.Text(1, 128)
  .check(Schema.isPattern(/^[A-Za-z0-9]([-A-Za-z0-9_.:]*[A-Za-z0-9])?$/u))
  .pipe(identifier)

/** The name of a tenant's database and role, as the provider makes them: nothing of it is the caller's. */
export const TenantName = Kind.Text(22, 22)
  .check(Schema.isPattern(/^t_[a-z0-9]{20}$/u))
  .pipe(identifier)

/** The name of a role or database that people made: 63 bytes, as PostgreSQL counts, of a shape that may be shown. */
export const SqlName = Kind.Text(1, 63)
  .check(Schema.isPattern(/^[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?$/u))
  .pipe(identifier)

/** A DNS name or an IP address. */
export const Host = Kind.Text(1, 253)
  .check(Schema.isPattern(/^[A-Za-z0-9]([-A-Za-z0-9.:]*[A-Za-z0-9])?$/u))
  .pipe(identifier)

/** A reference to one key of a Secret in the release namespace: whoever may write these kinds can reach no other Secret. */
export const SecretKeyRef = Schema.Struct({
  name: Kind.ObjectName.pipe(described("The name of the Secret, in the release namespace.")),
  key: Kind.Text(1, 253)
    .check(Schema.isPattern(/^[-._a-zA-Z0-9]+$/u))
    .pipe(described("Which of its keys."))
})

export const ObjectRef = (what: string) =>
  Schema.Struct({
    name: Kind.ObjectName.pipe(described(`The name of the ${what}.`)),
    uid: Kind.Uid.pipe(described("Its UID: another object of this name is not this one."))
  })

const labelKey = "^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"

const isLabelKey = (key: string): boolean => new RegExp(labelKey, "u").test(key)

/** What the rule of {@link Labels} says: the API server enforces that one, and this one whoever decodes. */
export const labelKeys = Schema.makeFilter<Readonly<Record<string, string>>>(
  (labels) => Object.keys(labels).every(isLabelKey),
  { expected: "keys that are those of labels", toJsonSchema: () => [{ propertyNames: { pattern: labelKey } }, true] }
)

export const labelValue = Kind.Text(0, 63).check(Schema.isPattern(/^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/u))

/** Labels, of which there are few: they are compared for every placement. */
export const Labels = Schema.Record(Schema.String, labelValue)
  .check(Schema.isMaxProperties(16))
  .pipe(
    Kind.rule({
      rule: `self.all(key, key.matches('${labelKey}'))`,
      message: "every key must be one of a label"
    })
  )

export const Selector = Schema.Struct({
  matchLabels: Labels.pipe(described("Labels that a shard must have, all of them."), Kind.withDefault({}))
})

/** The part of a status that every kind has. */
export const statusFields = {
  ...Manager.statusFields,
  conditions: Conditions.schema.pipe(
    described("What is true of the object now. Ready sums it up."),
    Kind.withDefault([])
  )
}

export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
