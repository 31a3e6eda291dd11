/**
 * A kind of object: one schema gives the type, the codec and the CustomResourceDefinition.
 *
 * **Guarantees**
 * - K1: decoding gives a view for reading. What the schema does not know is not in the view, so writes are patches or applies of
 *   encoded parts, never a decoded object that is written back.
 * - K28: an object of a kind in several versions keeps every field, whichever version it is written through.
 * - K24: what the CRD accepts `decode` decodes, and what the encoders encode it accepts.
 *
 * @since 0.1.0
 */
import { Effect, Schema, SchemaIssue } from "effect"
import * as Crd from "./Crd.ts"
import { Identifier } from "./Identifier.ts"
import { Time, withDefault } from "./internal/fields.ts"
import type { KubeObject } from "./KubeObject.ts"
import type { ResourceType, Scope } from "./ResourceType.ts"

export {
  type Annotate,
  described,
  exactlyOne,
  immutable,
  IntOrString,
  listMap,
  listSet,
  ObjectName,
  Opaque,
  optional,
  Port,
  type Rule,
  rule,
  Span,
  Text,
  Time,
  Uid,
  unbounded,
  type Variant,
  which,
  withDefault
} from "./internal/fields.ts"

const Strings = Schema.Record(Schema.String, Schema.String)

const Owner = Schema.Struct({
  apiVersion: Schema.String,
  kind: Schema.String,
  name: Schema.String,
  uid: Schema.String,
  controller: Schema.optionalKey(Schema.Boolean),
  blockOwnerDeletion: Schema.optionalKey(Schema.Boolean)
})

const MetadataSchema = Schema.Struct({
  name: Identifier,
  namespace: Schema.optionalKey(Identifier),
  uid: Identifier,
  resourceVersion: Schema.String,
  generation: Schema.Int.pipe(withDefault(0)),
  creationTimestamp: Schema.optionalKey(Time),
  deletionTimestamp: Schema.optionalKey(Time),
  labels: Strings.pipe(withDefault({})),
  annotations: Strings.pipe(withDefault({})),
  finalizers: Schema.Array(Schema.String).pipe(withDefault([])),
  ownerReferences: Schema.Array(Owner).pipe(withDefault([]))
})

/**
 * What an object says about itself, decoded. Absent labels, annotations, finalizers and owners are empty.
 *
 * @category models
 * @since 0.1.0
 */
export interface Metadata extends Schema.Schema.Type<typeof MetadataSchema> {}

/**
 * An object as decoded: a view for reading.
 *
 * @category models
 * @since 0.1.0
 */
export interface Resource<A extends string, K extends string, Spec, Status> {
  readonly apiVersion: A
  readonly kind: K
  readonly metadata: Metadata
  readonly spec: Spec
  readonly status?: Status
}

/**
 * An object as the API server sends it, typed by the encoded side of the schemas.
 *
 * @category models
 * @since 0.1.0
 */
export interface RawObject<Spec, Status> extends KubeObject {
  readonly spec: Spec
  readonly status?: Status
}

/** Needs no services, and decodes to an object. */
type AnySchema = Schema.ConstraintCodec<object, unknown>

/**
 * What a kind is made of. `plural` is the kind in lower case with an `s`, unless given.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<
  G extends string,
  V extends string,
  K extends string,
  Spec extends AnySchema,
  Status extends AnySchema
> extends Omit<Crd.Definition, "plural"> {
  readonly group: G
  readonly version: V
  readonly kind: K
  readonly scope: Scope
  readonly plural?: string
  readonly spec: Spec
  readonly status: Status
}

/**
 * A kind. It is a resource type too: the client reads and writes its objects, raw.
 *
 * @category models
 * @since 0.1.0
 */
export interface Kind<
  G extends string,
  V extends string,
  K extends string,
  Spec extends AnySchema,
  Status extends AnySchema
>
  extends Options<G, V, K, Spec, Status>, ResourceType<RawObject<Spec["Encoded"], Status["Encoded"]>> {
  readonly group: G
  readonly version: V
  readonly kind: K
  readonly scope: Scope
  readonly plural: string
  readonly apiVersion: `${G}/${V}`
  /** The view of an object of this kind and version; fails with the path of what is wrong. */
  readonly decode: (
    object: unknown
  ) => Effect.Effect<Resource<`${G}/${V}`, K, Spec["Type"], Status["Type"]>, Schema.SchemaError>
  /** As the API server wants it. */
  readonly encodeSpec: (spec: Spec["Type"]) => Effect.Effect<Spec["Encoded"], Schema.SchemaError>
  /** As the API server wants it. */
  readonly encodeStatus: (status: Status["Type"]) => Effect.Effect<Status["Encoded"], Schema.SchemaError>
}

/**
 * Any kind, as far as describing it goes: without the encoders, which are contravariant.
 *
 * @category models
 * @since 0.1.0
 */
export interface Declared extends Crd.Definition {
  readonly apiVersion: string
}

/**
 * The decoded objects of a kind.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Object<K> = K extends { readonly decode: (object: unknown) => Effect.Effect<infer O, Schema.SchemaError> }
  ? O
  : never

/**
 * The raw objects of a kind.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Raw<K> = K extends ResourceType<infer O> ? O : never

/**
 * The decoded spec of a kind.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Spec<K> = Object<K> extends { readonly spec: infer S } ? S : never

/**
 * The decoded status of a kind.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Status<K> = K extends { readonly status: { readonly Type: infer S } } ? S : never

/** The parts are decoded one by one: the type of a Struct over a type parameter does not resolve. */
const envelope = Schema.Struct({
  apiVersion: Schema.String,
  kind: Schema.String,
  metadata: Schema.toCodecJson(MetadataSchema),
  spec: Schema.Unknown,
  status: Schema.optionalKey(Schema.Unknown)
})
const decodeEnvelope = Schema.decodeUnknownEffect(envelope, { errors: "all" })

const within = <A>(key: string, part: Effect.Effect<A, Schema.SchemaError>): Effect.Effect<A, Schema.SchemaError> =>
  Effect.mapError(part, ({ issue }) => new Schema.SchemaError(new SchemaIssue.Pointer([key], issue)))

const expected = (text: string, actual: string) =>
  Effect.asVoid(Schema.decodeUnknownEffect(Schema.Literal(text))(actual))

/**
 * Makes a kind.
 *
 * **Example** (A kind, its CRD and its objects)
 * ```ts
 * import * as Client from "@berth/kube/Client"
 * import * as Kind from "@berth/kube/Kind"
 * import { Effect, Schema } from "effect"
 *
 * export const Greeting = Kind.make({
 *   group: "example.dev", version: "v1alpha1", kind: "Greeting", scope: "Namespaced",
 *   description: "Somebody to be greeted.",
 *   spec: Schema.Struct({ name: Kind.Text(1, 64), times: Kind.Port.pipe(Kind.withDefault(1)) }),
 *   status: Schema.Struct({ greeted: Schema.optionalKey(Kind.Time) })
 * })
 *
 * const crd = Kind.crd(Greeting)
 *
 * const program = Effect.gen(function*() {
 *   const client = yield* Client.Client
 *   const raw = yield* client.get(Greeting, { namespace: "shop", name: "hello" })
 *   const greeting = yield* Greeting.decode(raw)
 *   return greeting.spec.times
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
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
  const decodeSpec = Schema.decodeUnknownEffect(Schema.toCodecJson(options.spec), { errors: "all" })
  const decodeStatus = Schema.decodeUnknownEffect(Schema.toCodecJson(options.status), { errors: "all" })
  const decode = Effect.fnUntraced(function* (object: unknown) {
    const outer = yield* decodeEnvelope(object)
    yield* within("apiVersion", expected(apiVersion, outer.apiVersion))
    yield* within("kind", expected(options.kind, outer.kind))
    const spec = yield* within("spec", decodeSpec(outer.spec))
    const decoded = { apiVersion, kind: options.kind, metadata: outer.metadata, spec }
    return outer.status === undefined
      ? decoded
      : { ...decoded, status: yield* within("status", decodeStatus(outer.status)) }
  })
  return {
    ...options,
    plural: options.plural ?? `${options.kind.toLowerCase()}s`,
    apiVersion,
    decode,
    encodeSpec: Schema.encodeEffect(options.spec, { errors: "all" }),
    encodeStatus: Schema.encodeEffect(options.status, { errors: "all" })
  }
}

/**
 * The CustomResourceDefinition of a kind.
 *
 * **Errors**: throws `Crd.Unrepresentable`, as `Crd.make` does.
 *
 * @category conversions
 * @since 0.1.0
 */
export const crd = (kind: Declared): Crd.Crd => Crd.make(kind)

/**
 * The CustomResourceDefinition of a kind that is served in several versions, each a kind of its own to this program. Objects are stored
 * in the first one, and keep every field whichever version they are written through.
 *
 * **Caveats**
 * - Store the old version until no program that does not know the new one may come back: a version that was stored cannot be taken out of
 *   the definition before every object has been written again and the version is gone from `status.storedVersions`.
 *
 * **Errors**: throws `Crd.Unrepresentable`, as `Crd.makeVersions` does.
 *
 * **Example** (A new version with one more field)
 * ```ts
 * import * as Kind from "@berth/kube/Kind"
 * import { Schema } from "effect"
 *
 * const common = { group: "example.dev", kind: "Greeting", scope: "Namespaced", status: Schema.Struct({}) } as const
 * const name = Kind.Text(1, 64)
 * export const GreetingV1 = Kind.make({ ...common, version: "v1", spec: Schema.Struct({ name }) })
 * export const GreetingV2 = Kind.make({
 *   ...common, version: "v2", spec: Schema.Struct({ name, times: Kind.Port.pipe(Kind.withDefault(1)) })
 * })
 *
 * const crd = Kind.crdOfVersions(GreetingV1, GreetingV2)
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const crdOfVersions = (stored: Declared, ...others: ReadonlyArray<Declared>): Crd.Crd =>
  Crd.makeVersions(stored, others)
