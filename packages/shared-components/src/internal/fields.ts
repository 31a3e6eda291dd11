/** Field types that several kinds share. Every one has a bound, so that the API server can price the rules over it. */
import * as Kind from "@berth/kube/Kind"
import { Duration, Schema, SchemaTransformation } from "effect"

const { optionalKey } = Schema

/** Documents a field that may be left out. */
export const optional = <S extends Schema.Top>(text: string, schema: S) => optionalKey(Kind.described(text)(schema))

/** Names may be shown: what has one of these shapes is an identifier, which failures' messages take. */
const identifier = Schema.brand("Identifier")

/** The name of an object, as the API server takes it. */
export const ObjectName = Kind.Text(1, 253)
  .check(Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u))
  .pipe(identifier)

/** The name of a namespace, a component or anything else that must be a DNS label. */
export const Label = Kind.Text(1, 63)
  .check(Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u))
  .pipe(identifier)

export const Uid = Kind.Text(1, 128)
  .check(Schema.isPattern(/^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$/u))
  .pipe(identifier)

/** A key of a Secret. */
export const DataKey = Kind.Text(1, 253).check(Schema.isPattern(/^[-._a-zA-Z0-9]+$/u))

/** A short text for people and programs, in one line. */
export const Line = (max: number) => Kind.Text(1, max).check(Schema.isPattern(/^[^\r\n]*$/u))

/** The source of a template, or text without any action in it. */
export const TemplateText = Kind.Text(0, 65_536)

const spanShape = /^(?:[0-9]{1,9}(?:d|h|m|s))+$/u
const unitSeconds: ReadonlyMap<string, number> = new Map([
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1]
])

const spanFrom = (text: string): Duration.Duration =>
  Duration.seconds(
    [...text.matchAll(/([0-9]+)([dhms])/gu)].reduce(
      (sum, [, count, unit]) => sum + Number(count) * (unitSeconds.get(unit ?? "") ?? 0),
      0
    )
  )

/** A length of time such as `36h` or `1d12h`, as people write it in manifests. */
export const Span = Kind.Text(2, 32)
  .check(Schema.isPattern(spanShape))
  .pipe(
    Schema.decodeTo(
      Schema.Duration,
      SchemaTransformation.transform({
        decode: spanFrom,
        encode: (duration) => `${Math.max(0, Math.ceil(Duration.toSeconds(duration)))}s`
      })
    )
  )

export const LocalRef = (what: string) =>
  Schema.Struct({ name: ObjectName.pipe(Kind.described(`The name of the ${what}, in the same namespace.`)) })

export const SecretRef = Schema.Struct({ name: ObjectName.pipe(Kind.described("The name of the Secret.")) })

export const SecretKeyRef = Schema.Struct({
  name: ObjectName.pipe(Kind.described("The name of the Secret.")),
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

/** The column that every kind ends with. */
export const age = { name: "Age", path: ".metadata.creationTimestamp", type: "date" } as const

/** The column that says whether an object is ready. */
export const ready = { name: "Ready", path: ".status.conditions[?(@.type=='Ready')].status" } as const

/** The column that says whether somebody has paused an object. */
export const paused = { name: "Paused", path: ".status.conditions[?(@.type=='Paused')].status" } as const

/** Why it is not, shown by `kubectl get -o wide`. */
export const reason = {
  name: "Reason",
  path: ".status.conditions[?(@.type=='Ready')].reason",
  priority: 1
} as const
