/**
 * What a server's refusal means to a pass: the one place where errors of PostgreSQL become dispositions.
 *
 * **Guarantees**
 * - D7: what is shown names the shard and the SQLSTATE, never the server's words, which go to `why`.
 * - D11: whatever a server may recover from by itself, or by its administrator's hand, is Transient: a shard that is down or read-only
 *   delays its databases and fails none.
 *
 * @since 0.1.0
 */
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import { Effect, Match, Option } from "effect"
import type * as PostgresError from "./PostgresError.ts"

/**
 * The reasons that a server's refusals are shown with.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `unreachable` | no connection, or a server that starts, stops or is full | retried with backoff | see to the server if it lasts |
 * | `certificate_rejected` | no TLS, or a certificate that is not trusted | retried every minute | correct `caBundle`, `sslmode` or the certificate |
 * | `login_rejected` | the provisioner is not let in | retried every minute | correct the Secret, or pg_hba.conf |
 * | `connection_lost` | no answer to a statement | retried with backoff; each step bears to come twice | nothing |
 * | `read_only` | the server is a standby, or read-only | retried with backoff | point `primary` at the primary |
 * | `privilege_missing` | the provisioner may not | retried every minute | run preflight, which says what to grant |
 * | `busy` | the template, a lock or a row was in use | retried with backoff | nothing |
 * | `out_of_resources` | disk, memory or connections are used up | retried every minute | see to the server |
 * | `too_slow` | a statement was cancelled after its time | retried with backoff | see to the server if it lasts |
 * | `refused` | another SQLSTATE | retried with backoff | read the log |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("shard", {
  unreachable: Disposition.transient("The shard {shard} cannot be reached; trying again."),
  certificate_rejected: Disposition.transient("The certificate of the shard {shard} is not accepted; trying again."),
  login_rejected: Disposition.transient("The shard {shard} does not let the provider in; trying again."),
  connection_lost: Disposition.transient("The shard {shard} did not answer; trying again."),
  read_only: Disposition.transient("The shard {shard} is read-only; trying again."),
  privilege_missing: Disposition.transient("The provider lacks a privilege on the shard {shard}: preflight names it."),
  busy: Disposition.transient("The shard {shard} is busy with something that is needed; trying again."),
  out_of_resources: Disposition.transient("The shard {shard} has no more of what is needed ({code}); trying again."),
  too_slow: Disposition.transient("The shard {shard} took too long; trying again."),
  refused: Disposition.transient("The shard {shard} refused a statement ({code}); trying again.")
})

/** What people mend takes minutes. */
const slowly = "1 minute"

const unknownCode = Identifier.of("unknown")

const refused = (
  shard: Identifier.Identifier,
  error: PostgresError.StatementRefused
): Disposition.Transient<"shard"> => {
  const { sqlState } = error
  const code = Option.getOrElse(Identifier.fromString(sqlState), () => unknownCode)
  const details = { why: error.message, cause: error }
  switch (sqlState) {
    case "25006":
      return Reasons.read_only({ shard }, details)
    case "42501":
      return Reasons.privilege_missing({ shard }, { ...details, after: slowly })
    case "57014":
      return Reasons.too_slow({ shard }, details)
    // The template is in use, a lock was not had in time, two transactions met.
    case "55006":
    case "55P03":
    case "40001":
    case "40P01":
    case "23505":
      return Reasons.busy({ shard }, details)
    default:
      return sqlState.startsWith("53")
        ? Reasons.out_of_resources({ shard, code }, { ...details, after: slowly })
        : Reasons.refused({ shard, code }, details)
  }
}

/**
 * The disposition of an error of a shard.
 *
 * @category conversions
 * @since 0.1.0
 */
export const classify = (
  shard: Identifier.Identifier,
  error: PostgresError.PostgresError
): Disposition.Transient<"shard"> => {
  const details = { why: error.message, cause: error }
  return Match.valueTags(error, {
    Unreachable: () => Reasons.unreachable({ shard }, details),
    TlsRefused: () => Reasons.certificate_rejected({ shard }, { ...details, after: slowly }),
    LoginRefused: () => Reasons.login_rejected({ shard }, { ...details, after: slowly }),
    ConnectionLost: () => Reasons.connection_lost({ shard }, details),
    StatementRefused: (statement) => refused(shard, statement)
  })
}

/**
 * Turns the errors of a shard into dispositions, and leaves dispositions as they are.
 *
 * @category combinators
 * @since 0.1.0
 */
export const classified =
  (shard: Identifier.Identifier) =>
  <A, R>(
    self: Effect.Effect<A, Disposition.ProvisionError | PostgresError.PostgresError, R>
  ): Effect.Effect<A, Disposition.ProvisionError, R> =>
    Effect.mapError(self, (error) => (Disposition.isProvisionError(error) ? error : classify(shard, error)))
