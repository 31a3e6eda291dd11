/**
 * Deletes objects: at once, or marks them where a finalizer or a grace period keeps them.
 */
import { ApiError, causes, conflict, forbidden, invalidOptions } from "./apiError.ts"
import type { Api } from "./api.ts"
import { definitions, markDefinition } from "./definitionStatus.ts"
import { at, fields, keyOf, list, shown, text, timestamp, withAt, withMeta, type Fields, type Obj } from "./json.ts"
import { type Target, wholeNumber } from "./request.ts"
import type { Resource } from "./resource.ts"
import { toServed } from "./served.ts"
import { released } from "./strategy.ts"
import { existing } from "./updating.ts"

/** @internal */
export interface DeleteOptions {
  readonly dryRun: boolean
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
  readonly policy: string | undefined
  /** Whether it was asked for by `orphanDependents: false`, as old clients do. */
  readonly isCascading: boolean
  readonly graceSeconds: number | undefined
}

/** @internal */
export const plainDelete: DeleteOptions = {
  dryRun: false,
  uid: undefined,
  resourceVersion: undefined,
  policy: "Background",
  isCascading: false,
  graceSeconds: undefined
}

const policies = ["Foreground", "Background", "Orphan"]

/** Whether the body of a delete asks for a dry run, as clients say it there. */
const isDryRun = (body: Fields): boolean => {
  const asked = list(body["dryRun"]).map(text)
  if (asked.some((value) => value !== "All")) {
    throw invalidOptions("DeleteOptions", causes.notSupported("dryRun", asked, ["All"]))
  }
  return asked.length > 0
}

/** An empty one is one all the same, and holds of no object. */
const preconditionOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** The options of a delete. @internal */
export const deleteOptions = (body: Fields, query: URLSearchParams, dryRun: boolean): DeleteOptions => {
  const preconditions = fields(body["preconditions"])
  const policy = text(body["propagationPolicy"]) || query.get("propagationPolicy") || undefined
  const orphan = body["orphanDependents"] ?? query.get("orphanDependents")
  const grace = body["gracePeriodSeconds"] ?? wholeNumber(query, "gracePeriodSeconds")
  if (policy !== undefined && !policies.includes(policy)) {
    throw invalidOptions("DeleteOptions", causes.notSupported("propagationPolicy", policy, [...policies, "nil"]))
  }
  if (policy !== undefined && orphan !== undefined && orphan !== null) {
    const why = "orphanDependents and deletionPropagation cannot be both set"
    throw invalidOptions("DeleteOptions", causes.invalid("propagationPolicy", policy, why))
  }
  const asked = shown(orphan)
  // In a query everything but these two counts as true.
  const orphanPolicy = asked === "" ? undefined : asked === "false" || asked === "0" ? "Background" : "Orphan"
  return {
    dryRun: isDryRun(body) || dryRun,
    uid: preconditionOf(preconditions["uid"]),
    resourceVersion: preconditionOf(preconditions["resourceVersion"]),
    policy: policy ?? orphanPolicy,
    isCascading: orphanPolicy === "Background",
    graceSeconds: typeof grace === "number" ? grace : undefined
  }
}

const checkPreconditions = (resource: Resource, { metadata }: Obj, options: DeleteOptions): void => {
  const named = { ...resource, plural: resource.kind }
  const { resourceVersion, uid } = options
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      named,
      metadata.name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`
    )
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      named,
      metadata.name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`
    )
  }
}

const collectors: ReadonlyArray<string> = ["orphan", "foregroundDeletion"]

/** The finalizers by which the garbage collector learns what to do with dependents. */
const finalizersFor = (resource: Resource, { metadata }: Obj, policy: string | undefined): ReadonlyArray<string> => {
  const present = metadata.finalizers ?? []
  const others = present.filter((finalizer) => !collectors.includes(finalizer))
  switch (policy ?? "") {
    case "Orphan":
      return [...others, "orphan"]
    case "Foreground":
      return [...others, "foregroundDeletion"]
    case "Background":
      return others
    default:
      // Jobs have orphaned their Pods by default since their first version.
      return resource.storage === "batch/jobs" && present.length === others.length ? [...others, "orphan"] : present
  }
}

/** How long a Pod may take to stop; only one that runs on a node needs any time. */
const graceOf = (resource: Resource, object: Obj, options: DeleteOptions): number => {
  if (resource.storage !== "pods") return 0
  const phase = text(at(object, "status", "phase"))
  if (!text(at(object, "spec", "nodeName")) || phase === "Succeeded" || phase === "Failed") return 0
  const wanted = options.graceSeconds ?? Number(at(object, "spec", "terminationGracePeriodSeconds") ?? 30)
  const present = object.metadata.deletionGracePeriodSeconds
  return Math.max(0, present === undefined ? wanted : Math.min(present, wanted))
}

const immortal: ReadonlyArray<string> = ["default", "kube-public", "kube-system"]

const marked = (api: Api, resource: Resource, object: Obj, finalizers: ReadonlyArray<string>, grace: number): Obj => {
  const { deletionTimestamp, generation } = object.metadata
  const namespace = resource.storage === "namespaces"
  // These two mark themselves, without the generic deletion having a say.
  const own = namespace || resource.storage === definitions
  const dated = withMeta(object, {
    finalizers: finalizers.length === 0 ? undefined : finalizers,
    deletionTimestamp:
      deletionTimestamp === undefined || (object.metadata.deletionGracePeriodSeconds ?? 0) > grace
        ? timestamp(api.time.nowMs() + grace * 1000)
        : deletionTimestamp,
    deletionGracePeriodSeconds: own ? undefined : grace,
    generation: generation !== undefined && deletionTimestamp === undefined && !own ? generation + 1 : generation
  })
  return namespace ? withAt(dated, ["status", "phase"], "Terminating") : dated
}

/** What became of an object that was deleted. @internal */
export interface Deleted {
  readonly object: Obj
  readonly gone: boolean
}

/** @internal */
export const remove = (api: Api, target: Target, options: DeleteOptions): Deleted => {
  const { resource } = target
  const old = existing(api, target)
  checkPreconditions(resource, old, options)
  if (resource.storage === "namespaces" && immortal.includes(old.metadata.name)) {
    throw forbidden(resource, old.metadata.name, "this namespace may not be deleted")
  }
  const grace = graceOf(resource, old, options)
  const kept = resource.storage === definitions ? markDefinition(old, api.time.nowMs()) : old
  const object = marked(api, resource, kept, finalizersFor(resource, kept, options.policy), grace)
  const unchanged =
    old.metadata.deletionTimestamp !== undefined &&
    (old.metadata.finalizers ?? []).join() === (object.metadata.finalizers ?? []).join() &&
    old.metadata.deletionGracePeriodSeconds === object.metadata.deletionGracePeriodSeconds
  const gone = released(object)
  if (options.dryRun) return { object, gone }
  if (gone) {
    api.store.remove(resource.storage, keyOf(old.metadata))
    // A Pod is shown as its graceful deletion left it, anything else as it was.
    return { object: resource.storage === "pods" ? object : old, gone }
  }
  return { object: unchanged ? old : api.store.put(resource.storage, object), gone }
}

const answersWithObject = new Set(["pods", "services", "serviceaccounts", "resourcequotas", "persistentvolumeclaims"])

/** What a delete is answered with. @internal */
export const deleteAnswer = (resource: Resource, { gone, object }: Deleted): Fields => {
  if (!gone || answersWithObject.has(resource.storage)) return toServed(resource, object)
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name: object.metadata.name,
      ...(resource.group === "" ? {} : { group: resource.group }),
      kind: resource.plural,
      uid: object.metadata.uid
    }
  }
}

/** Writes the object without some finalizers, and lets it go when none is left. @internal */
export const dropFinalizers = (api: Api, storage: string, object: Obj, dropped: ReadonlyArray<string>): void => {
  const finalizers = (object.metadata.finalizers ?? []).filter((finalizer) => !dropped.includes(finalizer))
  const next = withMeta(object, { finalizers: finalizers.length === 0 ? undefined : finalizers })
  if (released(next)) api.store.remove(storage, keyOf(object.metadata))
  else api.store.put(storage, next)
}

/** Deletes without the checks of a request, for the controllers of the server itself. @internal */
export const collect = (api: Api, storage: string, object: Obj, policy: string | undefined): void => {
  const resource = api.registry.stored(storage)
  if (resource === undefined) return
  const { name, namespace } = object.metadata
  try {
    remove(api, { resource, name, namespace, subresource: undefined }, { ...plainDelete, policy })
  } catch (cause) {
    // Another of the controllers was faster.
    if (!(cause instanceof ApiError)) throw cause
  }
}
