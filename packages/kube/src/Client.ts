/**
 * A typed view on the Kubernetes API.
 *
 * **Guarantees**
 * - K1: objects are raw JSON; fields that no type names survive.
 * - K3: every request has a deadline; errors are the closed union {@link KubeError.KubeError}.
 * - K4: `apply` is server-side apply; patches state their type; status goes through the status subresource.
 *
 * @since 0.1.0
 */
import { Context, Duration, Effect, Layer, Stream } from "effect"
import type { Connection } from "./Connection.ts"
import * as Calls from "./internal/calls.ts"
import * as Exchange from "./internal/exchange.ts"
import * as Json from "./internal/json.ts"
import * as Paging from "./internal/paging.ts"
import * as WatchLines from "./internal/watchLines.ts"
import type * as KubeError from "./KubeError.ts"
import type { Draft, KubeObject, Ref } from "./KubeObject.ts"
import { apiVersion, type ResourceType } from "./ResourceType.ts"
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
  /** How long to wait for the answer, waiting for a Retry-After included. Default 30 s. */
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
    /** The same, a page in memory at a time. */
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

const fieldManagerDefault = "berth"

const pageSizeDefault = 500

const patchTypes = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json"
} as const

const metadataOnly = (list: "" | "List"): string =>
  `application/json;as=PartialObjectMetadata${list};g=meta.k8s.io;v=v1,application/json`

const selectionQuery = (options: Selection & { readonly resourceVersion?: string | undefined }) => ({
  labelSelector: options.labelSelector,
  fieldSelector: options.fieldSelector,
  resourceVersion: options.resourceVersion
})

const listCall = (type: ResourceType, options: ListOptions, token: string | undefined): Exchange.Call =>
  Calls.collection({
    verb: "list",
    method: "GET",
    type,
    namespace: options.namespace,
    deadline: options.deadline,
    ...(options.metadataOnly === true ? { accept: metadataOnly("List") } : {}),
    query: {
      ...selectionQuery(options),
      limit: String(options.pageSize ?? pageSizeDefault),
      // The token says which version is read on, and the server refuses both together.
      ...(token === undefined ? {} : { continue: token, resourceVersion: undefined })
    }
  })

const watchCall = (type: ResourceType, options: WatchOptions): Exchange.Call =>
  Calls.collection({
    verb: "watch",
    method: "GET",
    type,
    namespace: options.namespace,
    deadline: undefined,
    ...(options.metadataOnly === true ? { accept: metadataOnly("") } : {}),
    query: {
      ...selectionQuery(options),
      watch: "true",
      allowWatchBookmarks: "true",
      ...(options.sendInitialEvents === true
        ? { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" }
        : {}),
      ...(options.timeout === undefined
        ? {}
        : { timeoutSeconds: String(Math.max(1, Math.ceil(Duration.toSeconds(options.timeout)))) })
    }
  })

interface Write {
  readonly verb: "create" | "update" | "patch"
  readonly method: "POST" | "PUT" | "PATCH"
  readonly contentType?: string
  readonly body: object
  readonly force?: boolean
}

const writeCall = (type: ResourceType, ref: Partial<Ref>, options: WriteOptions, write: Write) =>
  Calls.object({
    ...write,
    type,
    ref,
    subresource: options.subresource,
    deadline: options.deadline,
    query: {
      fieldManager: options.fieldManager ?? fieldManagerDefault,
      dryRun: options.dryRun === true ? "All" : undefined,
      force: write.force === true ? "true" : undefined
    }
  })

const deleteCall = (type: ResourceType, ref: Ref, options: DeleteOptions) =>
  Calls.object({
    verb: "delete",
    method: "DELETE",
    type,
    ref,
    deadline: options.deadline,
    body: {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: options.propagationPolicy ?? "Background",
      preconditions: options.preconditions,
      gracePeriodSeconds: options.gracePeriodSeconds,
      dryRun: options.dryRun === true ? ["All"] : undefined
    }
  })

/** A draft says what it is only where its author cared to. */
const whole = (type: ResourceType, draft: Draft<KubeObject>): object => ({
  apiVersion: apiVersion(type),
  kind: type.kind,
  ...draft
})

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
      Effect.map(Exchange.json(transport, listCall(type, options, token)), (map) => Paging.fromMap(type, map))
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
      const call = watchCall(type, options)
      return Stream.unwrap(
        Effect.map(Exchange.opened(transport, call), ({ body }) =>
          Stream.mapEffect(WatchLines.decode(body, call.about), (line) => WatchLines.toEvent(type, call, line))
        )
      )
    },
    create: (type, object, options = {}) =>
      exchange(
        type,
        writeCall(type, object.metadata, options, { verb: "create", method: "POST", body: whole(type, object) })
      ),
    update: (type, object, options = {}) =>
      exchange(type, writeCall(type, object.metadata, options, { verb: "update", method: "PUT", body: object })),
    patch: (type, ref, { patch, type: patchType }, options = {}) =>
      exchange(
        type,
        writeCall(type, ref, options, {
          verb: "patch",
          method: "PATCH",
          contentType: patchTypes[patchType],
          body: patch
        })
      ),
    apply: (type, object, options = {}) =>
      exchange(
        type,
        writeCall(type, object.metadata, options, {
          verb: "patch",
          method: "PATCH",
          // JSON is YAML, too.
          contentType: "application/apply-patch+yaml",
          body: whole(type, object),
          force: options.force === true
        })
      ),
    delete: (type, ref, options = {}) => Effect.asVoid(exchange(type, deleteCall(type, ref, options))),
    getPath: (path, options = {}) => Exchange.json(transport, Calls.path(path, options.deadline))
  }
}

/**
 * The client over a {@link Transport.Transport}.
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
export const layerFromConnection = (connection: Connection): Layer.Layer<Client> =>
  Layer.provide(layer, Transport.layer(connection))
