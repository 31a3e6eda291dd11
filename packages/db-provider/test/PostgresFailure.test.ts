import * as Identifier from "@berth/provisioners/Identifier"
import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { DatabaseError } from "pg"
import * as pgErrors from "../src/internal/pgErrors.ts"
import * as PostgresError from "../src/PostgresError.ts"
import * as PostgresFailure from "../src/PostgresFailure.ts"

const shard = Identifier.of("shard-a")

const said = (code: string, message: string): DatabaseError =>
  Object.assign(new DatabaseError(message, message.length, "error"), { code })

describe("PostgresFailure", () => {
  const refusals: ReadonlyArray<readonly [string, string, number | undefined]> = [
    ["25006", "read_only", undefined],
    ["42501", "privilege_missing", 60],
    ["57014", "too_slow", undefined],
    ["55006", "busy", undefined],
    ["55P03", "busy", undefined],
    ["40001", "busy", undefined],
    ["40P01", "busy", undefined],
    ["23505", "busy", undefined],
    ["53100", "out_of_resources", 60],
    ["53300", "out_of_resources", 60],
    ["42601", "refused", undefined],
    ["XX000", "refused", undefined],
    ["", "refused", undefined]
  ]
  it.each(refusals)("D11: SQLSTATE %j is %s", (sqlState, reason, afterSeconds) => {
    const error = new PostgresError.StatementRefused({ sqlState, problem: "the server's words" })

    const failure = PostgresFailure.classify(shard, error)

    assert.deepInclude(failure, { _tag: "Transient", vocabulary: "shard", reason })
    assert.strictEqual(failure.after === undefined ? undefined : Duration.toSeconds(failure.after), afterSeconds)
    assert.notInclude(failure.message, "words")
    assert.include(failure.why, "words")
  })

  const connecting: ReadonlyArray<readonly [string, unknown, string]> = [
    ["a wrong password", said("28P01", "password authentication failed"), "login_rejected"],
    ["pg_hba.conf", said("28000", "no pg_hba.conf entry"), "login_rejected"],
    ["a server that starts", said("57P03", "the database system is starting up"), "unreachable"],
    ["a server that is full", said("53300", "too many clients"), "unreachable"],
    ["no server", Object.assign(new Error(""), { code: "ECONNREFUSED" }), "unreachable"],
    ["no TLS", new Error("The server does not support SSL connections"), "certificate_rejected"],
    ["another's certificate", Object.assign(new Error("x"), { code: "CERT_HAS_EXPIRED" }), "certificate_rejected"],
    ["another name", Object.assign(new Error("x"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" }), "certificate_rejected"],
    ["something that is no error", "thrown", "unreachable"]
  ]
  it.each(connecting)("D11: connecting to %s is told by meaning", (_, thrown, reason) => {
    assert.strictEqual(PostgresFailure.classify(shard, pgErrors.ofConnect(thrown)).reason, reason)
  })

  const lost: ReadonlyArray<readonly [string, unknown]> = [
    ["a shutdown", said("57P01", "terminating connection due to administrator command")],
    ["a crash", said("57P02", "crash of another server process")],
    ["a socket that closed", new Error("Connection terminated unexpectedly")],
    ["no answer", new Error("Query read timeout")]
  ]
  it.each(lost)("D3: %s in the middle of a statement may have had effect", (_, thrown) => {
    const error = pgErrors.ofStatement(thrown)

    assert.strictEqual(error._tag, "ConnectionLost")
    assert.strictEqual(PostgresFailure.classify(shard, error).reason, "connection_lost")
  })

  it("D7: a syntax error, which quotes what was sent, is not quoted", () => {
    const error = pgErrors.ofStatement(said("42601", 'syntax error at or near "SCRAM-SHA-256$secret"'))

    assert.notInclude(error.message, "secret")
  })

  it("the SQLSTATE of an answer is there to be counted", () => {
    assert.strictEqual(PostgresError.sqlStateOf(pgErrors.ofStatement(said("42P04", "x"))), "42P04")
    assert.strictEqual(PostgresError.sqlStateOf(pgErrors.ofStatement(new Error("x"))), "")
  })
})
