/**
 * The string formats that a Kubernetes API server checks.
 *
 * **Caveats**
 * - Formats that a real server does not know, and the rare ones (isbn, creditcard, ssn), are accepted unchecked.
 *
 * @since 0.1.0
 */
import { isIPv4, isIPv6 } from "node:net"

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/iu
const HOSTNAME_LABEL = "(?:[a-zA-Z0-9\\p{L}](?:[a-zA-Z0-9\\p{L}-]{0,61}[a-zA-Z0-9\\p{L}])?)"
const HOSTNAME = new RegExp(`^${HOSTNAME_LABEL}(?:\\.${HOSTNAME_LABEL})*\\.?$`, "u")
const EMAIL = /^[^\s@<>()[\],;:\\"]+@[^\s@<>()[\],;:\\"]+$/u
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/u
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/u
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[tT ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[zZ]|[+-]\d{2}:?\d{2})$/u
const GO_DURATION = /^[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/u
const WORD_DURATION = /^\d+\s*(?:ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|week|wk)s?$/u
const HEX_COLOR = /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/u
const MAC = /^(?:[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5,7}|[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2}){5,7})$/u
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u

const isUri = (text: string): boolean => {
  if (!/^[a-zA-Z][a-zA-Z0-9+.-]*:/u.test(text) && !text.startsWith("/")) return false
  return !/[\s<>"{}|\\^`]/u.test(text)
}

const isDate = (text: string): boolean => {
  const match = DATE.exec(text)
  if (match === null) return false
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

const isCidr = (text: string): boolean => {
  const [address = "", bits = "", ...rest] = text.split("/")
  if (rest.length > 0 || !/^\d{1,3}$/u.test(bits)) return false
  return (isIPv4(address) && Number(bits) <= 32) || (isIPv6(address) && Number(bits) <= 128)
}

const FORMATS: { readonly [format: string]: (text: string) => boolean } = {
  "date-time": (text) => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text.replace(" ", "T"))),
  datetime: (text) => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text.replace(" ", "T"))),
  date: isDate,
  duration: (text) => GO_DURATION.test(text) || WORD_DURATION.test(text),
  byte: (text) => BASE64.test(text),
  uuid: (text) => UUID.test(text),
  uuid3: (text) => UUID.test(text) && text.replaceAll("-", "")[12] === "3",
  uuid4: (text) => UUID.test(text) && text.replaceAll("-", "")[12] === "4",
  uuid5: (text) => UUID.test(text) && text.replaceAll("-", "")[12] === "5",
  email: (text) => EMAIL.test(text),
  hostname: (text) => text.length <= 255 && HOSTNAME.test(text),
  ipv4: isIPv4,
  ipv6: (text) => isIPv6(text) && text.includes(":"),
  cidr: isCidr,
  mac: (text) => MAC.test(text),
  uri: isUri,
  hexcolor: (text) => HEX_COLOR.test(text),
  "k8s-short-name": (text) => text.length <= 63 && DNS_LABEL.test(text),
  "k8s-long-name": (text) => text.length <= 253 && DNS_SUBDOMAIN.test(text)
}

/** Whether the text has the format; unknown formats accept every text. */
export const hasFormat = (format: string, text: string): boolean =>
  Object.hasOwn(FORMATS, format) ? (FORMATS[format]?.(text) ?? true) : true
