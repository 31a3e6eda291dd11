/**
 * The requests about objects: which verb a method and a path mean, and what carries it out.
 */
import { json, type Answer } from "./answer.ts"
import type { Api } from "./api.ts"
import { ApiError, badRequest, causes, invalidOptions, methodNotAllowed, noSuchResource } from "./apiError.ts"
import { objectIn, optionalBody } from "./body.ts"
import { deleteAnswer, deleteOptions, remove } from "./deletion.ts"
import { type Obj } from "./json.ts"
import { listPage } from "./listing.ts"
import { applyType, patch } from "./patching.ts"
import { mediaOf } from "./body.ts"
import { many, one, shower } from "./presenting.ts"
import { flag, managerOf, type ApiRequest, type Target } from "./request.ts"
import { toServed } from "./served.ts"
import { specialSubresource } from "./subresources.ts"
import { watch } from "./watching.ts"
import { create, existing, update, type WriteOptions } from "./writing.ts"

/** @internal */
export const writeOptions = (request: ApiRequest, kind: string): WriteOptions => {
  const dryRun = request.query.getAll("dryRun").filter((value) => value !== "")
  if (dryRun.some((value) => value !== "All")) {
    throw invalidOptions(kind, causes.notSupported("dryRun", dryRun, ["All"]))
  }
  return { dryRun: dryRun.length > 0, manager: managerOf(request) }
}

const deleteCollection = (api: Api, target: Target, request: ApiRequest): Answer => {
  const { dryRun } = writeOptions(request, "DeleteOptions")
  const options = deleteOptions(optionalBody(request, "DeleteOptions"), request.query, dryRun)
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
      const created = create(api, target, objectIn(target, request), writeOptions(request, "CreateOptions"))
      return one(api, target, request, created, { status: 201 })
    }
    case "DELETE":
      if (resource.namespaced && namespace === undefined) throw methodNotAllowed()
      return deleteCollection(api, target, request)
    default:
      throw methodNotAllowed()
  }
}

const deleteOne = (api: Api, target: Target, request: ApiRequest): Answer => {
  const { dryRun } = writeOptions(request, "DeleteOptions")
  const options = deleteOptions(optionalBody(request, "DeleteOptions"), request.query, dryRun)
  const answer = deleteAnswer(target.resource, remove(api, target, options))
  return answer["kind"] === "Status" ? json(answer) : one(api, target, request, answer as Obj)
}

/** An object, or its status, which is read and written like the object. */
const item = (api: Api, target: Target, request: ApiRequest): Answer => {
  switch (request.method) {
    case "GET":
      return one(api, target, request, toServed(target.resource, existing(api, target)))
    case "PUT": {
      const sent = objectIn(target, request)
      if (sent.metadata.name === "") throw badRequest("name is required")
      return one(api, target, request, update(api, target, sent, writeOptions(request, "UpdateOptions")))
    }
    case "PATCH": {
      const before = api.store.version
      const { created, object } = patch(api, target, request, writeOptions(request, "PatchOptions"))
      const isNew = created && (api.store.version > before || mediaOf(request.contentType) === applyType)
      return one(api, target, request, object, { status: isNew ? 201 : 200 })
    }
    case "DELETE":
      if (target.subresource !== undefined) throw methodNotAllowed()
      return deleteOne(api, target, request)
    default:
      throw methodNotAllowed()
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
