/**
 * Reads the protobuf bodies that clients in Go insist on: the options of a delete, and the objects that `kubectl create` and
 * `kubectl auth` send most.
 */
import { badRequest } from "./apiError.ts"
import type { Fields } from "./json.ts"
import { messages, type Field } from "./protobufMessages.ts"
import { entriesOf, wireTypes, type Entry } from "./protobufWire.ts"

const textOf = (value: unknown): string => (Buffer.isBuffer(value) ? value.toString() : "")

const timeOf = (bytes: Buffer): string | null => {
  const seconds = entriesOf("Time", bytes).find(({ field }) => field === 1)?.value
  return typeof seconds === "number" ? new Date(seconds * 1000).toISOString() : null
}

/** `before` is what came of the field earlier: a message that comes twice is both together. */
const scalar = (type: string, value: number | Buffer, before: unknown): unknown => {
  if (!Buffer.isBuffer(value)) return type === "bool" ? value !== 0 : value
  switch (type) {
    case "text":
      return value.toString()
    case "bytes":
      return value.toString("base64")
    case "time":
      return timeOf(value)
    default:
      return decode(type, value, before as Fields | undefined)
  }
}

const pair = (type: string, bytes: Buffer): readonly [string, unknown] => {
  const entries = entriesOf("Entry", bytes)
  const value = entries.find(({ field }) => field === 2)?.value
  return [textOf(entries.find(({ field }) => field === 1)?.value), scalar(type, value ?? Buffer.alloc(0), undefined)]
}

const isNumber = ({ repeated, type }: Field): boolean => repeated === "no" && (type === "bool" || type === "int")

const checkWireType = (known: Field, { wireType }: Entry): void => {
  if (wireType === (isNumber(known) ? wireTypes.varint : wireTypes.bytes)) return
  const name = `${known.name.slice(0, 1).toUpperCase()}${known.name.slice(1)}`
  throw badRequest(`proto: wrong wireType = ${wireType} for field ${name}`)
}

const decode = (messageName: string, bytes: Buffer, before: Fields = {}): Fields => {
  const result: Record<string, unknown> = { ...before }
  for (const entry of entriesOf(messageName, bytes)) {
    const known = messages[messageName]?.[entry.field]
    if (known === undefined) continue
    checkWireType(known, entry)
    const { name, repeated, type } = known
    const { value } = entry
    if (repeated === "list") {
      result[name] = [...((result[name] as ReadonlyArray<unknown>) ?? []), scalar(type, value, undefined)]
    } else if (repeated === "map" && Buffer.isBuffer(value)) {
      const [key, one] = pair(type, value)
      result[name] = { ...(result[name] as Fields), [key]: one }
    } else result[name] = scalar(type, value, result[name])
  }
  return result
}

const magic = Buffer.from("k8s\u0000")

/** An object and its type, before anything is known of its fields. */
interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Buffer
}

const envelopeOf = (body: Buffer): Envelope => {
  if (!body.subarray(0, magic.length).equals(magic)) {
    throw badRequest(
      `provided data does not appear to be a protobuf message, expected prefix [${[...magic.values()].join(" ")}]`
    )
  }
  if (body.length === magic.length) throw badRequest("empty body")
  const found = (name: string, bytes: Buffer, field: number): Buffer => {
    const value = entriesOf(name, bytes).findLast((entry) => entry.field === field)?.value
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0)
  }
  const envelope = body.subarray(magic.length)
  const type = found("Unknown", envelope, 1)
  return {
    apiVersion: textOf(found("TypeMeta", type, 1)),
    kind: textOf(found("TypeMeta", type, 2)),
    raw: found("Unknown", envelope, 2)
  }
}

/** The object in a protobuf body; undefined for a kind that is not known here. @internal */
export const decodeProtobuf = (body: Buffer): Fields | undefined => {
  const { apiVersion, kind, raw } = envelopeOf(body)
  return messages[kind] === undefined ? undefined : { apiVersion, kind, ...decode(kind, raw) }
}

/** The options in the body of a delete, of any group or of none. @internal */
export const decodeDeleteOptions = (body: Buffer): Fields => {
  const { apiVersion, kind, raw } = envelopeOf(body)
  if (kind === "" || kind === "DeleteOptions") return decode("DeleteOptions", raw)
  throw badRequest(`no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:111"`)
}
