/**
 * Regular expressions in the RE2 syntax that Kubernetes uses.
 *
 * **Caveats**
 * - Look-around and back-references, which RE2 refuses, are refused here too; matching itself is ECMAScript's.
 *
 * @since 0.1.0
 */

const cache = new Map<string, RegExp | undefined>()

/** The compiled pattern, or undefined when RE2 would refuse it. */
export const compileRegex = (pattern: string): RegExp | undefined => {
  if (cache.has(pattern)) return cache.get(pattern)
  const compiled = compileFresh(pattern)
  cache.set(pattern, compiled)
  return compiled
}

const compileFresh = (pattern: string): RegExp | undefined => {
  if (/\(\?<?[=!]/u.test(pattern) || /(^|[^\\])(\\\\)*\\[1-9k]/u.test(pattern)) return undefined
  const { flags, rest } = leadingFlags(translate(pattern))
  for (const mode of ["u", ""]) {
    try {
      return new RegExp(rest, flags + mode)
    } catch {
      // The Unicode mode refuses needless escapes such as `\-`, which RE2 takes: the plain mode takes them too.
    }
  }
  return undefined
}

/** RE2 spells some constructs differently. */
const translate = (pattern: string): string =>
  pattern
    .replaceAll("(?P<", "(?<")
    .replaceAll("[[:alnum:]]", "[0-9A-Za-z]")
    .replaceAll("[:alnum:]", "0-9A-Za-z")
    .replaceAll("[:alpha:]", "A-Za-z")
    .replaceAll("[:digit:]", "0-9")
    .replaceAll("[:lower:]", "a-z")
    .replaceAll("[:upper:]", "A-Z")
    .replaceAll("[:space:]", "\\s")
    .replaceAll("[:xdigit:]", "0-9A-Fa-f")
    .replaceAll("\\A", "^")
    .replaceAll("\\z", "$")

const leadingFlags = (pattern: string): { readonly flags: string; readonly rest: string } => {
  const match = /^\(\?([ims]+)\)/u.exec(pattern)
  return match === null ? { flags: "", rest: pattern } : { flags: match[1] ?? "", rest: pattern.slice(match[0].length) }
}
