/** Certificates in DER, as X.509 (RFC 5280) has them: an authority, and what it vouches for. Keys are ECDSA P-256. */
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"

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
const text = (content: string) => der(0x0c, Buffer.from(content))
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"))
const yes = der(0x01, Buffer.from([0xff]))

const oids = {
  commonName: "550403",
  organization: "55040a",
  basicConstraints: "551d13",
  keyUsage: "551d0f",
  extendedKeyUsage: "551d25",
  alternativeNames: "551d11",
  serverAuth: "2b06010505070301",
  clientAuth: "2b06010505070302",
  ecdsaWithSha256: "2a8648ce3d040302"
} as const

const algorithm = sequence(oid(oids.ecdsaWithSha256))
/** Of the machine's time, not of a test's clock: programs that are no part of the test compare with it. */
const validity = sequence(der(0x17, Buffer.from("200101000000Z")), der(0x17, Buffer.from("491231235959Z")))

/** Whom a certificate is for. The API server takes `commonName` for the user and `organizations` for the groups. */
export interface Subject {
  readonly commonName: string
  readonly organizations?: ReadonlyArray<string> | undefined
}

const name = ({ commonName, organizations = [] }: Subject): Buffer =>
  sequence(
    ...organizations.map((each) => der(0x31, sequence(oid(oids.organization), text(each)))),
    der(0x31, sequence(oid(oids.commonName), text(commonName)))
  )

const extension = (which: string, content: Buffer, critical = false): Buffer =>
  sequence(oid(which), ...(critical ? [yes] : []), octets(content))

/** Digital signature; and for an authority, signing certificates. */
const usage = (isAuthority: boolean): Buffer =>
  extension(oids.keyUsage, der(0x03, isAuthority ? Buffer.from([0x02, 0x84]) : Buffer.from([0x07, 0x80])), true)

const address = (host: string): Buffer =>
  /^\d+\.\d+\.\d+\.\d+$/u.test(host)
    ? der(0x87, Buffer.from(host.split(".").map(Number)))
    : der(0x82, Buffer.from(host))

const pem = (label: string, content: Buffer): string =>
  `-----BEGIN ${label}-----\n${content
    .toString("base64")
    .replaceAll(/.{64}/gu, "$&\n")
    .trimEnd()}\n-----END ${label}-----\n`

const exported = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" })

/** In PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

interface Parts {
  readonly subject: Subject
  readonly issuer: Subject
  readonly extensions: ReadonlyArray<Buffer>
}

/** Signs a certificate for a new key with the issuer's key, or with the new one where there is none. */
const signed = ({ extensions, issuer, subject }: Parts, signer: KeyObject | undefined) => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const serial = Buffer.concat([Buffer.from([0x01]), randomBytes(15)])
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    name(issuer),
    validity,
    name(subject),
    createPublicKey(privateKey).export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions))
  )
  const cert = sequence(toBeSigned, algorithm, bits(sign("sha256", toBeSigned, signer ?? privateKey)))
  return { privateKey, cert: pem("CERTIFICATE", cert), key: exported(privateKey) }
}

const constraints = extension(oids.basicConstraints, sequence(yes), true)
const namesOf = (hosts: ReadonlyArray<string>): Buffer =>
  extension(oids.alternativeNames, sequence(...hosts.map(address)))

/** A server's, which vouches for itself. */
export const selfSigned = (commonName: string, hosts: ReadonlyArray<string>): Certificate => {
  const self = { commonName }
  const { cert, key } = signed({ subject: self, issuer: self, extensions: [namesOf(hosts), constraints] }, undefined)
  return { cert, key }
}

/** What vouches for others. */
export interface Authority {
  /** In PEM. */
  readonly cert: string
  readonly key: string
  /** A certificate for a user, or for a server that is reached by `hosts`: names, or IPv4 addresses. */
  readonly issue: (subject: Subject, hosts?: ReadonlyArray<string>) => Certificate
}

export const authority = (commonName: string): Authority => {
  const self = { commonName }
  const made = signed({ subject: self, issuer: self, extensions: [constraints, usage(true)] }, undefined)
  return {
    cert: made.cert,
    key: made.key,
    issue: (subject, hosts = []) => {
      const purposes = sequence(oid(oids.serverAuth), oid(oids.clientAuth))
      const names = hosts.length === 0 ? [] : [namesOf(hosts)]
      const extensions = [usage(false), extension(oids.extendedKeyUsage, purposes), ...names]
      const { cert, key } = signed({ subject, issuer: self, extensions }, made.privateKey)
      return { cert, key }
    }
  }
}
