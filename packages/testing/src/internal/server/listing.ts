/**
 * Reads collections: pages of one consistent state, at the newest or an earlier version.
 */
import { posix } from "node:path"
import { ApiError, badRequest, type Cause, causes, expired, invalidOptions } from "./apiError.ts"
import type { Api } from "./api.ts"
import { fields, keyOf, text, type Fields, type Obj } from "./json.ts"
import { wholeNumber, type ApiRequest, type Target } from "./request.ts"
import { isWithin, selectionOf } from "./selection.ts"

interface Position {
  /** The version that all pages show; -1: the newest, whatever it is by then. */
  readonly version: number
  /** The key at which the page begins, in its collection. */
  readonly from: string
}

/** @internal */
export interface Page {
  readonly items: ReadonlyArray<Obj>
  readonly resourceVersion: string
  readonly continueToken: string | undefined
  readonly remaining: number | undefined
}

const tokenVersion = "meta.k8s.io/v1"

const encode = ({ from, version }: Position): string =>
  Buffer.from(JSON.stringify({ v: tokenVersion, rv: version, start: from })).toString("base64url")

const wrongToken = (why = "") => badRequest(`invalid continue token: continue key is not valid${why}`)

const read = (token: string): Fields => {
  const bytes = Buffer.from(token, "base64url")
  try {
    if (bytes.toString("base64url") === token) return fields(JSON.parse(bytes.toString()))
  } catch {
    // One that is no JSON is refused like one that is no base64.
  }
  throw wrongToken()
}

const decode = (token: string): Position => {
  const decoded = read(token)
  const version = Number(decoded["rv"] ?? 0)
  const start = text(decoded["start"])
  const known = text(decoded["v"])
  if (known !== tokenVersion) throw wrongToken(`: server does not recognize this encoded version ${known}`)
  if (version === 0) throw wrongToken(`: incorrect encoded start resourceVersion (version ${tokenVersion})`)
  if (start === "") throw wrongToken(`: encoded start key empty (version ${tokenVersion})`)
  const from = start.startsWith("/") ? start : `/${start}`
  // Nothing may lead out of the collection.
  if (posix.normalize(from) !== from) throw wrongToken(`: ${start}`)
  return { version, from: from.slice(1) }
}

const versionMax = 2n ** 64n - 1n

/** @internal */
export const parseVersion = (value: string | null): number | undefined => {
  if (value === null || value === "") return undefined
  const isNumber = /^\d+$/u.test(value)
  if (isNumber && BigInt(value) <= versionMax) return Number(value)
  const why = isNumber ? "value out of range" : "invalid syntax"
  throw badRequest(
    `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(value)}: strconv.ParseUint: parsing ${JSON.stringify(value)}: ${why}`
  )
}

const checkMatch = (query: URLSearchParams): void => {
  const found: Array<Cause> = []
  const refuse = (why: string) => found.push(causes.forbidden("resourceVersionMatch", why))
  const match = query.get("resourceVersionMatch") ?? ""
  const version = query.get("resourceVersion") ?? ""
  if (match !== "") {
    if (version === "") refuse("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if ((query.get("continue") ?? "") !== "") refuse("resourceVersionMatch is forbidden when continue is provided")
    if (match !== "Exact" && match !== "NotOlderThan") {
      found.push(causes.notSupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]))
    }
    if (match === "Exact" && version === "0") {
      refuse(`resourceVersionMatch "exact" is forbidden for resourceVersion "0"`)
    }
  }
  if (query.has("sendInitialEvents")) {
    found.push(causes.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
  }
  if (found.length > 0) throw invalidOptions("ListOptions", ...found)
}

/** The answer to a version that is still to come. @internal */
export const tooNew = (asked: number, newest: number): ApiError =>
  new ApiError(504, "Timeout", `Timeout: Too large resource version: ${asked}, current: ${newest}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1
  })

/** Refuses to read at a version that is still to come. @internal */
export const checkVersion = (api: Api, query: URLSearchParams): number | undefined => {
  const asked = parseVersion(query.get("resourceVersion"))
  if (asked !== undefined && asked > api.store.version) throw tooNew(asked, api.store.version)
  return asked
}

const stateAt = (api: Api, storage: string, version: number): ReadonlyArray<Obj> => {
  const state = api.store.snapshot(storage, version)
  if (state === undefined) throw expired(`The resourceVersion for the provided list is too old.`)
  return state
}

/** The key of an object in its collection: that of a namespace where one is asked for. */
const keyIn = ({ namespace }: Target, { metadata }: Obj): string =>
  namespace === undefined ? keyOf(metadata) : metadata.name

const resumed = (api: Api, target: Target, { from, version }: Position) => {
  const { storage } = target.resource
  const state = version < 0 ? api.store.all(storage) : api.store.snapshot(storage, version)
  if (state === undefined) {
    throw expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
      encode({ version: -1, from })
    )
  }
  return {
    state: state.filter((object) => keyIn(target, object) >= from),
    version: version < 0 ? api.store.version : version
  }
}

const checkToken = (query: URLSearchParams): void => {
  const version = query.get("resourceVersion") ?? ""
  if (version === "" || version === "0") return
  throw badRequest("specifying resource version is not allowed when using continue")
}

const started = (api: Api, storage: string, query: URLSearchParams) => {
  const asked = checkVersion(api, query)
  const exact =
    query.get("resourceVersionMatch") === "Exact" ||
    (asked !== undefined && asked > 0 && query.has("limit") && query.get("resourceVersionMatch") === null)
  return exact && asked !== undefined
    ? { state: stateAt(api, storage, asked), version: asked }
    : { state: api.store.all(storage), version: api.store.version }
}

/** @internal */
export const listPage = (api: Api, target: Target, request: ApiRequest): Page => {
  const { query } = request
  checkMatch(query)
  const { storage } = target.resource
  const selected = selectionOf(target, request)
  const token = query.get("continue") ?? ""
  if (token !== "") checkToken(query)
  // Any version comes from the server's own cache, which gives no pages.
  const limit = query.get("resourceVersion") === "0" ? 0 : (wholeNumber(query, "limit") ?? 0)
  const { state, version } = token === "" ? started(api, storage, query) : resumed(api, target, decode(token))
  const all = state.filter(isWithin(target, request))
  const items = all.filter(selected)
  const page = limit > 0 ? items.slice(0, limit) : items
  const last = page.at(-1)
  // What follows is not looked at: the last page may turn out to be empty.
  const more = limit > 0 && page.length === limit && last !== undefined && last !== all.at(-1)
  // With a selector the server does not count what remains.
  const counted = !query.get("labelSelector") && !query.get("fieldSelector")
  return {
    items: page,
    resourceVersion: String(version),
    continueToken: more ? encode({ version, from: `${keyIn(target, last)}\u0000` }) : undefined,
    remaining: more && counted ? items.length - page.length : undefined
  }
}
