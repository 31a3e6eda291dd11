/**
 * The requests about objects: which verb a method and a path mean, and what carries it out.
 */
import { json, type Answer } from "./answer.ts"
import type { Api } from "./api.ts"
import { ApiError, methodNotAllowed, noSuchResource } from "./apiError.ts"
import { deleteBody, objectIn } from "./body.ts"
import { create } from "./creating.ts"
import { deleteAnswer, type DeleteOptions, deleteOptions, remove } from "./deletion.ts"
import { type Obj } from "./json.ts"
import { checkVersion, listPage } from "./listing.ts"
import { patch } from "./patching.ts"
import { many, one, shower } from "./presenting.ts"
import { flag, type ApiRequest, type Target, writeOptions } from "./request.ts"
import { toServed } from "./served.ts"
import { specialSubresource } from "./subresources.ts"
import { watch } from "./watching.ts"
import { existing, update } from "./updating.ts"

/** What the body says, or without one the query. */
const deleteOptionsOf = (request: ApiRequest): DeleteOptions => {
  if (request.bytes.length > 0) return deleteOptions(deleteBody(request), new URLSearchParams(), false)
  return deleteOptions({}, request.query, writeOptions(request, "DeleteOptions").dryRun)
}

const deleteCollection = (api: Api, target: Target, request: ApiRequest): Answer => {
  const options = deleteOptionsOf(request)
  const page = listPage(api, target, request)
  for (const { metadata } of page.items) {
    try {
      remove(api, { ...target, name: metadata.name, namespace: metadata.namespace }, options)
    } catch (cause) {
      // An object may have gone with one before it.
      if (!(cause instanceof ApiError) || cause.code !== 404) throw cause
    }
  }
  return many(api, target, request, page)
}

const collection = (api: Api, target: Target, request: ApiRequest): Answer => {
  const { namespace, resource } = target
  switch (request.method) {
    case "GET":
      if (flag(request.query, "watch") && request.query.has("watch")) {
        return { _tag: "Watch", watch: watch(api, target, request, shower(api, target, request)), warnings: [] }
      }
      return many(api, target, request, listPage(api, target, request))
    case "POST": {
      if (resource.namespaced && namespace === undefined) throw methodNotAllowed()
      const options = writeOptions(request, "CreateOptions")
      const created = create(api, target, objectIn(target, request, options), options)
      return one(api, target, request, created, { status: 201, warnings: options.warnings })
    }
    case "DELETE":
      if (resource.namespaced && namespace === undefined) throw methodNotAllowed()
      if (!resource.verbs.includes("deletecollection")) throw methodNotAllowed()
      return deleteCollection(api, target, request)
    default:
      throw methodNotAllowed()
  }
}

const orphansPods =
  "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"

const deleteOne = (api: Api, target: Target, request: ApiRequest): Answer => {
  const options = deleteOptionsOf(request)
  if (target.resource.storage === "batch/jobs" && options.policy === undefined) request.warnings.push(orphansPods)
  const deleted = remove(api, target, options)
  const answer = deleteAnswer(target.resource, deleted)
  const { warnings } = request
  return answer["kind"] === "Status"
    ? json(answer, { warnings })
    : one(api, target, request, answer as Obj, { warnings, status: options.isCascading && !deleted.gone ? 202 : 200 })
}

/** An object, or its status, which is read and written like the object. */
const item = (api: Api, target: Target, request: ApiRequest): Answer => {
  switch (request.method) {
    case "GET":
      checkVersion(api, request.query)
      return one(api, target, request, toServed(target.resource, existing(api, target)))
    case "PUT": {
      const options = writeOptions(request, "UpdateOptions")
      const updated = update(api, target, objectIn(target, request, options), options)
      return one(api, target, request, updated, { warnings: options.warnings })
    }
    case "PATCH": {
      const options = writeOptions(request, "PatchOptions")
      const { created, object } = patch(api, target, request, options)
      return one(api, target, request, object, { status: created ? 201 : 200, warnings: options.warnings })
    }
    case "DELETE":
      if (target.subresource !== undefined) throw methodNotAllowed(target.resource, "delete")
      return deleteOne(api, target, request)
    default:
      throw methodNotAllowed(target.resource, "create")
  }
}

/** @internal */
export const resourceAnswer = (api: Api, target: Target, request: ApiRequest): Answer => {
  const { name, resource, subresource } = target
  if (name === undefined) return collection(api, target, request)
  if (resource.namespaced && target.namespace === undefined) throw noSuchResource()
  if (subresource === undefined) return item(api, target, request)
  if (subresource === "status" && resource.status) return item(api, target, request)
  return specialSubresource(api, target, request, writeOptions(request, "UpdateOptions"))
}
