/** What the client asks, as requests: one function for each form that its methods have. */
import { Duration } from "effect"
import type { Draft, KubeObject, Ref } from "../KubeObject.ts"
import * as ResourceType from "../ResourceType.ts"
import * as Calls from "./calls.ts"
import type { Call } from "./exchange.ts"

interface Selection {
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly metadataOnly?: boolean | undefined
}

interface ListOptions extends Selection {
  readonly pageSize?: number | undefined
  readonly deadline?: Duration.Input | undefined
}

interface WatchOptions extends Selection {
  readonly sendInitialEvents?: boolean | undefined
  readonly timeout?: Duration.Input | undefined
}

interface WriteOptions {
  readonly fieldManager?: string | undefined
  readonly dryRun?: boolean | undefined
  readonly subresource?: string | undefined
  readonly deadline?: Duration.Input | undefined
}

interface DeleteOptions {
  readonly preconditions?: object | undefined
  readonly propagationPolicy?: string | undefined
  readonly gracePeriodSeconds?: number | undefined
  readonly dryRun?: boolean | undefined
  readonly deadline?: Duration.Input | undefined
}

const fieldManagerDefault = "berth"

const pageSizeDefault = 500

export const patchTypes = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json"
} as const

const metadataOnly = (list: "" | "List"): string =>
  `application/json;as=PartialObjectMetadata${list};g=meta.k8s.io;v=v1,application/json`

const selectionQuery = (options: Selection) => ({
  labelSelector: options.labelSelector,
  fieldSelector: options.fieldSelector,
  resourceVersion: options.resourceVersion
})

/** One page of a list: the first, or the one that the token stands for. */
export const list = (type: ResourceType.ResourceType, options: ListOptions, token: string | undefined): Call =>
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

/** One watch. */
export const watch = (type: ResourceType.ResourceType, options: WatchOptions): Call =>
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

export interface Write {
  readonly verb: "create" | "update" | "patch"
  readonly method: "POST" | "PUT" | "PATCH"
  readonly contentType?: string
  readonly body: object
  readonly force?: boolean
}

/** Any change of an object but its deletion. */
export const write = (type: ResourceType.ResourceType, ref: Partial<Ref>, options: WriteOptions, write: Write) =>
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

/** The deletion of an object. */
export const remove = (type: ResourceType.ResourceType, ref: Ref, options: DeleteOptions) =>
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

/** A draft that says what it is, also where its author did not. */
export const whole = (type: ResourceType.ResourceType, draft: Draft<KubeObject>): object => ({
  apiVersion: ResourceType.apiVersion(type),
  kind: type.kind,
  ...draft
})
