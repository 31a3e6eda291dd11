/**
 * A certificate for a server on loopback, which is its own authority.
 *
 * **Caveats**
 * - It is valid from 2020 to 2049 by the clock of the machine, which is what clients compare with, whatever the clock of the test says.
 *
 * @since 0.1.0
 */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto"

/** A DER element: its tag, how long it is, and what it holds. */
const der = (tag: number, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: ReadonlyArray<Buffer>) => der(0x30, ...parts)
const octets = (content: Buffer) => der(0x04, content)
const bits = (content: Buffer) => der(0x03, Buffer.from([0]), content)
const time = (text: string) => der(0x17, Buffer.from(text))
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"))

const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"))
const name = sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from("berth-embedded")))))
const alternativeNames = sequence(
  oid("551d11"),
  octets(sequence(der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, Buffer.from("localhost"))))
)
const isAuthority = sequence(
  oid("551d13"),
  der(0x01, Buffer.from([0xff])),
  octets(sequence(der(0x01, Buffer.from([0xff]))))
)

/** Not from the clock of the test: clients compare with the time of the machine. */
const validity = sequence(time("200101000000Z"), time("491231235959Z"))

const pem = (label: string, content: Buffer): string =>
  `-----BEGIN ${label}-----\n${content
    .toString("base64")
    .replaceAll(/.{64}/gu, "$&\n")
    .trimEnd()}\n-----END ${label}-----\n`

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
export const selfSigned = (): Certificate => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const serial = Buffer.concat([Buffer.from([0x01]), randomBytes(15)])
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(alternativeNames, isAuthority))
  )
  const signed = sequence(toBeSigned, ecdsaWithSha256, bits(sign("sha256", toBeSigned, privateKey)))
  return { cert: pem("CERTIFICATE", signed), key: privateKey.export({ type: "pkcs8", format: "pem" }) }
}
