/**
 * Why a server did not do what it was asked, by meaning.
 *
 * **Guarantees**
 * - D7: no error has a statement, a value or a password in it. What the server said is in `problem`, for logs; where a server quotes
 *   the text it was sent, that is left out.
 *
 * @since 0.1.0
 */
import { Data } from "effect"

/**
 * No connection: the server is not there, or does not answer in time.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unreachable extends Data.TaggedError("Unreachable")<{ readonly problem: string }> {
  override get message() {
    return `cannot connect: ${this.problem}`
  }
}

/**
 * The server has no TLS, or its certificate is not trusted or not for its name.
 *
 * @category errors
 * @since 0.1.0
 */
export class TlsRefused extends Data.TaggedError("TlsRefused")<{ readonly problem: string }> {
  override get message() {
    return `cannot connect by TLS: ${this.problem}`
  }
}

/**
 * The server answered, and let nobody in.
 *
 * @category errors
 * @since 0.1.0
 */
export class LoginRefused extends Data.TaggedError("LoginRefused")<{
  /** `28P01` for a wrong password, `42501` for a database that may not be connected to, … */
  readonly sqlState: string
  readonly problem: string
}> {
  override get message() {
    return `the login was refused (SQLSTATE ${this.sqlState}): ${this.problem}`
  }
}

/**
 * The server refused a statement, which had no effect.
 *
 * @category errors
 * @since 0.1.0
 */
export class StatementRefused extends Data.TaggedError("StatementRefused")<{
  readonly sqlState: string
  readonly problem: string
}> {
  override get message() {
    return `the server refused a statement (SQLSTATE ${this.sqlState}): ${this.problem}`
  }
}

/**
 * The connection broke, or the answer did not come in time. The statement may have taken effect.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConnectionLost extends Data.TaggedError("ConnectionLost")<{ readonly problem: string }> {
  override get message() {
    return `the connection was lost: ${this.problem}`
  }
}

/**
 * Why a server did not do what it was asked.
 *
 * @category models
 * @since 0.1.0
 */
export type PostgresError = Unreachable | TlsRefused | LoginRefused | StatementRefused | ConnectionLost

/**
 * Whether something is one of them.
 *
 * @category guards
 * @since 0.1.0
 */
export const isPostgresError = (u: unknown): u is PostgresError =>
  [Unreachable, TlsRefused, LoginRefused, StatementRefused, ConnectionLost].some((error) => u instanceof error)

/**
 * The SQLSTATE of the server's answer; empty where there was none.
 *
 * @category getters
 * @since 0.1.0
 */
export const sqlStateOf = (error: PostgresError): string => ("sqlState" in error ? error.sqlState : "")
