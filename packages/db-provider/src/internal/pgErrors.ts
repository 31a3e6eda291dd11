/** What the driver throws, by meaning. */
import * as CertificateProblem from "@berth/kube/CertificateProblem"
import { DatabaseError } from "pg"
import {
  ConnectionLost,
  LoginRefused,
  type PostgresError,
  StatementRefused,
  TlsRefused,
  Unreachable
} from "../PostgresError.ts"

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error("an unknown failure"))

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : "")

/** Fields of a Shard, beside the host that was connected to. */
const settings = {
  authority: "put its authority into caBundle",
  name: "say a host that is in it, or the sslmode verify-ca"
}

const wordsOf = (error: Error): string => CertificateProblem.explain(error, settings)

/** A syntax error quotes the place where it was found, which may be a verifier. */
const problemOf = (error: DatabaseError): string => (error.code === "42601" ? "syntax error" : error.message)

/** OpenSSL's verdicts, Node's own, and the server's "no". */
const tlsCodes = /^(?:ERR_(?:TLS|SSL)|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/u
const noTls = "The server does not support SSL connections"

/** FATAL messages of these classes end a session that was let in: shutdown, crash, an administrator's hand. */
const endsSession = /^(?:08|57P0[1-5])/u

export const ofConnect = (thrown: unknown): PostgresError => {
  const error = asError(thrown)
  if (error instanceof DatabaseError) {
    const sqlState = error.code ?? ""
    // What the server says of itself, not of who asks: starting, stopping, full. 08P01 is a pooler's word for a lookup that failed.
    return /^(?:08(?!P01)|53|57P)/u.test(sqlState)
      ? new Unreachable({ problem: `SQLSTATE ${sqlState}: ${error.message}` })
      : new LoginRefused({ sqlState, problem: error.message })
  }
  if (error.message === noTls || tlsCodes.test(codeOf(error))) return new TlsRefused({ problem: wordsOf(error) })
  return new Unreachable({ problem: wordsOf(error) })
}

export const ofStatement = (thrown: unknown): PostgresError => {
  const error = asError(thrown)
  if (!(error instanceof DatabaseError)) return new ConnectionLost({ problem: wordsOf(error) })
  const sqlState = error.code ?? ""
  return endsSession.test(sqlState)
    ? new ConnectionLost({ problem: `SQLSTATE ${sqlState}: ${error.message}` })
    : new StatementRefused({ sqlState, problem: problemOf(error) })
}
