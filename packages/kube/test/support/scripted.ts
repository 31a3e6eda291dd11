/** A server in memory whose lists and watches do what a test says, also what no server should. */
import { Cause, Effect, Layer, Queue, Stream } from "effect"
import { Client, type Selection, type WatchEvent, type WatchOptions } from "../../src/Client.ts"
import * as KubeError from "../../src/KubeError.ts"
import * as KubeObjects from "../../src/KubeObject.ts"
import type { KubeObject, ObjectMeta } from "../../src/KubeObject.ts"
import * as ResourceType from "../../src/ResourceType.ts"

export interface Thing extends KubeObject {
  readonly spec?: { readonly color?: string; readonly size?: number }
  readonly status?: { readonly phase?: string }
}

export const Thing = ResourceType.make<Thing>({
  group: "test.dev",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Namespaced"
})

const request = { verb: "watch", resource: "things.test.dev", namespace: undefined, name: undefined }
const answered = (status: number, reason: string) => ({ ...request, status, reason, detail: "" })

export const failures = {
  gone: new KubeError.Gone(answered(410, "Expired")),
  invalid: new KubeError.Invalid({ ...answered(422, "Invalid"), causes: [] }),
  forbidden: new KubeError.Forbidden({ ...answered(403, "Forbidden"), verb: "list" }),
  notFound: new KubeError.NotFound({ ...answered(404, "NotFound"), verb: "list" }),
  tooMany: new KubeError.TooManyRequests({ ...answered(429, "TooManyRequests"), retryAfterMs: 45_000 }),
  serverError: new KubeError.ServerError(answered(500, "InternalError")),
  unreachable: new KubeError.Unreachable({ ...request, cause: "truncated" })
}

type Failure = KubeError.KubeError
type Events = Queue.Queue<WatchEvent<Thing>, Failure | Cause.Done>

interface Connection {
  readonly queue: Events
  readonly selection: Selection
  silent: boolean
}

/** What the next request of a verb meets instead of its answer. */
type Fault =
  | { readonly _tag: "Fail"; readonly failure: Failure }
  | { readonly _tag: "Die"; readonly defect: unknown }
  | { readonly _tag: "Hang" }

const inSelection = ({ fieldSelector, labelSelector, namespace }: Selection, object: Thing): boolean => {
  const [label = "", wanted] = labelSelector?.split("=") ?? []
  return (
    (namespace === undefined || namespace === object.metadata.namespace) &&
    (labelSelector === undefined || object.metadata.labels?.[label] === wanted) &&
    (fieldSelector === undefined || fieldSelector === `metadata.name=${object.metadata.name}`)
  )
}

export const make = () => {
  const objects = new Map<string, Thing>()
  const history: Array<{
    readonly version: number
    readonly event: WatchEvent<Thing>
    readonly before: Thing | undefined
  }> = []
  const connections = new Set<Connection>()
  const requests: Array<{ readonly verb: string; readonly options: WatchOptions }> = []
  const faults = new Map<string, Array<Fault>>()
  const settings = { streams: true, ignoresStreams: false }
  let version = 100
  let oldest = 0
  let uids = 0

  /** How a change looks to a watcher: whoever leaves a selection is deleted, for that watcher. */
  const seenBy = (
    connection: Selection,
    { before, event }: (typeof history)[number]
  ): WatchEvent<Thing> | undefined => {
    if (event._tag === "Bookmark") return event
    const was = before !== undefined && inSelection(connection, before)
    const is = event._tag !== "Deleted" && inSelection(connection, event.object)
    if (!was && !is) return undefined
    return { _tag: was && is ? "Modified" : is ? "Added" : "Deleted", object: event.object }
  }

  const record = (event: WatchEvent<Thing>, before: Thing | undefined) => {
    const entry = { version, event, before }
    history.push(entry)
    for (const connection of connections) {
      const seen = connection.silent ? undefined : seenBy(connection.selection, entry)
      if (seen !== undefined) Queue.offerUnsafe(connection.queue, seen)
    }
  }

  const set = (
    name: string,
    rest: Omit<Partial<Thing>, "metadata"> & { readonly metadata?: Partial<ObjectMeta> } = {}
  ): Thing => {
    const metadata = { namespace: "shop", ...rest.metadata, name, resourceVersion: String(++version) }
    const key = KubeObjects.key(metadata)
    const before = objects.get(key)
    const object: Thing = {
      apiVersion: "test.dev/v1",
      kind: "Thing",
      ...rest,
      metadata: { ...metadata, uid: before?.metadata.uid ?? `uid-${++uids}` }
    }
    objects.set(key, object)
    record({ _tag: before === undefined ? "Added" : "Modified", object }, before)
    return object
  }

  const remove = (key: string): void => {
    const before = objects.get(key)
    if (before === undefined) return
    objects.delete(key)
    const object = { ...before, metadata: { ...before.metadata, resourceVersion: String(++version) } }
    record({ _tag: "Deleted", object }, before)
  }

  /** Ends every watch, with an error or as servers do. */
  const cut = (failure?: Failure): void => {
    for (const connection of connections) {
      if (failure === undefined) Queue.endUnsafe(connection.queue)
      else Queue.failCauseUnsafe(connection.queue, Cause.fail(failure))
    }
    connections.clear()
  }

  const fault = (verb: string): Effect.Effect<void, Failure> => {
    const next = faults.get(verb)?.shift()
    if (next === undefined) return Effect.void
    if (next._tag === "Hang") return Effect.never
    return next._tag === "Fail" ? Effect.fail(next.failure) : Effect.die(next.defect)
  }

  const list = Effect.fnUntraced(function* (options: Selection) {
    requests.push({ verb: "list", options })
    yield* fault("list")
    const items = [...objects.values()].filter((object) => inSelection(options, object))
    return { items, resourceVersion: String(version) }
  })

  const open = Effect.fnUntraced(function* (options: WatchOptions) {
    requests.push({ verb: "watch", options })
    yield* fault("watch")
    if (options.sendInitialEvents === true && !settings.streams) return yield* failures.invalid
    const after = options.resourceVersion === undefined ? version : Number(options.resourceVersion)
    if (after < oldest) return yield* failures.gone
    const connection: Connection = {
      queue: yield* Queue.unbounded<WatchEvent<Thing>, Failure | Cause.Done>(),
      selection: options,
      silent: false
    }
    if (options.sendInitialEvents === true) {
      for (const object of objects.values()) {
        if (inSelection(options, object)) Queue.offerUnsafe(connection.queue, { _tag: "Added", object })
      }
      const resourceVersion = String(version)
      if (!settings.ignoresStreams) {
        Queue.offerUnsafe(connection.queue, { _tag: "Bookmark", resourceVersion, initialEventsEnd: true })
      }
    }
    for (const entry of history) {
      const seen = entry.version > after ? seenBy(options, entry) : undefined
      if (seen !== undefined) Queue.offerUnsafe(connection.queue, seen)
    }
    connections.add(connection)
    return Stream.ensuring(
      Stream.fromQueue(connection.queue),
      Effect.sync(() => connections.delete(connection))
    )
  })

  const unsupported = Effect.die("the scripted server does not do this")
  const trusted = <O extends KubeObject>(_type: ResourceType.ResourceType<O>, object: KubeObject): O => object as O
  const write = <O extends KubeObject>(
    type: ResourceType.ResourceType<O>,
    object: { readonly metadata: Partial<ObjectMeta> }
  ): Effect.Effect<O, Failure> =>
    Effect.as(fault("write"), trusted(type, set(object.metadata.name ?? "", { ...object, metadata: object.metadata })))

  const client: Client["Service"] = {
    list: <O extends KubeObject>(type: ResourceType.ResourceType<O>, options: Selection = {}) =>
      Effect.map(list(options), ({ items, resourceVersion }) => ({
        items: items.map((item) => trusted(type, item)),
        resourceVersion
      })),
    listStream: () => Stream.fromEffect(unsupported),
    watch: <O extends KubeObject>(type: ResourceType.ResourceType<O>, options: WatchOptions = {}) =>
      Stream.map(Stream.unwrap(open(options)), (event): WatchEvent<O> =>
        event._tag === "Bookmark" ? event : { _tag: event._tag, object: trusted(type, event.object) }
      ),
    get: <O extends KubeObject>(type: ResourceType.ResourceType<O>, ref: KubeObjects.Ref) =>
      Effect.suspend(() => {
        const object = objects.get(KubeObjects.key(ref))
        return object === undefined ? Effect.fail(failures.notFound) : Effect.succeed(trusted(type, object))
      }),
    create: (type, object) => Effect.suspend(() => write(type, object)),
    update: (type, object) => Effect.suspend(() => write(type, object)),
    apply: (type, object) => Effect.suspend(() => write(type, object)),
    patch: <O extends KubeObject>(
      type: ResourceType.ResourceType<O>,
      ref: KubeObjects.Ref,
      { patch }: { readonly patch: object }
    ) =>
      Effect.suspend(() =>
        write(type, {
          ...objects.get(KubeObjects.key(ref)),
          ...patch,
          metadata: { name: ref.name, namespace: ref.namespace ?? "shop" }
        })
      ),
    delete: (_type, ref) =>
      Effect.sync(() => {
        const object = objects.get(KubeObjects.key(ref))
        if (object?.metadata.finalizers === undefined) remove(KubeObjects.key(ref))
        else set(ref.name, { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } })
      }),
    getPath: () => unsupported
  }

  return {
    client,
    layer: Layer.succeed(Client, client),
    objects,
    requests,
    settings,
    set,
    remove,
    cut,
    version: () => String(version),
    bookmark: () => record({ _tag: "Bookmark", resourceVersion: String(version), initialEventsEnd: false }, undefined),
    send: (event: WatchEvent<Thing>) => {
      for (const { queue } of connections) Queue.offerUnsafe(queue, event)
    },
    /** What happened until now can be watched no more. */
    compact: () => void (oldest = ++version),
    /** Another server: what follows has lower versions. */
    restore: (to: number) => void (version = to),
    /** Connections stay open and say nothing more. */
    silence: () => {
      for (const connection of connections) connection.silent = true
    },
    next: (verb: "list" | "watch" | "write", ...next: ReadonlyArray<Fault>) =>
      void faults.set(verb, [...(faults.get(verb) ?? []), ...next]),
    watching: () => connections.size
  }
}

export type Server = ReturnType<typeof make>

export const fail = (failure: Failure): Fault => ({ _tag: "Fail", failure })
export const die = (defect: unknown): Fault => ({ _tag: "Die", defect })
export const hang: Fault = { _tag: "Hang" }
