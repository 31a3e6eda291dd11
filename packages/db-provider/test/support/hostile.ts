/** Requests that nobody should send, the same for the same seed. */
import type { Asked } from "./ApiBench.ts"

export interface HostileRequest extends Asked {
  readonly method: string
  readonly path: string
}

/** Numbers from 0 to 1 that follow from the seed. */
const numbers = (seed: number) => () => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed / 2_147_483_647
}

const long = "a".repeat(300)
const longer = "a".repeat(2_100)
const tooLong = "a".repeat(17_000)

const methods = ["GET", "PUT", "DELETE", "HEAD", "POST", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "QUERY"]

const ids = [
  "a",
  "b",
  "c",
  "d",
  "e",
  "f",
  "branch-1",
  "x.y:z_1",
  "A",
  "0",

  "",
  "-",
  "a-",
  "..",
  ".",
  "a/b",
  "a b",
  "ä",
  "\u0000",
  "💣",
  "%",
  "constructor",
  "__proto__",
  "*",
  "a".repeat(129),
  "';DROP DATABASE x;--",
  "${jndi:ldap://x}",
  "\r\nx: y",
  "../../etc/passwd",
  "null",
  "undefined",
  "a,b",
  "\ud800x"
]

const paths = [
  "/",
  "//",
  "/v1",
  "/v1/",
  "/v1/databases",
  "/v1/databases/",
  "/v1//databases",
  "/v2/databases",
  "/openapi.json"
]
const ends = [
  "",
  "?",
  "#",
  "/",
  "/x",
  "?a=b",
  "?limit=5",
  "?limit=-1",
  "?limit=1e9",
  "?cursor=%00",
  "?cursor=YWZ0ZXI6YQ",
  ";x=y"
]
const escapes = ["%zz", "%", "%c0%af", "%2e%2e%2f", "%00", "%ff", "%F0%9F%92%A3", `?cursor=${longer}`]

const types = [
  "application/json",
  "text/plain",
  "application/json; charset=utf-16",
  "multipart/form-data; boundary=x",
  "",
  "/"
]
const prefers = ["wait=0", "wait=x", "wait=-1", 'wait="0"', "respond-async", ",,,;", "wait", '"', "handling=strict"]
const authorizations = ["", "Bearer", "Bearer x", "Basic YTpi", "Bearer  ", "bearer", "Digest x", "Bearer x y", longer]

const values = [null, true, 0, -1, 1e308, "", "a", "-", "ä", "\u0000", [], {}, [[]], { a: {} }, long, "💣"]
const keys = [
  "labels",
  "shardSelector",
  "matchLabels",
  "a",
  "",
  "a/b",
  "a/b/c",
  "__proto__",
  "constructor",
  "toString",
  "ä",
  long
]
const nested = ["[".repeat(8_000), '{"labels":'.repeat(1_000), `${"[".repeat(5_000)}${"]".repeat(5_000)}`]
const texts = ["", "{", "}", "null", "0", '"a"', "NaN", "{}{}", "\ufeff{}", '{"labels":{"a":"\\ud800"}}', "\u0000"]
/** Each of them is several packets. */
const largeTexts = [tooLong, JSON.stringify(tooLong), ...nested]

const lines = [
  "GET / HTTP/1.1\r\n",
  "PUT /v1/databases/a HTTP/1.1\r\n",
  "GET /v1/databases HTTP/1.0\r\n",
  "GET /v1/databases HTTP/2.0\r\n",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "CONNECT a:1 HTTP/1.1\r\n",
  "G\u0000T / HTTP/1.1\r\n",
  "GET  /  HTTP/1.1\r\n",
  "\r\n\r\n",
  `GET /${longer} HTTP/1.1\r\n`
]

const fields = [
  "host: a\r\n",
  "host: a\r\nhost: b\r\n",
  "content-length: 5\r\n",
  "content-length: -1\r\n",
  "content-length: 99999999999999999999\r\n",
  "transfer-encoding: chunked\r\n",
  "transfer-encoding: gzip, chunked\r\n",
  "transfer-encoding: identity\r\n",
  "expect: 100-continue\r\n",
  "expect: x\r\n",
  "upgrade: h2c\r\nconnection: upgrade\r\n",
  "connection: close\r\n",
  "x : y\r\n",
  " x: y\r\n",
  "x: \u0001\r\n",
  ": y\r\n",
  "x\r\n",
  "x: y\n",
  `x: ${tooLong}\r\n`
]

const rests = [
  "",
  "{}",
  "5\r\n{}   \r\n0\r\n\r\n",
  "zz\r\n",
  "ffffffffffffffff\r\n",
  "0\r\n\r\n",
  "\u0000\u0000\u0000",
  "1;a=b\r\n{\r\n"
]

export const make = (seed: number, token: string) => {
  const next = numbers(seed + 1)
  const below = (limit: number) => Math.floor(next() * limit)
  const one = <A>(of: ReadonlyArray<A>): A => {
    const found = of[below(of.length)]
    if (found === undefined) throw new Error("of nothing there is not one")
    return found
  }
  const chance = (percent: number) => next() * 100 < percent

  const value = (depth: number): unknown => {
    if (depth === 0 || chance(50)) return one(values)
    return Object.fromEntries(Array.from({ length: below(5) }, () => [one(keys), value(depth - 1)]))
  }
  const body = (): unknown => {
    if (chance(6)) return one(largeTexts)
    if (chance(30)) return one(texts)
    if (chance(40)) return { labels: { a: one(["b", "c"]) } }
    return { [one(keys)]: value(3), [one(keys)]: value(3) }
  }
  /** A little of it is damaged. */
  const damaged = (text: string): string => {
    const at = below(text.length)
    return chance(85) ? text : `${text.slice(0, at)}${String.fromCharCode(33 + below(94))}${text.slice(at + 1)}`
  }
  const path = (): string => {
    const where = chance(75) ? `/v1/databases/${encoded(one(ids))}` : one(paths)
    return damaged(`${where}${chance(20) ? one(ends) : ""}${chance(5) ? one(escapes) : ""}`)
  }

  const request = (): HostileRequest => {
    const method = chance(70) ? one(methods.slice(0, 3)) : one(methods)
    const headers: Record<string, string> = {
      ...(chance(20) ? { prefer: one(prefers) } : {}),
      ...(chance(15) ? { "content-type": one(types) } : {}),
      ...(chance(15) ? { authorization: one(authorizations) } : {}),
      ...(chance(5) ? { "x-request-id": one(["a", "a b", "ÿ", longer]) } : {}),
      // To a HEAD that is too large the answer has a body, since its method is not known any more: clients do not like that.
      ...(method !== "HEAD" && chance(1) ? { "x-large": tooLong } : {})
    }
    const asked = { method, path: path(), headers, ...(chance(90) ? { token } : {}) }
    return method !== "TRACE" && chance(50) ? { ...asked, body: body() } : asked
  }

  const bytes = (): Buffer => {
    if (chance(10)) return Buffer.from(Array.from({ length: 1 + below(300) }, () => below(256)))
    const head = `${one(lines)}${Array.from({ length: below(6) }, () => one(fields)).join("")}`
    const text = `${head}connection: close\r\n\r\n${one(rests)}`
    const all = Buffer.from(text, "latin1")
    for (let damage = below(3); damage > 0; damage--) all[below(all.length)] = below(256)
    return all
  }

  return { request, bytes }
}

/** What cannot be encoded is sent as it is. */
const encoded = (id: string): string => {
  try {
    return encodeURIComponent(id)
  } catch {
    return "%ED%A0%80"
  }
}
