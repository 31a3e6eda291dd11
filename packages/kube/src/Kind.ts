/** A kind: one schema gives the type, the codec and the CRD. */
import { Effect, Schema, SchemaIssue } from "effect"
import { Identifier } from "./Identifier.ts"
import * as structural from "./internal/structural.ts"
import type { KubeObject } from "./KubeObject.ts"
import type { ResourceType } from "./ResourceType.ts"

// --- Annotations. All go to the encoded side, where they survive transformations and defaults.

type Annotate = <S extends Schema.Top>(self: S) => S["Rebuild"]
const annotate =
  (annotations: Record<string, unknown>): Annotate =>
  (self) =>
    Schema.annotateEncoded(annotations)(self)

/** Documents the field, in the CRD and in the reference. */
export const described = (description: string): Annotate => annotate({ description })

/** One default for both sides: the API server writes it, and the decoder supplies it to older objects. */
export const withDefault =
  <S extends Schema.Top>(value: S["Encoded"]) =>
  (self: S): Schema.withDecodingDefaultKey<S["Rebuild"]> =>
    Schema.withDecodingDefaultKey<S["Rebuild"]>(Effect.succeed(value))(
      annotate({ default: structural.json(value) })(self)
    )

export interface Rule {
  readonly rule: string
  readonly message: string
  readonly fieldPath?: string
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate"
}
/** Adds a CEL rule; the API server enforces it, the decoder does not. */
export const rule =
  (added: Rule): Annotate =>
  (self) => {
    const before = Schema.resolveAnnotations(Schema.toEncoded(self))?.["x-kubernetes-validations"]
    return annotate({ "x-kubernetes-validations": [...(Array.isArray(before) ? before : []), added] })(self)
  }
export const immutable: Annotate = rule({ rule: "self == oldSelf", message: "cannot be changed" })

/** A list merged by these keys of its items. */
export const listMap =
  <const K extends string>(...keys: readonly [K, ...Array<K>]) =>
  <S extends Schema.Top & { readonly Encoded: ReadonlyArray<{ readonly [P in K]: unknown }> }>(self: S): S["Rebuild"] =>
    annotate({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys })(self)
/** A list of distinct scalars. */
export const listSet = <S extends Schema.Top & { readonly Encoded: ReadonlyArray<string | number> }>(
  self: S
): S["Rebuild"] => annotate({ "x-kubernetes-list-type": "set" })(self)

/** Of these optional fields exactly one is there. `which` reads it. */
export const exactlyOne =
  <const K extends string>(...keys: ReadonlyArray<K>) =>
  <S extends Schema.Top & { readonly Type: { readonly [P in K]?: unknown } }>(self: S): S["Rebuild"] =>
    rule({
      rule: `[${keys.map((key) => `has(self.${key})`).join(", ")}].filter(x, x).size() == 1`,
      message: `exactly one of ${keys.join(", ")} is required`
    })(self)
export type Variant<T, K extends keyof T> = {
  [P in K]: { readonly key: P; readonly value: Exclude<T[P], undefined> }
}[K]
export const which: <T extends object, const K extends keyof T>(
  self: T,
  ...keys: ReadonlyArray<K>
) => Variant<T, K> | undefined = structural.which

// --- Field types that Effect's own would not encode as Kubernetes does

/** RFC 3339. */
export const Time = Schema.DateTimeUtcFromString.pipe(Schema.annotateEncoded({ format: "date-time" }))
export const IntOrString = Schema.Union([Schema.Int, Schema.String])
/** An object that this library only passes through. */
export const Opaque = Schema.Record(Schema.String, Schema.Unknown).annotate({
  "x-kubernetes-preserve-unknown-fields": true
})
/** At least `min` and at most `max` characters; Effect's isMinLength counts UTF-16 units and is emitted halved. */
export const Text = (min: number, max: number) =>
  Schema.String.check(Schema.isMinCodePoints(min), Schema.isMaxCodePoints(max))
export const Port = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65535 }))

// --- Kinds

const Metadata = Schema.Struct({
  name: Identifier,
  namespace: Schema.optionalKey(Identifier),
  uid: Identifier,
  resourceVersion: Schema.String,
  generation: Schema.Int.pipe(withDefault(0)),
  creationTimestamp: Schema.optionalKey(Time),
  deletionTimestamp: Schema.optionalKey(Time),
  labels: Schema.Record(Schema.String, Schema.String).pipe(withDefault({})),
  annotations: Schema.Record(Schema.String, Schema.String).pipe(withDefault({})),
  finalizers: Schema.Array(Schema.String).pipe(withDefault([]))
})
export interface Metadata extends Schema.Schema.Type<typeof Metadata> {}

/** The parts are decoded one by one: the type of a Struct over a type parameter does not resolve. */
const envelope = Schema.Struct({
  apiVersion: Schema.String,
  kind: Schema.String,
  metadata: Schema.toCodecJson(Metadata),
  spec: Schema.Unknown,
  status: Schema.optionalKey(Schema.Unknown)
})
const decodeNothing = Schema.decodeUnknownEffect(Schema.Never)
const under = <A>(key: string, part: Effect.Effect<A, Schema.SchemaError>) =>
  Effect.mapError(part, ({ issue }) => new Schema.SchemaError(new SchemaIssue.Pointer([key], issue)))

/** An object as decoded: a view for reading. Writes are patches, since decoding strips what the schema does not know. */
export interface Resource<A extends string, K extends string, Spec, Status> {
  readonly apiVersion: A
  readonly kind: K
  readonly metadata: Metadata
  readonly spec: Spec
  readonly status?: Status
}
type AnySchema = Schema.ConstraintCodec<object, unknown>
export interface Options<
  G extends string,
  V extends string,
  K extends string,
  Spec extends AnySchema,
  Status extends AnySchema
> {
  readonly group: G
  readonly version: V
  readonly kind: K
  readonly scope: "Namespaced" | "Cluster"
  readonly plural?: string
  readonly shortNames?: ReadonlyArray<string>
  readonly categories?: ReadonlyArray<string>
  readonly spec: Spec
  readonly status: Status
  readonly columns?: ReadonlyArray<{
    readonly name: string
    readonly path: string
    readonly type?: "string" | "integer" | "date" | "boolean"
    readonly priority?: number
  }>
}
export interface Kind<
  G extends string,
  V extends string,
  K extends string,
  Spec extends AnySchema,
  Status extends AnySchema
>
  extends Options<G, V, K, Spec, Status>, ResourceType<Raw<Spec["Encoded"], Status["Encoded"]>> {
  readonly group: G
  readonly version: V
  readonly kind: K
  readonly scope: "Namespaced" | "Cluster"
  readonly apiVersion: `${G}/${V}`
  readonly plural: string
  readonly decode: (
    object: unknown
  ) => Effect.Effect<Resource<`${G}/${V}`, K, Spec["Type"], Status["Type"]>, Schema.SchemaError>
  /** As the API server wants it in an apply patch. */
  readonly encodeSpec: (spec: Spec["Type"]) => Effect.Effect<Schema.Json, Schema.SchemaError>
  readonly encodeStatus: (status: Status["Type"]) => Effect.Effect<Schema.Json, Schema.SchemaError>
}
/** An object as the API server sends it, typed by the encoded side of the schemas. */
export interface Raw<Spec, Status> extends KubeObject {
  readonly spec: Spec
  readonly status?: Status
}
/** Any kind, as far as describing it goes: without the encoders, which are contravariant. */
export interface Declared extends Options<string, string, string, AnySchema, AnySchema> {
  readonly apiVersion: string
  readonly plural: string
}
export type Object<K> = K extends { readonly decode: (object: unknown) => Effect.Effect<infer O, Schema.SchemaError> }
  ? O
  : never
export type Spec<K> = Object<K> extends { readonly spec: infer S } ? S : never
export type Status<K> = K extends { readonly status: { readonly Type: infer S } } ? S : never

export const make = <
  const G extends string,
  const V extends string,
  const K extends string,
  Spec extends AnySchema,
  Status extends AnySchema
>(
  options: Options<G, V, K, Spec, Status>
): Kind<G, V, K, Spec, Status> => {
  const apiVersion: `${G}/${V}` = `${options.group}/${options.version}`
  const spec = Schema.toCodecJson(options.spec)
  const status = Schema.toCodecJson(options.status)
  const decodeEnvelope = Schema.decodeUnknownEffect(envelope, { errors: "all" })
  const decodeSpec = Schema.decodeUnknownEffect(spec, { errors: "all" })
  const decodeStatus = Schema.decodeUnknownEffect(status, { errors: "all" })
  const decode = Effect.fnUntraced(function* (object: unknown) {
    const outer = yield* decodeEnvelope(object)
    if (outer.apiVersion !== apiVersion || outer.kind !== options.kind)
      return yield* under("kind", decodeNothing(outer.kind))
    const decoded = {
      apiVersion,
      kind: options.kind,
      metadata: outer.metadata,
      spec: yield* under("spec", decodeSpec(outer.spec))
    }
    return outer.status === undefined
      ? decoded
      : { ...decoded, status: yield* under("status", decodeStatus(outer.status)) }
  })
  return {
    plural: `${options.kind.toLowerCase()}s`,
    ...options,
    apiVersion,
    decode,
    encodeSpec: Schema.encodeEffect(spec),
    encodeStatus: Schema.encodeEffect(status)
  }
}

/** The CustomResourceDefinition. Dies with the path of whatever a structural schema cannot say. */
export const crd = (kind: Declared): Schema.Json => structural.definition(kind)
