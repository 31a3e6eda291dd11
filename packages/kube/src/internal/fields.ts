/** What the fields of a kind are made of. Annotations go to the encoded side, where they survive transformations and defaults. */
import { DateTime, Duration, Effect, Schema, SchemaTransformation } from "effect"
import { saidElsewhere } from "./structuralAudit.ts"
import { isNode, json, unbounded as mark } from "./structuralNode.ts"

/**
 * Adds to a schema without changing its type.
 *
 * @category models
 * @since 0.1.0
 */
export type Annotate = <S extends Schema.Top>(self: S) => S["Rebuild"]

const annotate =
  (annotations: Record<string, unknown>): Annotate =>
  (self) =>
    Schema.annotateEncoded(annotations)(self)

/** What the API server checks by a keyword or a rule, the codec checks too, so that it never encodes what is refused. */
const alsoHere = <T>(accepts: (value: T) => boolean, expected: string) =>
  Schema.makeFilter<T>(accepts, {
    expected,
    representation: { id: saidElsewhere, payload: null },
    toJsonSchema: () => [{}, true]
  })

/**
 * Documents a field, in the CRD and so in `kubectl explain`.
 *
 * @category annotations
 * @since 0.1.0
 */
export const described = (description: string): Annotate => annotate({ description })

/**
 * Documents a field that may be left out.
 *
 * @category annotations
 * @since 0.1.0
 */
export const optional = <S extends Schema.Top>(description: string, schema: S) =>
  Schema.optionalKey(described(description)(schema))

/**
 * One default for both sides: the API server writes it, and the decoder supplies it to objects that are older than it.
 *
 * @category annotations
 * @since 0.1.0
 */
export const withDefault =
  <S extends Schema.Top>(value: S["Encoded"]) =>
  (self: S): Schema.withDecodingDefaultKey<S["Rebuild"]> =>
    Schema.withDecodingDefaultKey<S["Rebuild"]>(Effect.succeed(value))(
      annotate({ default: json(value, ["default"]) })(self)
    )

/**
 * Says on purpose that a list, map or string has no bound.
 *
 * **Caveats**: the API server takes it for megabytes when it estimates what CEL rules cost, and refuses the CRD where such a rule
 * could cost too much.
 *
 * @category annotations
 * @since 0.1.0
 */
export const unbounded: Annotate = annotate({ [mark]: true })

/**
 * A rule in CEL, as the API server takes it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rule {
  readonly rule: string
  readonly message: string
  readonly fieldPath?: string
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate"
}

/**
 * Adds a rule in CEL. The API server enforces it, the codec does not.
 *
 * @category annotations
 * @since 0.1.0
 */
export const rule =
  (added: Rule): Annotate =>
  (self) => {
    const before = Schema.resolveAnnotations(Schema.toEncoded(self))?.["x-kubernetes-validations"]
    return annotate({ "x-kubernetes-validations": [...(Array.isArray(before) ? before : []), added] })(self)
  }

/**
 * A field that keeps the value with which it was created.
 *
 * **Caveats**: an optional field may still be added and removed: put the rule on the object around it to refuse that.
 *
 * @category annotations
 * @since 0.1.0
 */
export const immutable: Annotate = rule({ rule: "self == oldSelf", message: "cannot be changed" })

const keyOf = (item: unknown, keys: ReadonlyArray<string>) =>
  JSON.stringify(isNode(item) ? keys.map((key) => item[key] ?? null) : item)

const distinct = (items: ReadonlyArray<unknown>, keys: ReadonlyArray<string>) =>
  new Set(items.map((item) => keyOf(item, keys))).size === items.length

/**
 * A list that is merged by these keys of its items, of which no two items have the same.
 *
 * @category annotations
 * @since 0.1.0
 */
export const listMap =
  <const K extends string>(...keys: readonly [K, ...Array<K>]) =>
  <
    S extends Schema.Top & {
      readonly Encoded: ReadonlyArray<{ readonly [P in K]?: unknown }>
      readonly Type: ReadonlyArray<unknown>
    }
  >(
    self: S
  ): S["Rebuild"] =>
    annotate({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys })(
      self.check(alsoHere((items) => distinct(items, keys), `items with distinct ${keys.join(", ")}`))
    )

/**
 * A list of distinct scalars, merged by value.
 *
 * @category annotations
 * @since 0.1.0
 */
export const listSet = <
  S extends Schema.Top & { readonly Encoded: ReadonlyArray<string | number>; readonly Type: ReadonlyArray<unknown> }
>(
  self: S
): S["Rebuild"] =>
  annotate({ "x-kubernetes-list-type": "set" })(
    self.check(alsoHere((items) => new Set(items).size === items.length, "distinct items"))
  )

/**
 * Of these optional fields exactly one is there. {@link which} reads it.
 *
 * @category annotations
 * @since 0.1.0
 */
export const exactlyOne =
  <const K extends string>(...keys: ReadonlyArray<K>) =>
  <S extends Schema.Top & { readonly Type: { readonly [P in K]?: unknown } }>(self: S): S["Rebuild"] => {
    const message = `exactly one of ${keys.join(", ")} is required`
    const present = (value: S["Type"]) => keys.filter((key) => value[key] !== undefined).length
    return rule({ rule: `[${keys.map((key) => `has(self.${key})`).join(", ")}].filter(x, x).size() == 1`, message })(
      self.check(alsoHere((value: S["Type"]) => present(value) === 1, message))
    )
  }

/**
 * The field that is there, by its name.
 *
 * @category models
 * @since 0.1.0
 */
export type Variant<T, K extends keyof T> = {
  [P in K]: { readonly key: P; readonly value: Exclude<T[P], undefined> }
}[K]

/**
 * Which of these fields is there: the first one, if several are.
 *
 * @category getters
 * @since 0.1.0
 */
export const which = <T extends object, const K extends keyof T>(
  self: T,
  ...keys: ReadonlyArray<K>
): Variant<T, K> | undefined => {
  const key = keys.find((each) => self[each] !== undefined)
  return key === undefined ? undefined : ({ key, value: self[key] } as Variant<T, K>)
}

/** Of what the API server takes for a date-time, JavaScript cannot read a comma, or an offset of a day or of 60 minutes. */
const rfc3339 =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$/u

/** Accepts every time: years of five digits are refused as text. It only keeps generated times within four. */
const fourDigits = Schema.makeFilter<DateTime.Utc>(() => true, {
  representation: { id: saidElsewhere, payload: null },
  toJsonSchema: () => [{}, true],
  arbitraryConstraint: {
    order: DateTime.Order,
    minimum: DateTime.makeUnsafe("0001-01-01T00:00:00Z"),
    maximum: DateTime.makeUnsafe("9999-12-31T00:00:00Z")
  }
})

/** Kubernetes writes whole seconds without a fraction, and so does everything here. */
const withoutZeros = SchemaTransformation.transform<string, string>({
  decode: (text) => text,
  encode: (text) => text.replace(".000Z", "Z")
})

/**
 * A time in RFC 3339, to the millisecond: further digits are read and dropped. A whole second is written without a fraction.
 *
 * @category fields
 * @since 0.1.0
 */
export const Time = Schema.String.check(Schema.isPattern(rfc3339)).pipe(
  Schema.decodeTo(Schema.String, withoutZeros),
  Schema.decodeTo(Schema.DateTimeUtc.check(fourDigits), SchemaTransformation.dateTimeUtcFromString),
  Schema.annotateEncoded({ format: "date-time" })
)

/**
 * Text of at least `min` and at most `max` characters (code points, as the API server counts them).
 *
 * @category fields
 * @since 0.1.0
 */
export const Text = (min: number, max: number) =>
  Schema.String.check(Schema.isMinCodePoints(min), Schema.isMaxCodePoints(max))

/** Names may be shown: what has one of these shapes is an identifier, which failures' messages take. */
const identifier = Schema.brand("Identifier")

/**
 * The name of an object, as the API server takes it: a DNS subdomain of at most 253 characters.
 *
 * @category fields
 * @since 0.1.0
 */
export const ObjectName = Text(1, 253)
  .check(Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u))
  .pipe(identifier)

/**
 * The UID of an object: at most 128 characters.
 *
 * @category fields
 * @since 0.1.0
 */
export const Uid = Text(1, 128)
  .check(Schema.isPattern(/^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$/u))
  .pipe(identifier)

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

/**
 * A length of time such as `36h` or `1d12h`, as people write it in manifests; in days, hours, minutes and seconds. It is written in
 * seconds, rounded up.
 *
 * @category fields
 * @since 0.1.0
 */
export const Span = Text(2, 32)
  .check(Schema.isPattern(/^(?:[0-9]{1,9}(?:d|h|m|s))+$/u))
  .pipe(
    Schema.decodeTo(
      Schema.Duration,
      SchemaTransformation.transform({
        decode: spanFrom,
        encode: (duration) => `${Math.max(0, Math.ceil(Duration.toSeconds(duration)))}s`
      })
    )
  )

/**
 * A port: 1 to 65535.
 *
 * @category fields
 * @since 0.1.0
 */
export const Port = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65535 }))

/**
 * A number or a name, as a Service's `targetPort` is; text of at most 253 characters.
 *
 * @category fields
 * @since 0.1.0
 */
export const IntOrString = Schema.Union([Schema.Int, Schema.String.check(Schema.isMaxCodePoints(253))])

/**
 * An object that is only passed through: any fields, no bound.
 *
 * @category fields
 * @since 0.1.0
 */
export const Opaque = Schema.Record(Schema.String, Schema.Unknown).annotate({
  "x-kubernetes-preserve-unknown-fields": true
})
