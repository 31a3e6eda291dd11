/**
 * A typed view on the Kubernetes API.
 *
 * **Guarantees**
 * - K1: objects are raw JSON; fields that no type names survive.
 * - K3: every request has a deadline; errors are the closed union {@link KubeError.KubeError}.
 * - K4: `apply` is server-side apply; patches state their type; status goes through the status subresource.
 * - K5: lists are paged, begin anew when a page has expired, and can be read without holding all of them.
 * - K6: nothing is logged, and what is said about Secrets quotes nothing of them.
 *
 * **Caveats**
 * - How many requests run at once is up to the caller: each needs a connection while it runs.
 * - An object without the namespace that its kind needs, or without a name where one object is meant, is refused as Invalid
 *   before it is sent.
 *
 * @since 0.1.0
 */
import { Context, type Duration, Effect, Layer, Stream } from "effect"
import * as Connection from "./Connection.ts"
import type { ConnectionError } from "./ConnectionError.ts"
import * as Calls from "./internal/calls.ts"
import * as Exchange from "./internal/exchange.ts"
import * as Json from "./internal/json.ts"
import * as Paging from "./internal/paging.ts"
import * as Requests from "./internal/requests.ts"
import * as WatchLines from "./internal/watchLines.ts"
import type * as KubeError from "./KubeError.ts"
import type { Draft, KubeObject, Ref } from "./KubeObject.ts"
import type { ResourceType } from "./ResourceType.ts"
import * as Transport from "./Transport.ts"

/**
 * Narrows a list or a watch.
 *
 * @category models
 * @since 0.1.0
 */
export interface Selection {
  /** Only this namespace; all of them when absent. */
  readonly namespace?: string | undefined
  /** As in `kubectl get -l`. */
  readonly labelSelector?: string | undefined
  /** As in `kubectl get --field-selector`. */
  readonly fieldSelector?: string | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface RequestOptions {
  /**
   * How long to wait for the answer, waiting for a Retry-After included; of a list, for each page. Default 30 s. A request
   * that ends with Timeout may have taken effect.
   */
  readonly deadline?: Duration.Input | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface ListOptions extends Selection, RequestOptions {
  /** Objects to a page. Default 500. */
  readonly pageSize?: number | undefined
  /** `"0"`: any version, from the server's cache. Absent: the newest. */
  readonly resourceVersion?: string | undefined
  /** Only the metadata of each object (`PartialObjectMetadata`). */
  readonly metadataOnly?: boolean | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface ObjectList<out O> {
  readonly items: ReadonlyArray<O>
  /** Where a watch goes on from. */
  readonly resourceVersion: string
}

/**
 * @category models
 * @since 0.1.0
 */
export interface WatchOptions extends Selection {
  /** Events after this version; absent: the state as it is now, as Added events, then what follows. */
  readonly resourceVersion?: string | undefined
  /** Asks for the present state as Added events, ended by a bookmark (a streaming list). */
  readonly sendInitialEvents?: boolean | undefined
  /** After this the server ends the watch. Default: the server's own choice, 30 to 60 minutes. */
  readonly timeout?: Duration.Input | undefined
  readonly metadataOnly?: boolean | undefined
}

/**
 * One line of a watch. A bookmark's object has nothing but a resourceVersion, and the annotation
 * `k8s.io/initial-events-end` at the end of a streaming list.
 *
 * @category models
 * @since 0.1.0
 */
export type WatchEvent<O> =
  | { readonly _tag: "Added" | "Modified" | "Deleted"; readonly object: O }
  | { readonly _tag: "Bookmark"; readonly resourceVersion: string; readonly initialEventsEnd: boolean }

/**
 * @category models
 * @since 0.1.0
 */
export interface WriteOptions extends RequestOptions {
  /** Who is recorded in managedFields. Default `berth`. */
  readonly fieldManager?: string | undefined
  /** Validate and answer, store nothing. */
  readonly dryRun?: boolean | undefined
  readonly subresource?: "status" | "scale" | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface ApplyOptions extends WriteOptions {
  /** Take fields over from their managers. Default false: a field of another manager is a Conflict that names both. */
  readonly force?: boolean | undefined
}

/**
 * A change, of a stated type: RFC 7386, RFC 6902, or Kubernetes' own strategic merge, which only built-in kinds know.
 *
 * @category models
 * @since 0.1.0
 */
export type Patch =
  | { readonly type: "merge" | "strategic"; readonly patch: object }
  | { readonly type: "json"; readonly patch: ReadonlyArray<object> }

/**
 * @category models
 * @since 0.1.0
 */
export interface DeleteOptions extends RequestOptions {
  /** Deletes only if it is still this object, and still this version of it. */
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined
  /** What becomes of its dependents. Default `Background`. */
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan" | undefined
  readonly gracePeriodSeconds?: number | undefined
  readonly dryRun?: boolean | undefined
}

/**
 * The Kubernetes API of one cluster.
 *
 * @category services
 * @since 0.1.0
 */
export class Client extends Context.Service<
  Client,
  {
    readonly get: <O extends KubeObject>(
      type: ResourceType<O>,
      ref: Ref,
      options?: RequestOptions & { readonly subresource?: "status" | "scale" | undefined }
    ) => Effect.Effect<O, KubeError.KubeError>
    /** Reads every page. A page that expires in the middle starts the list anew. */
    readonly list: <O extends KubeObject>(
      type: ResourceType<O>,
      options?: ListOptions
    ) => Effect.Effect<ObjectList<O>, KubeError.KubeError>
    /** The same, a page in memory at a time. After a restart only what is new or has changed since is given. */
    readonly listStream: <O extends KubeObject>(
      type: ResourceType<O>,
      options?: ListOptions
    ) => Stream.Stream<O, KubeError.KubeError>
    /** One watch request: ends when the server ends it, fails when it breaks. Resuming is the cache's work. */
    readonly watch: <O extends KubeObject>(
      type: ResourceType<O>,
      options?: WatchOptions
    ) => Stream.Stream<WatchEvent<O>, KubeError.KubeError>
    readonly create: <O extends KubeObject>(
      type: ResourceType<O>,
      object: Draft<O>,
      options?: WriteOptions
    ) => Effect.Effect<O, KubeError.KubeError>
    /** Replaces the whole object; with a resourceVersion, only if it is still that version. */
    readonly update: <O extends KubeObject>(
      type: ResourceType<O>,
      object: O,
      options?: WriteOptions
    ) => Effect.Effect<O, KubeError.KubeError>
    readonly patch: <O extends KubeObject>(
      type: ResourceType<O>,
      ref: Ref,
      patch: Patch,
      options?: WriteOptions
    ) => Effect.Effect<O, KubeError.KubeError>
    /** Server-side apply: creates or changes, and owns, exactly the fields that are given. */
    readonly apply: <O extends KubeObject>(
      type: ResourceType<O>,
      object: Draft<O>,
      options?: ApplyOptions
    ) => Effect.Effect<O, KubeError.KubeError>
    /** Succeeds once the server has accepted it; finalizers may keep the object for a while. */
    readonly delete: <O extends KubeObject>(
      type: ResourceType<O>,
      ref: Ref,
      options?: DeleteOptions
    ) => Effect.Effect<void, KubeError.KubeError>
    /** Any other GET of JSON, such as `/version` or `/apis`. */
    readonly getPath: (path: string, options?: RequestOptions) => Effect.Effect<unknown, KubeError.KubeError>
  }
>()("@berth/kube/Client") {}

const make = (transport: Transport.Transport["Service"]): Client["Service"] => {
  const exchange = <O extends KubeObject>(
    type: ResourceType<O>,
    call: Effect.Effect<Exchange.Call, KubeError.Invalid>
  ) =>
    Effect.map(
      Effect.flatMap(call, (call) => Exchange.json(transport, call)),
      (map) => Json.asObject(type, map)
    )

  const pages = (type: ResourceType, options: ListOptions) =>
    Paging.pages((token) =>
      Effect.map(Exchange.json(transport, Requests.list(type, options, token)), (map) => Paging.fromMap(type, map))
    )

  return {
    get: (type, ref, { deadline, subresource } = {}) =>
      exchange(type, Calls.object({ verb: "get", method: "GET", type, ref, subresource, deadline })),
    list: <O extends KubeObject>(type: ResourceType<O>, options: ListOptions = {}) =>
      Effect.map(Paging.collect(pages(type, options)), ({ items, resourceVersion }) => ({
        items: items.map((item) => Json.asObject(type, item)),
        resourceVersion
      })),
    listStream: <O extends KubeObject>(type: ResourceType<O>, options: ListOptions = {}) =>
      Stream.map(Paging.items(pages(type, options)), (item) => Json.asObject(type, item)),
    watch: <O extends KubeObject>(type: ResourceType<O>, options: WatchOptions = {}) => {
      const call = Requests.watch(type, options)
      return Stream.unwrap(
        Effect.map(Exchange.opened(transport, call), ({ body }) =>
          Stream.mapEffect(WatchLines.decode(body, call.about), (line) => WatchLines.toEvent(type, call, line))
        )
      )
    },
    create: (type, object, options = {}) =>
      exchange(
        type,
        Requests.write(type, object.metadata, options, {
          verb: "create",
          method: "POST",
          body: Requests.whole(type, object)
        })
      ),
    update: (type, object, options = {}) =>
      exchange(type, Requests.write(type, object.metadata, options, { verb: "update", method: "PUT", body: object })),
    patch: (type, ref, { patch, type: patchType }, options = {}) =>
      exchange(
        type,
        Requests.write(type, ref, options, {
          verb: "patch",
          method: "PATCH",
          contentType: Requests.patchTypes[patchType],
          body: patch
        })
      ),
    apply: (type, object, options = {}) =>
      exchange(
        type,
        Requests.write(type, object.metadata, options, {
          verb: "patch",
          method: "PATCH",
          // JSON is YAML, too.
          contentType: "application/apply-patch+yaml",
          body: Requests.whole(type, object),
          force: options.force === true
        })
      ),
    delete: (type, ref, options = {}) => Effect.asVoid(exchange(type, Requests.remove(type, ref, options))),
    getPath: (path, options = {}) => Exchange.json(transport, Calls.path(path, options.deadline))
  }
}

/**
 * The client over a {@link Transport.Transport}.
 *
 * **Example** (A server that is down)
 * ```ts
 * import * as Client from "@berth/kube/Client"
 * import * as KubeError from "@berth/kube/KubeError"
 * import * as Transport from "@berth/kube/Transport"
 * import { Effect, Layer } from "effect"
 *
 * const down = Layer.succeed(Transport.Transport, {
 *   request: ({ about }) => Effect.fail(new KubeError.Unreachable({ ...about, cause: "unplugged" }))
 * })
 * export const client = Layer.provide(Client.layer, down)
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Client, never, Transport.Transport> = Layer.effect(
  Client,
  Effect.map(Transport.Transport, make)
)

/**
 * The client of one cluster, over a pool of connections of its own.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFromConnection = (connection: Connection.Connection): Layer.Layer<Client> =>
  Layer.provide(layer, Transport.layer(connection))

/**
 * The client of the cluster that a person would expect, as {@link Connection.detect} finds it.
 *
 * **Errors**: those of {@link Connection.detect}.
 *
 * **Example** (The namespaces of the cluster at hand)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import * as Client from "@berth/kube/Client"
 * import { Effect, Stream } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const client = yield* Client.Client
 *   yield* Stream.runForEach(client.listStream(Builtin.Namespace), ({ metadata }) => Effect.log(metadata.name))
 * })
 *
 * export const main = Effect.provide(program, Client.layerDetected())
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerDetected = (
  options?: Parameters<typeof Connection.detect>[0]
): Layer.Layer<Client, ConnectionError> => Layer.unwrap(Effect.map(Connection.detect(options), layerFromConnection))
