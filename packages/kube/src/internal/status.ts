/** What an answer other than success means. */
import * as KubeError from "../KubeError.ts"
import * as Json from "./json.ts"

/** What is known of a refusal, whether it came as an answer or inside a watch. */
export interface Refusal {
  readonly about: KubeError.Request
  /** Whether what the server says may quote the data of a Secret. */
  readonly secret: boolean
  readonly status: number
  readonly retryAfterMs: number | undefined
  /** The server's Status object; empty where it sent something else. */
  readonly body: Readonly<Record<string, unknown>>
}

/** The API server's own words for a path that it does not serve, as opposed to those of something in between. */
const unservedPath = "404 page not found"

const causesOf = ({ body, secret }: Refusal): ReadonlyArray<KubeError.FieldCause> =>
  Json.asList(Json.asMap(body["details"])["causes"])
    .map(Json.asMap)
    .map((cause) => ({
      field: Json.asText(cause["field"]),
      reason: Json.asText(cause["reason"]),
      message: secret ? "" : Json.asText(cause["message"])
    }))

/** `conflict with "other"` and `conflict with "other" using apps/v1`, and what older servers add. */
const managersOf = ({ body }: Refusal): ReadonlyArray<{ readonly manager: string; readonly field: string }> =>
  Json.asList(Json.asMap(body["details"])["causes"])
    .map(Json.asMap)
    .filter((cause) => cause["reason"] === "FieldManagerConflict")
    .map((cause) => {
      const message = Json.asText(cause["message"])
      return { manager: /"((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message, field: Json.asText(cause["field"]) }
    })

/** The error that a refusal stands for. The Status' reason decides where one HTTP status has several meanings. */
export const toError = (refusal: Refusal): KubeError.KubeError => {
  const { about, body, secret, status } = refusal
  const reason = Json.asText(body["reason"])
  const answered = { ...about, status, reason, detail: secret ? "" : Json.asText(body["message"]) }
  if (reason === "Expired" || reason === "Gone") return new KubeError.Gone(answered)
  switch (status) {
    case 401:
      return new KubeError.Unauthorized(answered)
    case 403:
      return new KubeError.Forbidden(answered)
    case 404:
      return new KubeError.NotFound(answered)
    case 409:
      return reason === "AlreadyExists"
        ? new KubeError.AlreadyExists(answered)
        : new KubeError.Conflict({ ...answered, managers: managersOf(refusal) })
    case 410:
      return new KubeError.Gone(answered)
    case 429:
      return new KubeError.TooManyRequests({ ...answered, retryAfterMs: refusal.retryAfterMs })
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
      return new KubeError.Invalid({ ...answered, causes: causesOf(refusal) })
    default:
      return new KubeError.ServerError(answered)
  }
}

/**
 * The error of an HTTP answer. A 404 counts as NotFound only in the words of the API server: the page of a proxy that has
 * lost its backend must not look as if the object were gone.
 */
export const fromAnswer = (
  call: { readonly about: KubeError.Request; readonly secret: boolean },
  answer: { readonly status: number; readonly text: string; readonly retryAfterMs: number | undefined }
): KubeError.KubeError => {
  const { status, text } = answer
  const parsed = Json.parseMap(text)
  const body = parsed?.["kind"] === "Status" ? parsed : {}
  return status === 404 && body !== parsed && text.trim() !== unservedPath
    ? new KubeError.ServerError({ ...call.about, status, reason: "", detail: "" })
    : toError({ about: call.about, secret: call.secret, status, body, retryAfterMs: answer.retryAfterMs })
}

/** The error that a watch sends as its last event. */
export const fromEvent = (
  call: { readonly about: KubeError.Request; readonly secret: boolean },
  body: Readonly<Record<string, unknown>>
): KubeError.KubeError =>
  toError({
    about: call.about,
    secret: call.secret,
    status: typeof body["code"] === "number" ? body["code"] : 500,
    body,
    retryAfterMs: secondsMs(Json.asMap(body["details"])["retryAfterSeconds"])
  })

/** An event has no headers: what they would say stands in the Status. */
const secondsMs = (seconds: unknown): number | undefined =>
  typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined

/** As RFC 9110 writes dates. Other texts pass for dates too, also those of a negative or broken number. */
const date = /^\s*[A-Za-z]{3,9},? /u

/** How long the server asks to wait, by its Retry-After header: seconds, or a date. What is neither says nothing. */
export const retryAfterMs = (header: string | undefined, nowMs: number): number | undefined => {
  if (header === undefined) return undefined
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000
  const atMs = date.test(header) ? Date.parse(header) : NaN
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}
