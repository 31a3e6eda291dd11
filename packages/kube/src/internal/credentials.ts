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

/** How long what was read from files or a provider is used. The kubelet renews tokens minutes before they expire. */
const freshMs = 10_000

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
    ? Effect.undefined
    : Redacted.isRedacted(material)
      ? Effect.succeed(Redacted.value(material))
      : Effect.tryPromise({
          try: () => readFile(material.file, "utf8"),
          catch: () => new CredentialsUnavailable({ source: material.file, problem: "the file cannot be read" })
        })

const isFile = (material: Material | undefined): boolean => material !== undefined && !Redacted.isRedacted(material)

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

interface Proof {
  readonly authorization: Redacted.Redacted | undefined
  readonly certificate?: string | undefined
  readonly key?: Redacted.Redacted | undefined
  readonly expiresAtMs?: number
}

interface Read {
  readonly identity: Identity
  /** From when on it has to be read again. */
  readonly staleAtMs: number
}

/** What proves who one is, beside certificates, by the first of the ways that the connection has. */
const prove = Effect.fnUntraced(function* (
  connection: Connection,
  ca: string | undefined,
  provider: ReturnType<typeof AuthProvider.make> | undefined
): Effect.fn.Return<Proof, CredentialsUnavailable> {
  const token = (yield* readMaterial(connection.token))?.trim()
  if (token !== undefined) {
    if (token === "") {
      // Whoever writes the file is not done yet; a request without a token would be somebody else's.
      const { token: material } = connection
      const source = material === undefined || Redacted.isRedacted(material) ? "the token" : material.file
      return yield* new CredentialsUnavailable({ source, problem: "it is empty" })
    }
    return { authorization: Redacted.make(`Bearer ${token}`) }
  }
  if (connection.basic !== undefined) {
    const pair = `${connection.basic.username}:${Redacted.value(connection.basic.password)}`
    return { authorization: Redacted.make(`Basic ${Buffer.from(pair, "utf8").toString("base64")}`) }
  }
  if (connection.exec !== undefined) {
    const { token, ...given } = yield* ExecPlugin.run(connection.exec, connection, ca)
    return {
      ...given,
      authorization: token === undefined ? undefined : Redacted.make(`Bearer ${Redacted.value(token)}`)
    }
  }
  if (provider === undefined) return { authorization: undefined }
  return { authorization: yield* provider, expiresAtMs: (yield* Clock.currentTimeMillis) + freshMs }
})

const reader = (connection: Connection): Effect.Effect<Read, CredentialsUnavailable> => {
  const { authProvider } = connection
  const provider = authProvider === undefined ? undefined : AuthProvider.make(authProvider, connection.server)
  const headers = impersonation(connection)
  const fromFiles = [connection.ca, connection.clientCertificate, connection.clientKey, connection.token].some(isFile)
  return Effect.gen(function* () {
    const nowMs = yield* Clock.currentTimeMillis
    const ca = yield* readMaterial(connection.ca)
    const certificate = yield* readMaterial(connection.clientCertificate)
    const key = yield* readMaterial(connection.clientKey)
    const proof = yield* prove(connection, ca, provider)
    const identity = {
      authorization: proof.authorization,
      headers,
      ca,
      certificate: proof.certificate ?? certificate,
      key: proof.key ?? (key === undefined ? undefined : Redacted.make(key))
    }
    return { identity, staleAtMs: Math.min(fromFiles ? nowMs + freshMs : Infinity, proof.expiresAtMs ?? Infinity) }
  })
}

export const make = Effect.fnUntraced(function* (connection: Connection): Effect.fn.Return<Credentials> {
  // One reader at a time: a hundred requests that find the credentials stale start one command, not a hundred.
  const turn = yield* Semaphore.make(1)
  const read = reader(connection)
  let last: Read | undefined

  const readAnew = Effect.tap(read, (fresh) =>
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
