/**
 * Who a connection says it is, at one moment: read from the connection's data, files, command or token provider, kept while
 * it is fresh, and read again when the server refuses it.
 */
import { Clock, Effect, Redacted, Semaphore } from "effect"
import { readFile } from "node:fs/promises"
import type { Connection, Material } from "../Connection.ts"
import * as AuthProvider from "./authProvider.ts"
import { CredentialsUnavailable } from "./credentialsUnavailable.ts"
import * as ExecPlugin from "./execPlugin.ts"

/** How long what was read from files is used. The kubelet renews tokens minutes before they expire. */
const filesFreshMs = 10_000

export interface Identity {
  readonly authorization: Redacted.Redacted | undefined
  /** Impersonation. */
  readonly headers: Readonly<Record<string, ReadonlyArray<string>>>
  readonly ca: string | undefined
  readonly certificate: string | undefined
  readonly key: Redacted.Redacted | undefined
}

export interface Credentials {
  readonly current: Effect.Effect<Identity, CredentialsUnavailable>
  /** Reads everything anew, unless that has happened since `refused` was given out. */
  readonly refresh: (refused: Identity) => Effect.Effect<Identity, CredentialsUnavailable>
}

const reveal = (secret: Redacted.Redacted | undefined): string | undefined =>
  secret === undefined ? undefined : Redacted.value(secret)

/** Whether two identities say the same to the server. */
export const same = (left: Identity, right: Identity): boolean =>
  reveal(left.authorization) === reveal(right.authorization) &&
  left.certificate === right.certificate &&
  reveal(left.key) === reveal(right.key)

const readMaterial = (material: Material | undefined): Effect.Effect<string | undefined, CredentialsUnavailable> =>
  material === undefined
    ? Effect.succeed(undefined)
    : Redacted.isRedacted(material)
      ? Effect.succeed(Redacted.value(material))
      : Effect.tryPromise({
          try: () => readFile(material.file, "utf8"),
          catch: () => new CredentialsUnavailable({ source: material.file, problem: "the file cannot be read" })
        })

const isFile = (material: Material | undefined): boolean => material !== undefined && !Redacted.isRedacted(material)

const secret = (text: string | undefined): Redacted.Redacted | undefined =>
  text === undefined ? undefined : Redacted.make(text)

const impersonation = ({ impersonate }: Connection): Readonly<Record<string, ReadonlyArray<string>>> =>
  impersonate === undefined
    ? {}
    : {
        "impersonate-user": [impersonate.user],
        ...(impersonate.uid === undefined ? {} : { "impersonate-uid": [impersonate.uid] }),
        ...(impersonate.groups === undefined ? {} : { "impersonate-group": impersonate.groups }),
        ...Object.fromEntries(
          Object.entries(impersonate.extra ?? {}).map(([name, values]) => [
            `impersonate-extra-${encodeURIComponent(name.toLowerCase())}`,
            values
          ])
        )
      }

interface Read {
  readonly identity: Identity
  /** From when on it has to be read again. */
  readonly staleAtMs: number
}

const read = Effect.fnUntraced(function* (connection: Connection): Effect.fn.Return<Read, CredentialsUnavailable> {
  const nowMs = yield* Clock.currentTimeMillis
  const ca = yield* readMaterial(connection.ca)
  const certificate = yield* readMaterial(connection.clientCertificate)
  const key = yield* readMaterial(connection.clientKey)
  const token = yield* readMaterial(connection.token)
  const base = { headers: impersonation(connection), ca, certificate, key: secret(key) }
  const files = [connection.ca, connection.clientCertificate, connection.clientKey, connection.token].some(isFile)
  const staleAtMs = files ? nowMs + filesFreshMs : Infinity
  if (token !== undefined) {
    return { identity: { ...base, authorization: Redacted.make(`Bearer ${token.trim()}`) }, staleAtMs }
  }
  if (connection.basic !== undefined) {
    const pair = `${connection.basic.username}:${Redacted.value(connection.basic.password)}`
    const authorization = Redacted.make(`Basic ${Buffer.from(pair, "utf8").toString("base64")}`)
    return { identity: { ...base, authorization }, staleAtMs }
  }
  if (connection.exec !== undefined) {
    const given = yield* ExecPlugin.run(connection.exec, connection, ca)
    const identity = {
      ...base,
      authorization: given.token === undefined ? undefined : Redacted.make(`Bearer ${Redacted.value(given.token)}`),
      certificate: given.certificate ?? certificate,
      key: given.key ?? base.key
    }
    return { identity, staleAtMs: Math.min(staleAtMs, given.expiresAtMs) }
  }
  if (connection.authProvider !== undefined) {
    const authorization = yield* AuthProvider.authorization(connection.authProvider, connection.server)
    return { identity: { ...base, authorization }, staleAtMs: Math.min(staleAtMs, nowMs + filesFreshMs) }
  }
  return { identity: { ...base, authorization: undefined }, staleAtMs }
})

export const make = Effect.fnUntraced(function* (connection: Connection): Effect.fn.Return<Credentials> {
  // One reader at a time: a hundred requests that find the credentials stale start one command, not a hundred.
  const turn = yield* Semaphore.make(1)
  let last: Read | undefined

  const readAnew = Effect.tap(read(connection), (fresh) =>
    Effect.sync(() => {
      last = fresh
    })
  )

  const current = Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
    last !== undefined && nowMs < last.staleAtMs
      ? Effect.succeed(last.identity)
      : turn.withPermit(
          Effect.suspend(() =>
            last !== undefined && nowMs < last.staleAtMs
              ? Effect.succeed(last.identity)
              : Effect.map(readAnew, ({ identity }) => identity)
          )
        )
  )

  const refresh = (refused: Identity) =>
    turn.withPermit(
      Effect.suspend(() =>
        last !== undefined && last.identity !== refused
          ? Effect.succeed(last.identity)
          : Effect.map(readAnew, ({ identity }) => identity)
      )
    )
  return { current, refresh }
})
