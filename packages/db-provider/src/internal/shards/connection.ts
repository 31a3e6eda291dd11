/** Why a server lets nobody in, in words that its administrator can act on: of what the driver said nothing is shown. */
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import { isPostgresError, type PostgresError } from "../../PostgresError.ts"
import * as PostgresFailure from "../../PostgresFailure.ts"
import type { Shard } from "../../Shard.ts"
import * as TenantCreation from "../../TenantCreation.ts"
import { ofName } from "../shown.ts"
import { Reasons } from "./reasons.ts"

type ProvisionError = Disposition.ProvisionError
type Details = Disposition.Details<"Transient">
type Part = "primary" | "endpoint"

/** Those that say of a connection only that there is none. */
const general: Record<Part, ReadonlyArray<(failure: ProvisionError) => boolean>> = {
  primary: [
    PostgresFailure.Reasons.unreachable.is,
    PostgresFailure.Reasons.certificate_rejected.is,
    PostgresFailure.Reasons.login_rejected.is
  ],
  endpoint: [TenantCreation.Reasons.endpoint_unreachable.is, TenantCreation.Reasons.endpoint_certificate.is]
}

const parametersOf = ({ metadata, spec }: Shard, part: Part) => {
  const { host, port } = spec[part]
  return { shard: metadata.name, part: Identifier.of(part), host: ofName(host), port }
}
type Parameters = ReturnType<typeof parametersOf>

const unreachable = (problem: string, parameters: Parameters, details: Details): ProvisionError | undefined => {
  const { shard } = parameters
  if (/\b(?:ENOTFOUND|EAI_AGAIN)\b/u.test(problem)) return Reasons.name_unknown(parameters, details)
  if (/\bECONNREFUSED\b/u.test(problem)) return Reasons.connection_refused(parameters, details)
  if (/\b(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b|^timeout expired$/u.test(problem)) {
    return Reasons.no_answer(parameters, details)
  }
  if (/^SQLSTATE 53300\b/u.test(problem)) return Reasons.too_many_connections({ shard }, details)
  if (problem.startsWith("SQLSTATE 57P")) return Reasons.not_serving({ shard }, details)
}

const noTls = /does not support SSL connections/u
const ofAnotherName = /altnames|hostname mismatch/iu
const outOfTime = /has expired|is not yet valid/iu
const untrusted = /self[- ]signed|unable to (?:verify|get)|invalid CA/iu

const tls = (problem: string, parameters: Parameters, details: Details): ProvisionError | undefined => {
  if (noTls.test(problem)) return Reasons.no_tls(parameters, details)
  if (ofAnotherName.test(problem)) return Reasons.certificate_name(parameters, details)
  if (outOfTime.test(problem)) return Reasons.certificate_expired(parameters, details)
  if (untrusted.test(problem)) return Reasons.certificate_untrusted(parameters, details)
}

const login = (sqlState: string, { metadata, spec }: Shard, details: Details): ProvisionError | undefined => {
  const shard = metadata.name
  const role = ofName(spec.primary.user)
  const database = ofName(spec.primary.database)
  switch (sqlState) {
    case "28P01":
      return Reasons.password_refused({ shard, role, secret: spec.provisionerSecretRef.name }, details)
    case "28000":
      return Reasons.role_refused({ shard, role }, details)
    case "3D000":
      return Reasons.database_missing({ shard, database }, details)
    case "42501":
      return Reasons.connect_missing({ shard, role, database }, details)
  }
}

const causeOf = (shard: Shard, part: Part, error: PostgresError, details: Details): ProvisionError | undefined => {
  switch (error._tag) {
    case "Unreachable":
      return unreachable(error.problem, parametersOf(shard, part), details)
    case "TlsRefused":
      return tls(error.problem, parametersOf(shard, part), details)
    case "LoginRefused":
      return login(error.sqlState, shard, details)
    case "ConnectionLost":
    case "StatementRefused":
      return undefined
  }
}

/** A failure that says no more than that there is no connection, with its cause; any other one, or one of unknown cause, as it is. */
export const explained = (shard: Shard, failure: ProvisionError): ProvisionError => {
  const { cause } = failure
  if (failure._tag !== "Transient" || !isPostgresError(cause)) return failure
  const isOf = (part: Part) => general[part].some((is) => is(failure))
  const part = isOf("primary") ? "primary" : isOf("endpoint") ? "endpoint" : undefined
  if (part === undefined) return failure
  const { after, why } = failure
  const details = { cause, ...(why === undefined ? {} : { why }), ...(after === undefined ? {} : { after }) }
  return causeOf(shard, part, cause, details) ?? failure
}
