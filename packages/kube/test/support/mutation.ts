/** Values that are nearly right: an encoded value with one place changed to something a careless author might write. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }
type Path = ReadonlyArray<string | number>

const isObject = (u: Json): u is { readonly [key: string]: Json } =>
  typeof u === "object" && u !== null && !Array.isArray(u)
const isList = (u: Json): u is ReadonlyArray<Json> => Array.isArray(u)

const paths = (value: Json, path: Path = []): ReadonlyArray<Path> => [
  path,
  ...(isList(value) ? value.flatMap((each, index) => paths(each, [...path, index])) : []),
  ...(isObject(value) ? Object.entries(value).flatMap(([key, each]) => paths(each, [...path, key])) : [])
]

/** Replaces what is at the path; undefined takes it away. */
const replaced = (value: Json, [key, ...rest]: Path, by: (old: Json) => Json | undefined): Json | undefined => {
  if (key === undefined) return by(value)
  if (isList(value)) {
    return value.flatMap((each, index) => {
      const next = index === key ? replaced(each, rest, by) : each
      return next === undefined ? [] : [next]
    })
  }
  if (!isObject(value)) return value
  const next = replaced(value[key] ?? null, rest, by)
  const { [key]: _old, ...others } = value
  return next === undefined ? others : { ...others, [key]: next }
}

const scalars: ReadonlyArray<Json> = [
  null,
  0,
  -1,
  1.5,
  65_536,
  2 ** 53,
  1e21,
  true,
  "",
  "a",
  "a".repeat(300),
  "\u{1F600}".repeat(200),
  "a\nb",
  "2030-02-28T23:59:59Z",
  "2030-02-30T00:00:00Z",
  "2030-01-01",
  "2030-01-01T24:00:00Z",
  "2030-01-01T00:00:60Z",
  "2030-01-01t00:00:00z",
  "2030-01-01T00:00:00.123456789+05:30",
  "2030-01-01T00:00:00,5Z",
  "2030-01-01T00:00:00+24:00",
  "2030-01-01T00:00:00-05:60",
  "0000-01-01T00:00:00+05:30",
  "9999-12-31T23:59:59-05:30",
  [],
  {},
  [null],
  { a: null }
]

const changes: ReadonlyArray<(old: Json) => Json | undefined> = [
  () => undefined,
  (old) => (isList(old) && old[0] !== undefined ? [...old, old[0]] : { unknown: old }),
  (old) => (isObject(old) ? { ...old, unknown: 1 } : [old]),
  (old) => (isList(old) ? Array.from({ length: 70 }, (_, index) => old[index % Math.max(1, old.length)] ?? "x") : old),
  (old) => (typeof old === "string" ? `${old}\u{1F600}` : typeof old === "number" ? old + 1 : old),
  (old) => (typeof old === "string" ? old.slice(1) : typeof old === "number" ? -old : old),
  ...scalars.map((scalar) => () => scalar)
]

/** The change that `salt` picks of all that can be made to the value. */
export const mutated = (value: Json, salt: number): Json => {
  const places = paths(value).slice(1)
  const place = places[salt % Math.max(1, places.length)] ?? []
  const change = changes[Math.floor(salt / Math.max(1, places.length)) % changes.length]
  return change === undefined || place.length === 0 ? value : (replaced(value, place, change) ?? value)
}
