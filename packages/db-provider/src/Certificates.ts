/**
 * The certificate and key that a server shows, followed in their files.
 *
 * **Guarantees**
 * - D18: what is new in the files is shown to new connections within the interval; those that are open go on. A pair that cannot be used
 *   leaves the one before in place, with a line in the log and `berth_db_certificate_current` at 0.
 *
 * **Caveats**
 * - Files are read at an interval, and not watched: how Kubernetes swaps the folder of a Secret is then of no matter, and neither is that
 *   the two are not written at the same moment.
 *
 * @since 0.1.0
 */
import { createHash, X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import type { SecureContextOptions } from "node:tls"
import { createSecureContext } from "node:tls"
import { Data, Duration, Effect, Schedule, type Scope } from "effect"
import * as ProviderMetrics from "./ProviderMetrics.ts"

/**
 * Where they are, as PEM.
 *
 * @category models
 * @since 0.1.0
 */
export interface Files {
  /** The server's certificate first, then those that lead to its authority. */
  readonly certificateFile: string
  readonly keyFile: string
}

/**
 * They cannot be used.
 *
 * @category errors
 * @since 0.1.0
 */
export class CertificateInvalid extends Data.TaggedError("CertificateInvalid")<
  Files & {
    /** A code such as `ENOENT` or `ERR_OSSL_X509_KEY_VALUES_MISMATCH`. */
    readonly code: string
  }
> {
  override get message() {
    return `the certificate ${this.certificateFile} (--tls-certificate) and the key ${this.keyFile} (--tls-key) cannot be used: ${this.code}`
  }
}

/**
 * A certificate and its key.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pair {
  readonly cert: Buffer
  readonly key: Buffer
  readonly notAfter: Date
}

/**
 * Who shows it: a server of `node:tls` or `node:https`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Shown {
  readonly setSecureContext: (options: SecureContextOptions) => void
}

/**
 * TLS 1.2 or newer.
 *
 * @category constants
 * @since 0.1.0
 */
export const minVersion = "TLSv1.2"

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : "they are not PEM"

const contents = (files: Files): Effect.Effect<readonly [Buffer, Buffer], CertificateInvalid> =>
  Effect.tryPromise({
    try: () => Promise.all([readFile(files.certificateFile), readFile(files.keyFile)]),
    catch: (cause) => new CertificateInvalid({ ...files, code: codeOf(cause) })
  })

const pairOf = (files: Files, cert: Buffer, key: Buffer): Effect.Effect<Pair, CertificateInvalid> =>
  Effect.try({
    try: () => {
      createSecureContext({ cert, key })
      return { cert, key, notAfter: new Date(new X509Certificate(cert).validTo) }
    },
    catch: (cause) => new CertificateInvalid({ ...files, code: codeOf(cause) })
  })

/**
 * Reads them.
 *
 * **Errors**: {@link CertificateInvalid}, also where the key is another certificate's.
 *
 * @category constructors
 * @since 0.1.0
 */
export const read = (files: Files): Effect.Effect<Pair, CertificateInvalid> =>
  Effect.flatMap(contents(files), ([cert, key]) => pairOf(files, cert, key))

const fingerprint = (cert: Buffer, key: Buffer): string =>
  createHash("sha256").update(cert).update("\0").update(key).digest("hex")

/**
 * Shows what comes to be in the files, until the scope closes.
 *
 * **Details**: `interval` is how often they are read. Default 10 s.
 *
 * @category constructors
 * @since 0.1.0
 */
export const follow = Effect.fnUntraced(function* (
  server: Shown,
  files: Files,
  shown: Pair,
  interval: Duration.Input = "10 seconds"
): Effect.fn.Return<void, never, Scope.Scope> {
  let { notAfter } = shown
  let last = fingerprint(shown.cert, shown.key)
  yield* ProviderMetrics.certificateServed(notAfter, true)

  const look = Effect.gen(function* () {
    const [cert, key] = yield* contents(files)
    const current = fingerprint(cert, key)
    if (current === last) return
    // Also where it is of no use: it is complained of once.
    last = current
    const pair = yield* pairOf(files, cert, key)
    server.setSecureContext({ cert, key, minVersion })
    notAfter = pair.notAfter
    yield* ProviderMetrics.certificateServed(notAfter, true)
    yield* Effect.logInfo("a new certificate is shown", { notAfter: notAfter.toISOString() })
  }).pipe(
    Effect.catch((error) =>
      Effect.andThen(
        Effect.logError(`${error.message}; the one before is shown on`),
        ProviderMetrics.certificateServed(notAfter, false)
      )
    )
  )
  yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced(interval)))
})
