/**
 * Manifests: objects as people write them, before an API server has stored them.
 *
 * @since 0.1.0
 */
import { Effect, Predicate, type Schema } from "effect"

/** What the API server adds, of which nobody who reads a manifest may make use. */
const notStored = { uid: "not-stored", resourceVersion: "0" }

/**
 * The view of an object that is not stored yet, with the defaults of its kind; for a tool that looks at manifests.
 *
 * **Details**: the metadata's `uid` is `not-stored`.
 *
 * **Errors**: as those of the kind's `decode`.
 *
 * **Example** (A manifest that was read from a file)
 * ```ts
 * import * as Kind from "@berth/kube/Kind"
 * import * as Manifest from "@berth/kube/Manifest"
 * import { Effect, Schema } from "effect"
 *
 * const Greeting = Kind.make({
 *   group: "example.com",
 *   version: "v1",
 *   kind: "Greeting",
 *   scope: "Namespaced",
 *   spec: Schema.Struct({ name: Kind.Text(1, 63) }),
 *   status: Schema.Struct({})
 * })
 *
 * export const nameOf = (document: unknown) =>
 *   Effect.map(Manifest.decode(Greeting, document), ({ spec }) => spec.name)
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const decode = <O>(
  kind: { readonly decode: (object: unknown) => Effect.Effect<O, Schema.SchemaError> },
  document: unknown
): Effect.Effect<O, Schema.SchemaError> => {
  const object = Predicate.isObject(document) ? document : {}
  const metadata = "metadata" in object && Predicate.isObject(object.metadata) ? object.metadata : {}
  return kind.decode({ ...object, metadata: { ...metadata, ...notStored } })
}
