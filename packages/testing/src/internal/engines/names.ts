/**
 * The texts that Kubernetes accepts as names, label keys and label values; each check returns why not.
 *
 * @since 0.1.0
 */

const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
const QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
const whole = (pattern: string): RegExp => new RegExp(`^${pattern}$`, "u")

const DNS_LABEL = whole(LABEL)
const DNS_LABEL_1035 = whole("[a-z]([-a-z0-9]*[a-z0-9])?")
const DNS_SUBDOMAIN = whole(`${LABEL}(\\.${LABEL})*`)
const QUALIFIED_NAME = whole(QUALIFIED)
const LABEL_VALUE = whole(`(${QUALIFIED})?`)
const CONFIG_KEY = whole("[-._a-zA-Z0-9]+")
const PATH_SEGMENT_PARTS = ["/", "%"]

const bytes = (text: string): number => new TextEncoder().encode(text).length

/** Names count characters, labels bytes, in the words of the real server. */
const tooLong = (max: number, unit: "bytes" | "characters"): string => `must be no more than ${max} ${unit}`

const example = (examples: string, pattern: string): string =>
  `(e.g. ${examples}, regex used for validation is '${pattern}')`

const check = (
  text: string,
  max: number,
  pattern: RegExp,
  why: string,
  unit: "bytes" | "characters" = "characters"
): ReadonlyArray<string> => [...(bytes(text) > max ? [tooLong(max, unit)] : []), ...(pattern.test(text) ? [] : [why])]

/** A name of most objects. */
export const validateSubdomain = (text: string): ReadonlyArray<string> =>
  check(
    text,
    253,
    DNS_SUBDOMAIN,
    `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character ${example("'example.com'", `${LABEL}(\\.${LABEL})*`)}`
  )

/** A name of namespaces and containers. */
export const validateLabel = (text: string): ReadonlyArray<string> =>
  check(
    text,
    63,
    DNS_LABEL,
    `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character ${example("'my-name',  or '123-abc'", LABEL)}`
  )

/** A name of namespaces and Services. */
export const validateNamespaceName = (text: string): ReadonlyArray<string> =>
  text.includes(".") ? ["must not contain dots"] : validateLabel(text)

/** A name of Services in older servers. */
export const validateLabel1035 = (text: string): ReadonlyArray<string> =>
  check(
    text,
    63,
    DNS_LABEL_1035,
    `a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character ${example("'my-name',  or 'abc-123'", "[a-z]([-a-z0-9]*[a-z0-9])?")}`
  )

/** A name that only has to fit into a URL path, such as a Role's. */
export const validatePathSegment = (text: string): ReadonlyArray<string> => {
  if (text === "." || text === "..") return [`may not be '${text}'`]
  return PATH_SEGMENT_PARTS.filter((part) => text.includes(part)).map((part) => `may not contain '${part}'`)
}

const QUALIFIED_WHY = `must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ${example("'MyName',  or 'my.name',  or '123-abc'", QUALIFIED)}`

/** A label or annotation key, or a finalizer. */
export const validateLabelKey = (text: string): ReadonlyArray<string> => {
  const parts = text.split("/")
  if (parts.length > 2) {
    return [
      `a valid label key ${QUALIFIED_WHY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`
    ]
  }
  const [name = "", prefix] = parts.toReversed()
  const wrongPrefix =
    prefix === undefined
      ? []
      : prefix === ""
        ? ["prefix part must be non-empty"]
        : validateSubdomain(prefix).map((why) => `prefix part ${why.replace("253 characters", "253 bytes")}`)
  const wrongName = [
    ...(name === "" ? ["name part must be non-empty"] : bytes(name) > 63 ? [`name part ${tooLong(63, "bytes")}`] : []),
    ...(QUALIFIED_NAME.test(name) ? [] : [`name part ${QUALIFIED_WHY}`])
  ]
  return [...wrongPrefix, ...wrongName]
}

/** A label value. */
export const validateLabelValue = (text: string): ReadonlyArray<string> =>
  check(
    text,
    63,
    LABEL_VALUE,
    `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ${example("'MyValue',  or 'my_value',  or '12345'", `(${QUALIFIED})?`)}`,
    "bytes"
  )

/** A key in a ConfigMap's or Secret's data. */
export const validateConfigKey = (text: string): ReadonlyArray<string> => {
  const wrong = check(
    text,
    253,
    CONFIG_KEY,
    `a valid config key must consist of alphanumeric characters, '-', '_' or '.' ${example("'key.name',  or 'KEY_NAME',  or 'key-name'", "[-._a-zA-Z0-9]+")}`
  )
  if (text === "." || text === "..") return [...wrong, `must not be '${text}'`]
  return text.startsWith("..") ? [...wrong, "must not start with '..'"] : wrong
}
