/** Credentials from a command, by the protocol of `client.authentication.k8s.io`. */
import { Effect, Option, Redacted, Schema } from "effect"
import { spawn } from "node:child_process"
import type { Connection, ExecCommand } from "../Connection.ts"
import { CredentialsUnavailable } from "./credentialsUnavailable.ts"

/** An answer longer than this is none. */
const outputCharsMax = 1_000_000

/** Credentials are renewed this long before they expire, so that none expires on its way. */
const leewayMs = 10_000

const ExecCredential = Schema.fromJsonString(
  Schema.Struct({
    kind: Schema.Literal("ExecCredential"),
    status: Schema.Struct({
      token: Schema.optionalKey(Schema.String),
      clientCertificateData: Schema.optionalKey(Schema.String),
      clientKeyData: Schema.optionalKey(Schema.String),
      expirationTimestamp: Schema.optionalKey(Schema.NullOr(Schema.String))
    })
  })
)

export interface ExecGiven {
  readonly token: Redacted.Redacted | undefined
  readonly certificate: string | undefined
  readonly key: Redacted.Redacted | undefined
  /** When they should be renewed; Infinity where the command names no end. */
  readonly expiresAtMs: number
}

const execInfo = (exec: ExecCommand, connection: Connection, ca: string | undefined): string =>
  JSON.stringify({
    apiVersion: exec.apiVersion,
    kind: "ExecCredential",
    spec: {
      interactive: false,
      ...(exec.provideClusterInfo
        ? {
            cluster: {
              server: connection.server,
              ...(connection.tlsServerName === undefined ? {} : { "tls-server-name": connection.tlsServerName }),
              ...(connection.insecureSkipTlsVerify ? { "insecure-skip-tls-verify": true } : {}),
              ...(ca === undefined ? {} : { "certificate-authority-data": Buffer.from(ca).toString("base64") })
            }
          }
        : {})
    }
  })

/** What the command prints. Its standard error is dropped, since it may hold secrets. */
const output = (exec: ExecCommand, info: string): Effect.Effect<string, CredentialsUnavailable> =>
  Effect.callback((resume) => {
    const failed = (problem: string) =>
      resume(Effect.fail(new CredentialsUnavailable({ source: exec.command, problem })))
    const child = spawn(exec.command, [...exec.args], {
      env: { ...process.env, ...Redacted.value(exec.env), KUBERNETES_EXEC_INFO: info },
      stdio: ["ignore", "pipe", "ignore"]
    })
    const chunks: Array<string> = []
    let length = 0
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (chunk: string) => {
      length += chunk.length
      if (length > outputCharsMax) child.kill("SIGKILL")
      else chunks.push(chunk)
    })
    child.on("error", (error: NodeJS.ErrnoException) =>
      failed(error.code === "ENOENT" ? "the command does not exist" : "the command cannot be run")
    )
    child.on("close", (code, signal) =>
      code === 0
        ? resume(Effect.succeed(chunks.join("")))
        : failed(code === null ? `the command was ended by ${signal}` : `the command exited with ${code}`)
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

export const run = Effect.fnUntraced(function* (
  exec: ExecCommand,
  connection: Connection,
  ca: string | undefined
): Effect.fn.Return<ExecGiven, CredentialsUnavailable> {
  const text = yield* output(exec, execInfo(exec, connection, ca))
  const decoded = Schema.decodeUnknownOption(ExecCredential)(text)
  if (Option.isNone(decoded)) {
    return yield* new CredentialsUnavailable({ source: exec.command, problem: "it printed no ExecCredential" })
  }
  const { clientCertificateData, clientKeyData, expirationTimestamp, token } = decoded.value.status
  const expiresAtMs = Date.parse(expirationTimestamp ?? "")
  return {
    token: token === undefined || token === "" ? undefined : Redacted.make(token),
    certificate: clientCertificateData,
    key: clientKeyData === undefined ? undefined : Redacted.make(clientKeyData),
    expiresAtMs: Number.isNaN(expiresAtMs) ? Infinity : expiresAtMs - leewayMs
  }
})
