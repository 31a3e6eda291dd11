/**
 * The functions that Kubernetes adds to CEL for URLs, addresses and named formats.
 *
 * @since 0.1.0
 */
import { isIPv4, isIPv6 } from "node:net"
import { Optional } from "@marcbachmann/cel-js"
import type { CelFunction } from "./celFunctions.ts"
import { hasFormat } from "./formats.ts"
import {
  validateConfigKey,
  validateLabel,
  validateLabel1035,
  validateLabelKey,
  validateLabelValue,
  validateSubdomain
} from "./names.ts"

const same = (signature: string, handler: CelFunction["handler"]): CelFunction => ({
  check: [signature],
  run: signature,
  handler
})

/** A parsed address. */
export class Ip {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A parsed range of addresses. */
export class Cidr {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A named format of `format.…()`. */
export class NamedFormat {
  readonly check: (text: string) => ReadonlyArray<string>
  constructor(check: (text: string) => ReadonlyArray<string>) {
    this.check = check
  }
}

/** The bits of an address. */
const bitsOf = (text: string): bigint => {
  if (isIPv4(text)) return text.split(".").reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
  const [head = "", tail] = text.split("::")
  const words = (part: string) => (part === "" ? [] : part.split(":"))
  const left = words(head)
  const right = tail === undefined ? [] : words(tail)
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => "0")
  return [...left, ...zeros, ...right].reduce((bits, word) => (bits << 16n) | BigInt(`0x${word}`), 0n)
}

const isIp = (text: string): boolean => isIPv4(text) || (isIPv6(text) && !text.includes(".") && !text.includes("%"))

const ip = (text: string): Ip => {
  if (!isIp(text)) throw new Error(`IP Address "${text}" parse error during conversion from string`)
  return new Ip(text)
}

const familyOf = (text: string): 4 | 6 => (isIPv4(text) ? 4 : 6)

const canonicalIp = (text: string): string => {
  if (isIPv4(text)) return text
  const hostname = new URL(`http://[${text}]/`).hostname
  return hostname.slice(1, -1)
}

const cidr = (text: string): Cidr => {
  if (!hasFormat("cidr", text)) throw new Error(`network address parse error during conversion from string`)
  return new Cidr(text)
}

const partsOf = (text: string): { readonly address: string; readonly prefix: number } => {
  const [address = "", prefix = ""] = text.split("/")
  return { address, prefix: Number(prefix) }
}

const networkOf = (address: string, prefix: number): bigint => {
  const width = familyOf(address) === 4 ? 32 : 128
  const shift = BigInt(width - prefix)
  return (bitsOf(address) >> shift) << shift
}

const containsIp = (range: Cidr, address: string): boolean => {
  const { address: base, prefix } = partsOf(range.text)
  return familyOf(base) === familyOf(address) && networkOf(base, prefix) === networkOf(address, prefix)
}

const inRange = (range: string) => (address: Ip) =>
  familyOf(address.text) === familyOf(range) && containsIp(new Cidr(range), address.text)

const IP = "kubernetes.IP"
const CIDR = "kubernetes.CIDR"
const URLS = "kubernetes.URL"
const FORMAT = "kubernetes.NamedFormat"

const addresses: ReadonlyArray<CelFunction> = [
  same(`ip(string): ${IP}`, ip),
  same("isIP(string): bool", isIp),
  same(
    "kubernetes.IPs.isCanonical(string): bool",
    (_ips: unknown, text: string) => canonicalIp(ip(text).text) === text
  ),
  same(`${IP}.family(): int`, ({ text }: Ip) => BigInt(familyOf(text))),
  same(`${IP}.isUnspecified(): bool`, ({ text }: Ip) => bitsOf(text) === 0n),
  same(`${IP}.isLoopback(): bool`, (address: Ip) => inRange("127.0.0.0/8")(address) || inRange("::1/128")(address)),
  same(
    `${IP}.isLinkLocalUnicast(): bool`,
    (address: Ip) => inRange("169.254.0.0/16")(address) || inRange("fe80::/10")(address)
  ),
  same(
    `${IP}.isGlobalUnicast(): bool`,
    (address: Ip) =>
      ![
        "127.0.0.0/8",
        "::1/128",
        "169.254.0.0/16",
        "fe80::/10",
        "224.0.0.0/4",
        "ff00::/8",
        "0.0.0.0/32",
        "::/128"
      ].some((range) => inRange(range)(address))
  ),
  same(`cidr(string): ${CIDR}`, cidr),
  same("isCIDR(string): bool", (text: string) => hasFormat("cidr", text)),
  same(`${CIDR}.containsIP(${IP}): bool`, (range: Cidr, address: Ip) => containsIp(range, address.text)),
  same(`${CIDR}.containsIP(string): bool`, (range: Cidr, address: string) => containsIp(range, ip(address).text)),
  same(`${CIDR}.containsCIDR(${CIDR}): bool`, containsRange),
  same(`${CIDR}.containsCIDR(string): bool`, (range: Cidr, inner: string) => containsRange(range, cidr(inner))),
  same(`${CIDR}.ip(): ${IP}`, ({ text }: Cidr) => new Ip(partsOf(text).address)),
  same(`${CIDR}.prefixLength(): int`, ({ text }: Cidr) => BigInt(partsOf(text).prefix)),
  same(`string(${IP}): string`, ({ text }: Ip) => text),
  same(`string(${CIDR}): string`, ({ text }: Cidr) => text)
]

function containsRange(range: Cidr, inner: Cidr): boolean {
  const { address, prefix } = partsOf(inner.text)
  return prefix >= partsOf(range.text).prefix && containsIp(range, address)
}

const parseUrl = (text: string): URL | undefined => {
  if (text.startsWith("/")) return URL.parse(text, "http://unset.invalid") ?? undefined
  return hasFormat("uri", text) ? (URL.parse(text) ?? undefined) : undefined
}

const isRelative = (value: URL): boolean => value.hostname === "unset.invalid"

const urls: ReadonlyArray<CelFunction> = [
  same(`url(string): ${URLS}`, (text: string) => {
    const parsed = parseUrl(text)
    if (parsed === undefined)
      throw new Error(`URL parse error during conversion from string: parse "${text}": invalid URI`)
    return parsed
  }),
  same("isURL(string): bool", (text: string) => parseUrl(text) !== undefined),
  same(`${URLS}.getScheme(): string`, (value: URL) => (isRelative(value) ? "" : value.protocol.replace(/:$/u, ""))),
  same(`${URLS}.getHost(): string`, (value: URL) => (isRelative(value) ? "" : value.host)),
  same(`${URLS}.getHostname(): string`, (value: URL) =>
    isRelative(value) ? "" : value.hostname.replaceAll(/^\[|\]$/gu, "")
  ),
  same(`${URLS}.getPort(): string`, (value: URL) => value.port),
  same(`${URLS}.getEscapedPath(): string`, (value: URL) => value.pathname),
  same(`${URLS}.getQuery(): map<string, list<string>>`, (value: URL) =>
    Object.fromEntries([...new Set(value.searchParams.keys())].map((key) => [key, value.searchParams.getAll(key)]))
  )
]

const NAMED: { readonly [name: string]: (text: string) => ReadonlyArray<string> } = {
  dns1123Label: validateLabel,
  dns1123Subdomain: validateSubdomain,
  dns1035Label: validateLabel1035,
  qualifiedName: validateLabelKey,
  labelValue: validateLabelValue,
  configMapKey: validateConfigKey,
  uri: (text) => (parseUrl(text) === undefined ? ["invalid URI"] : []),
  uuid: (text) => (hasFormat("uuid", text) ? [] : ["does not match the UUID format"]),
  byte: (text) => (hasFormat("byte", text) ? [] : ["invalid base64"]),
  date: (text) => (hasFormat("date", text) ? [] : ["invalid date"]),
  datetime: (text) => (hasFormat("date-time", text) ? [] : ["invalid datetime"])
}

const formats: ReadonlyArray<CelFunction> = [
  ...Object.entries(NAMED).map(([name, check]) =>
    same(`kubernetes.Formats.${name}(): ${FORMAT}`, () => new NamedFormat(check))
  ),
  same(`${FORMAT}.validate(string): optional<list<string>>`, (format: NamedFormat, text: string) => {
    const wrong = format.check(text)
    return wrong.length === 0 ? Optional.none() : Optional.of(wrong)
  })
]

/** The functions of this module. */
export const functions: ReadonlyArray<CelFunction> = [...addresses, ...urls, ...formats]
