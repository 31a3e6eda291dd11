/**
 * Reads collections: pages of one consistent state, at the newest or an earlier version.
 */
import { ApiError, badRequest, causes, expired, invalidOptions } from "./apiError.ts"
import type { Api } from "./api.ts"
import { fields, keyOf, text, type Obj } from "./json.ts"
import { wholeNumber, type ApiRequest, type Target } from "./request.ts"
import { selectionOf } from "./selection.ts"

interface Position {
  /** The version that all pages show; -1: the newest, whatever it is by then. */
  readonly version: number
  /** The key of the last object that was shown. */
  readonly after: string
}

/** @internal */
export interface Page {
  readonly items: ReadonlyArray<Obj>
  readonly resourceVersion: string
  readonly continueToken: string | undefined
  readonly remaining: number | undefined
}

const encode = ({ after, version }: Position): string =>
  Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: version, start: `/${after}\u0000` })).toString("base64url")

const decode = (token: string): Position => {
  try {
    const decoded = fields(JSON.parse(Buffer.from(token, "base64url").toString()))
    const start = text(decoded["start"])
    if (start.startsWith("/") && start.endsWith("\u0000")) {
      return { version: Number(decoded["rv"]), after: start.slice(1, -1) }
    }
  } catch {
    // A token that is no JSON is refused like one that makes no sense.
  }
  throw badRequest("invalid continue token: continue key is not valid")
}

/** @internal */
export const parseVersion = (value: string | null): number | undefined => {
  if (value === null || value === "") return undefined
  if (/^\d+$/u.test(value)) return Number(value)
  throw badRequest(
    `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(value)}: strconv.ParseUint: parsing ${JSON.stringify(value)}: invalid syntax`
  )
}

const checkMatch = (query: URLSearchParams): void => {
  if (query.has("sendInitialEvents")) {
    throw invalidOptions(
      "ListOptions",
      causes.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    )
  }
  const match = query.get("resourceVersionMatch") ?? ""
  if (match === "") return
  const version = query.get("resourceVersion") ?? ""
  const refuse = (why: string) => invalidOptions("ListOptions", causes.forbidden("resourceVersionMatch", why))
  if ((query.get("continue") ?? "") !== "") throw refuse("resourceVersionMatch is forbidden when continue is provided")
  if (version === "") throw refuse("resourceVersionMatch is forbidden unless resourceVersion is provided")
  if (match !== "Exact" && match !== "NotOlderThan") {
    throw invalidOptions(
      "ListOptions",
      causes.notSupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""])
    )
  }
  if (match === "Exact" && version === "0") {
    throw refuse(`resourceVersionMatch "exact" is forbidden for resourceVersion "0"`)
  }
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

const resumed = (api: Api, storage: string, { after, version }: Position) => {
  const state = version < 0 ? api.store.all(storage) : api.store.snapshot(storage, version)
  if (state === undefined) {
    throw expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
      encode({ version: -1, after })
    )
  }
  return {
    state: state.filter((object) => keyOf(object.metadata) > after),
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
  const { state, version } = token === "" ? started(api, storage, query) : resumed(api, storage, decode(token))
  const items = state.filter(selected)
  const page = limit > 0 ? items.slice(0, limit) : items
  const last = page.at(-1)
  const more = last !== undefined && page.length < items.length
  // With a selector the server does not count what remains.
  const counted = !query.get("labelSelector") && !query.get("fieldSelector")
  return {
    items: page,
    resourceVersion: String(version),
    continueToken: more ? encode({ version, after: keyOf(last.metadata) }) : undefined,
    remaining: more && counted ? items.length - page.length : undefined
  }
}
