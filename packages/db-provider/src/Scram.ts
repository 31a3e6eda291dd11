/**
 * SCRAM-SHA-256 verifiers, made here so that PostgreSQL never sees a password (RFC 5802, RFC 7677).
 *
 * **Guarantees**
 * - D7: what is sent is what the server would store; the password cannot be found from it but by guessing.
 *
 * **Caveats**
 * - Passwords are ASCII: others would have to be prepared by SASLprep first, and are refused.
 *
 * @since 0.1.0
 */
import { createHash, createHmac, pbkdf2, randomBytes } from "node:crypto"
import { Effect, Redacted } from "effect"

/**
 * What PostgreSQL uses itself. The provider's passwords have 256 bits: more rounds would only cost logins.
 *
 * @category constants
 * @since 0.1.0
 */
export const iterationsDefault = 4096

const saltBytes = 16

const derived = (password: string, salt: Buffer, iterations: number): Effect.Effect<Buffer> =>
  Effect.callback((resume) => {
    // A thread of its own: the processes that make databases serve requests, too.
    pbkdf2(password, salt, iterations, 32, "sha256", (error, key) =>
      resume(error === null ? Effect.succeed(key) : Effect.die(error))
    )
  })

const hmac = (key: Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest()

const isPrintableAscii = (text: string): boolean => /^[\x20-\x7e]+$/u.test(text)

/**
 * The verifier of a password, as `CREATE ROLE … PASSWORD` takes it.
 *
 * **Details**: each call has a salt of its own, unless one is given.
 *
 * **Errors**: dies for an empty password or one that is not printable ASCII, which the provider never makes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const verifier = Effect.fn("Scram.verifier")(function* (
  password: Redacted.Redacted,
  options: { readonly salt?: Buffer; readonly iterations?: number } = {}
) {
  const clear = Redacted.value(password)
  if (!isPrintableAscii(clear)) return yield* Effect.die(new Error("a password of other letters than ASCII's"))
  const { iterations = iterationsDefault, salt = randomBytes(saltBytes) } = options
  const salted = yield* derived(clear, salt, iterations)
  const storedKey = createHash("sha256").update(hmac(salted, "Client Key")).digest("base64")
  const serverKey = hmac(salted, "Server Key").toString("base64")
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${storedKey}:${serverKey}`
})
