/** Field types that several kinds share. Every one has a bound, so that the API server can price the rules over it. */
import * as Kind from "@berth/kube/Kind"
import { Schema } from "effect"

export { age, ready, reason } from "@berth/kube/Columns"
export { ObjectName, optional, Span, Uid } from "@berth/kube/Kind"

/** Names may be shown: what has one of these shapes is an identifier, which failures' messages take. */
const identifier = Schema.brand("Identifier")

/** The name of a namespace, a component or anything else that must be a DNS label. */
export const Label = Kind.Text(1, 63)
  .check(Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u))
  .pipe(identifier)

/** A key of a Secret. */
export const DataKey = Kind.Text(1, 253).check(Schema.isPattern(/^[-._a-zA-Z0-9]+$/u))

/** A short text for people and programs, in one line. */
export const Line = (max: number) => Kind.Text(1, max).check(Schema.isPattern(/^[^\r\n]*$/u))

/** The source of a template, or text without any action in it. */
export const TemplateText = Kind.Text(0, 65_536)

export const LocalRef = (what: string) =>
  Schema.Struct({ name: Kind.ObjectName.pipe(Kind.described(`The name of the ${what}, in the same namespace.`)) })

export const SecretRef = Schema.Struct({ name: Kind.ObjectName.pipe(Kind.described("The name of the Secret.")) })

export const SecretKeyRef = Schema.Struct({
  name: Kind.ObjectName.pipe(Kind.described("The name of the Secret.")),
  key: DataKey.pipe(Kind.described("Which of its keys."))
})

/** Says in CEL that every key of a map has a shape; a structural schema cannot. */
const keysMatch = (pattern: string, what: string) =>
  Kind.rule({ rule: `self.all(key, key.matches('${pattern}'))`, message: `every key must be ${what}` })

/** A map whose keys are those of a Secret. */
export const DataMap = <S extends Schema.Top>(value: S, max: number) =>
  Schema.Record(Schema.String, value)
    .check(Schema.isMaxProperties(max))
    .pipe(keysMatch("^[-._a-zA-Z0-9]{1,253}$", "the name of a Secret's key"))

/** A map whose keys are names of environment variables. */
export const VariableMap = <S extends Schema.Top>(value: S, max: number) =>
  Schema.Record(Schema.String, value)
    .check(Schema.isMaxProperties(max))
    .pipe(keysMatch("^[a-zA-Z_][a-zA-Z0-9_]{0,252}$", "the name of an environment variable"))

/** A map whose keys are names of components. */
export const ComponentMap = <S extends Schema.Top>(value: S, max: number) =>
  Schema.Record(Schema.String, value)
    .check(Schema.isMaxProperties(max))
    .pipe(keysMatch("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", "the name of a component"))

/** The column that says whether somebody has paused an object. */
export const paused = { name: "Paused", path: ".status.conditions[?(@.type=='Paused')].status" } as const
