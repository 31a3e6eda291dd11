/** Certificates for tests, made on the spot: just enough of X.509 for TLS between two ends of one test. */
import { type KeyObject, generateKeyPairSync, randomBytes, sign } from "node:crypto"

export interface Issued {
  readonly certificate: string
  readonly key: string
}

/** As short as it can be: Go reads nothing else. */
const lengthOf = (length: number): ReadonlyArray<number> => {
  if (length < 128) return [length]
  return length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
}

const tlv = (tag: number, ...content: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(content)
  return Buffer.concat([Buffer.from([tag, ...lengthOf(body.length)]), body])
}
const sequence = (...content: ReadonlyArray<Uint8Array>) => tlv(0x30, ...content)
const oid = (hex: string) => tlv(0x06, Buffer.from(hex, "hex"))
const name = (common: string) => sequence(tlv(0x31, sequence(oid("550403"), tlv(0x0c, Buffer.from(common, "utf8")))))
const time = (date: Date) =>
  tlv(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`, "ascii"))
const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"))

const dayMs = 86_400_000

const build = (options: {
  readonly issuer: string
  readonly subject: string
  readonly authority: boolean
  readonly publicKey: KeyObject
  readonly signer: KeyObject
  readonly host?: string | undefined
}): string => {
  const nowMs = Date.now()
  const extension = options.authority
    ? sequence(oid("551d13"), tlv(0x01, Buffer.from([0xff])), tlv(0x04, sequence(tlv(0x01, Buffer.from([0xff])))))
    : // The alternative names: 127.0.0.1, and a name where one is given.
      sequence(
        oid("551d11"),
        tlv(
          0x04,
          sequence(
            tlv(0x87, Buffer.from([127, 0, 0, 1])),
            ...(options.host === undefined ? [] : [tlv(0x82, Buffer.from(options.host, "ascii"))])
          )
        )
      )
  const body = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.from([1]), randomBytes(8)),
    ecdsaWithSha256,
    name(options.issuer),
    sequence(time(new Date(nowMs - dayMs)), time(new Date(nowMs + dayMs))),
    name(options.subject),
    options.publicKey.export({ type: "spki", format: "der" }),
    tlv(0xa3, sequence(extension))
  )
  const signature = tlv(0x03, Buffer.from([0]), sign("sha256", body, options.signer))
  const base64 = sequence(body, ecdsaWithSha256, signature).toString("base64")
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`
}

const newKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" })

/** A certificate authority, which issues certificates for 127.0.0.1, for a host of that name, and for clients. */
export const makeAuthority = (issuer: string) => {
  const authority = newKeys()
  const issue = (subject: string, host?: string): Issued => {
    const { privateKey, publicKey } = newKeys()
    return {
      certificate: build({ issuer, subject, authority: false, publicKey, signer: authority.privateKey, host }),
      key: privateKey.export({ type: "pkcs8", format: "pem" })
    }
  }
  const certificate = build({
    issuer,
    subject: issuer,
    authority: true,
    publicKey: authority.publicKey,
    signer: authority.privateKey
  })
  return { certificate, issue }
}
