/**
 * A certificate for a server on loopback, which is its own authority.
 *
 * **Caveats**
 * - It is valid from 2020 to 2049 by the clock of the machine, which is what clients compare with, whatever the clock of the test says.
 *
 * @since 0.1.0
 */
import * as pki from "./internal/pki.ts"

/**
 * Both as PEM.
 *
 * @category models
 * @since 0.1.0
 */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/**
 * Makes a key, and a certificate of `localhost` and 127.0.0.1 for it. No two are the same.
 *
 * **Example** (A server with TLS)
 * ```ts
 * import * as Certificate from "@berth/testing/Certificate"
 * import { createServer } from "node:https"
 *
 * export const server = createServer(Certificate.selfSigned(), (_, response) => response.end("hello"))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const selfSigned = (): Certificate => pki.selfSigned("berth-embedded", ["127.0.0.1", "localhost"])
