/**
 * A watch: what happened after a version, and then what happens, as the selection of the request sees it.
 */
import { ApiError, type Cause, causes, expired, invalidOptions } from "./apiError.ts"
import type { Api } from "./api.ts"
import { jsonOf, withMeta, type Fields, type Obj } from "./json.ts"
import { tooNew } from "./listing.ts"
import { formOf } from "./negotiation.ts"
import { flag, wholeNumber, type ApiRequest, type Target } from "./request.ts"
import { selectionOf, type Selection } from "./selection.ts"
import { apiVersionOf } from "./served.ts"
import type { Change } from "./store.ts"

/** @internal */
export interface WatchSink {
  readonly write: (line: string) => void
  readonly end: () => void
}

/** Begins to write events; returns how to stop. @internal */
export type Watch = (sink: WatchSink) => () => void

/** How often a quiet watch is told the version it has come to. */
const bookmarkEveryMs = 60_000

/** What a change means to a selection, in which the object may come to be or cease to be. */
const seenAs = (change: Change, selected: Selection): { readonly type: string; readonly object: Obj } | undefined => {
  const now = change.type !== "DELETED" && selected(change.object)
  const before = change.before !== undefined && selected(change.before)
  if (now) return { type: before ? "MODIFIED" : "ADDED", object: change.object }
  if (!before) return undefined
  return {
    type: "DELETED",
    object:
      change.type === "DELETED"
        ? change.object
        : withMeta(change.before ?? change.object, { resourceVersion: String(change.version) })
  }
}

/** Whether what is there is to be sent first, and its end marked. */
const checkInitialEvents = (query: URLSearchParams): boolean => {
  const found: Array<Cause> = []
  const refuse = (why: string) => found.push(causes.forbidden("resourceVersionMatch", why))
  const match = query.get("resourceVersionMatch") ?? ""
  const isAsked = query.has("sendInitialEvents")
  if (isAsked && match !== "NotOlderThan") {
    refuse("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
  }
  if (match !== "") {
    if (!isAsked) refuse("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
    if (match !== "NotOlderThan") found.push(causes.notSupported("resourceVersionMatch", match, ["NotOlderThan"]))
    if ((query.get("continue") ?? "") !== "") refuse("resourceVersionMatch is forbidden when continue is provided")
  }
  if (found.length > 0) throw invalidOptions("ListOptions", ...found)
  return isAsked && flag(query, "sendInitialEvents")
}

interface Start {
  /** Objects to send as they are now. */
  readonly initial: boolean
  readonly mark: boolean
  readonly version: number
}

/** A watch refuses a malformed version with another status than a list. */
const versionOf = (query: URLSearchParams): number => {
  const value = query.get("resourceVersion") ?? ""
  if (/^\d*$/u.test(value)) return Number(value)
  const fault = causes.invalid("resourceVersion", value, `strconv.ParseUint: parsing "${value}": invalid syntax`)
  throw new ApiError(500, "", `${fault.field}: ${fault.message}`)
}

const startOf = (api: Api, query: URLSearchParams): Start => {
  const mark = checkInitialEvents(query)
  const asked = versionOf(query)
  if (mark && asked > api.store.version) throw tooNew(asked, api.store.version)
  const quiet = query.get("sendInitialEvents") === "false" && asked === 0
  if (mark || asked === 0) return { initial: !quiet, mark, version: api.store.version }
  return { initial: false, mark: false, version: asked }
}

const errorLine = (error: ApiError): string => `${JSON.stringify({ type: "ERROR", object: error.status })}\n`

const bookmark = ({ resource }: Target, { accept }: ApiRequest, version: number, annotations?: Fields): Fields => ({
  ...(formOf(accept, ["plain", "table", "metadata"]).form === "metadata"
    ? { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" }
    : { kind: resource.kind, apiVersion: apiVersionOf(resource) }),
  metadata: { resourceVersion: String(version), ...(annotations === undefined ? {} : { annotations }) }
})

/** @internal */
export const watch = (api: Api, target: Target, request: ApiRequest, show: (object: Obj) => object): Watch => {
  const { query } = request
  const selected = selectionOf(target, request)
  const start = startOf(api, query)
  const bookmarks = flag(query, "allowWatchBookmarks")
  const timeoutSeconds = wholeNumber(query, "timeoutSeconds") || 1800 + Math.floor(Math.random() * 1800)

  return (sink) => {
    const line = (type: string, object: object) => sink.write(`{"type":"${type}","object":${jsonOf(object)}}\n`)
    const send = (change: Change) => {
      if (change.storage !== target.resource.storage || change.version <= start.version) return
      const seen = seenAs(change, selected)
      if (seen !== undefined) line(seen.type, show(seen.object))
    }
    const missed = start.initial ? [] : api.store.since(start.version)
    if (missed === undefined) {
      const why = `too old resource version: ${start.version} (${api.store.oldest})`
      sink.write(errorLine(expired(why)))
      sink.end()
      return () => undefined
    }
    if (start.initial) {
      for (const object of api.store.all(target.resource.storage)) if (selected(object)) line("ADDED", show(object))
    }
    if (start.mark && bookmarks)
      line("BOOKMARK", bookmark(target, request, api.store.version, { "k8s.io/initial-events-end": "true" }))
    missed.forEach(send)
    const unsubscribe = api.store.subscribe(send)
    let cancelBookmark = () => {}
    const bookmarkLater = () => {
      cancelBookmark = api.time.after(bookmarkEveryMs, () => {
        line("BOOKMARK", bookmark(target, request, api.store.version))
        bookmarkLater()
      })
    }
    if (bookmarks) bookmarkLater()
    const stop = () => {
      unsubscribe()
      cancelBookmark()
      cancelTimeout()
    }
    const cancelTimeout = api.time.after(timeoutSeconds * 1000, () => {
      stop()
      if (bookmarks) line("BOOKMARK", bookmark(target, request, api.store.version))
      sink.end()
    })
    return stop
  }
}
