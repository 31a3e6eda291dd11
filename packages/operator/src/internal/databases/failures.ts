/** What becomes of a call that failed, or has not finished. */
import type { Summary } from "@berth/db-provider/Api"
import type { ClientError, InvalidOptions, Refused } from "@berth/db-provider/client"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import { type Duration, Effect, Option } from "effect"
import type { Place } from "./places.ts"
import { Reasons } from "./reasons.ts"

type Failure = ClientError | InvalidOptions

/** What was asked for, and where. */
export interface About {
  readonly place: Place
  readonly database: Identifier.Identifier
}

const unknown = Identifier.of("unknown")

/** Texts of the provider are shown where they have the shape of a name, and not otherwise. */
const named = (text: string | undefined): Identifier.Identifier =>
  Option.getOrElse(Identifier.fromString(text ?? ""), () => unknown)

/** What is mended in another cluster wakes nobody here, and a token may be known here before it is known there. */
export const askedAgain = (place: Place, failure: Disposition.ProvisionError): Disposition.ProvisionError =>
  Disposition.join([failure, Reasons.asked_again({ endpoint: place.endpoint })])

/** Node's codes for certificates: `CERT_HAS_EXPIRED`, `DEPTH_ZERO_SELF_SIGNED_CERT`, `ERR_TLS_CERT_ALTNAME_INVALID`, `UNABLE_TO_…`. */
const isOfCertificate = (why: string): boolean => /CERT|^UNABLE_TO_|^ERR_OSSL_/u.test(why)

const patience = (error: Refused) => {
  const after = Option.getOrUndefined(error.retryAfter)
  return after === undefined ? { why: error.message } : { why: error.message, after }
}

const tokenRefused = ({ endpoint, key, namespace, secret }: Place, why: string) =>
  Reasons.token_refused({ endpoint, namespace, secret, key: named(key) }, { why })

const refusal = ({ database, place }: About, error: Refused): Disposition.ProvisionError => {
  const { endpoint, secret } = place
  const why = error.message
  const code = named(error.code)
  const request = named(error.requestId)
  if (error.code === "unauthorized") return askedAgain(place, tokenRefused(place, why))
  if (error.code === "consumer_disabled")
    return askedAgain(place, Reasons.consumer_disabled({ endpoint, secret }, { why }))
  if (error.code === "quota_exceeded") return askedAgain(place, Reasons.quota_exceeded({ endpoint }, { why }))
  if (error.code === "being_deleted") return askedAgain(place, Reasons.being_deleted({ endpoint, database }, { why }))
  if (error.code === "internal") return Reasons.failing({ endpoint, request }, patience(error))
  if (error.retryable) return Reasons.busy({ endpoint, code }, patience(error))
  return askedAgain(place, Reasons.refused({ endpoint, request, database, code }, { why }))
}

/** The failure of a call as a pass says it. */
export const classify = (about: About, error: Failure): Disposition.ProvisionError => {
  const { place } = about
  const { endpoint, provider } = place
  const why = error.message
  switch (error._tag) {
    case "Refused":
      return refusal(about, error)
    case "InvalidOptions":
      return error.option === "token" ? tokenRefused(place, why) : Reasons.settings_invalid({ provider }, { why })
    case "Unreachable": {
      const cause = named(error.why)
      return isOfCertificate(error.why)
        ? askedAgain(place, Reasons.certificate_refused({ endpoint, provider, cause }, { why }))
        : Reasons.unreachable({ endpoint, cause }, { why })
    }
    case "UnexpectedAnswer":
      // What stands before a provider answers like this while there is none behind it.
      return Option.exists(error.status, (status) => status >= 500)
        ? Reasons.failing({ endpoint, request: unknown }, { why })
        : askedAgain(place, Reasons.no_provider({ endpoint, provider }, { why }))
  }
}

export const classified =
  (about: About) =>
  <A, R>(call: Effect.Effect<A, Failure, R>): Effect.Effect<A, Disposition.ProvisionError, R> =>
    Effect.mapError(call, (error) => classify(about, error))

/** Whether there is no such database, or none any more. */
export const isGone = (error: Failure): error is Refused<"database_not_found" | "database_deleted"> =>
  error._tag === "Refused" && (error.code === "database_not_found" || error.code === "database_deleted")

/** With the provider's reason, where it gives one. */
const stateOf = ({ phase, reason }: Summary): Identifier.Identifier => named(reason ?? phase)

/** Of a database that cannot be used yet. */
export const unfinished = (
  { database, place: { endpoint } }: About,
  summary: Summary,
  after?: Duration.Duration
): Disposition.ProvisionError => {
  const said = { endpoint, database, state: stateOf(summary) }
  if (summary.phase === "Failed") return Reasons.not_made(said)
  return Reasons.making(said, after === undefined ? {} : { after })
}

/** Of one that can be used still. */
export const closing = (
  { database, place: { endpoint } }: About,
  answer: { readonly database: Summary; readonly retryAfter: Duration.Duration }
): Disposition.ProvisionError =>
  Reasons.closing({ endpoint, database, state: stateOf(answer.database) }, { after: answer.retryAfter })
