/** Why a slice waits for its database provider; documented at `DatabaseProviderBackend.Reasons`. */
import * as Disposition from "@berth/provisioners/Disposition"

export const Reasons = Disposition.vocabulary("database_provider", {
  making: Disposition.yield("The database provider {endpoint} is making the database {database}: {state}."),
  closing: Disposition.yield("The database provider {endpoint} is closing the database {database}: {state}."),
  asked_again: Disposition.transient("The database provider {endpoint} is asked again, with growing pauses."),
  unreachable: Disposition.transient("The database provider {endpoint} cannot be reached ({cause}); trying again."),
  failing: Disposition.transient("The database provider {endpoint} failed at the request {request}; trying again."),
  busy: Disposition.transient("The database provider {endpoint} cannot answer now ({code}); trying again."),
  not_made: Disposition.transient(
    "The database provider {endpoint} could not make the database {database} ({state}); asking again."
  ),
  certificate_refused: Disposition.userActionRequired(
    "The certificate of the database provider {endpoint} is not trusted ({cause}): correct caBundle in {provider}, or the certificate."
  ),
  token_refused: Disposition.userActionRequired(
    "The database provider {endpoint} does not accept the token {key} of the Secret {secret} in the namespace {namespace}: put a valid one there."
  ),
  consumer_disabled: Disposition.userActionRequired(
    "The database provider {endpoint} has disabled the consumer whose token is in the Secret {secret}: ask whoever runs it."
  ),
  quota_exceeded: Disposition.userActionRequired(
    "The consumer at the database provider {endpoint} has as many databases as it may: raise its quota, or remove some. Deleted ones count until they are dropped."
  ),
  being_deleted: Disposition.userActionRequired(
    "The database provider {endpoint} keeps a deleted database {database} for its grace period: have it recovered there, or wait until it is dropped."
  ),
  database_missing: Disposition.userActionRequired(
    "The database provider {endpoint} does not know the database {database}, which was in use: correct the endpoint, or the token in the Secret {secret}; or, if it is gone for good, give this slice up by berth.dev/abandon with its UID {uid}."
  ),
  refused: Disposition.userActionRequired(
    "The database provider {endpoint} refused the request {request} for the database {database}: {code}."
  ),
  no_provider: Disposition.userActionRequired(
    "What answers at {endpoint} is not a database provider: correct the endpoint in {provider}."
  ),
  settings_invalid: Disposition.userActionRequired(
    "What the provider {provider} says of its database provider cannot be read: correct it, or spec.capsule.backend of this slice."
  )
})
