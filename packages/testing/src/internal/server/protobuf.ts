/**
 * Reads the protobuf bodies that `kubectl create` and `kubectl auth` send, for the kinds that they send most.
 */
import { badRequest } from "./apiError.ts"
import type { Fields } from "./json.ts"
import { messages, type Message } from "./protobufMessages.ts"

interface Entry {
  readonly field: number
  readonly value: number | Buffer
}

const varint = (bytes: Buffer, start: number): readonly [number, number] => {
  let value = 0
  let scale = 1
  let at = start
  for (;;) {
    const byte = bytes[at] ?? 0
    at += 1
    value += (byte & 0x7f) * scale
    scale *= 128
    if (byte < 0x80) return [value, at]
  }
}

const entriesOf = (bytes: Buffer): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  let at = 0
  while (at < bytes.length) {
    const [tag, afterTag] = varint(bytes, at)
    const [value, afterValue] = varint(bytes, afterTag)
    if (tag % 8 === 2)
      entries.push({ field: Math.floor(tag / 8), value: bytes.subarray(afterValue, afterValue + value) })
    else if (tag % 8 === 0) entries.push({ field: Math.floor(tag / 8), value })
    else throw badRequest("the protobuf body has a field of an unknown wire type")
    at = tag % 8 === 2 ? afterValue + value : afterValue
  }
  return entries
}

const textOf = (value: number | Buffer | undefined): string => (Buffer.isBuffer(value) ? value.toString() : "")

const scalar = (type: string, value: number | Buffer): unknown => {
  if (!Buffer.isBuffer(value)) return type === "bool" ? value !== 0 : value
  switch (type) {
    case "text":
      return value.toString()
    case "bytes":
      return value.toString("base64")
    case "time": {
      const seconds = entriesOf(value).find(({ field }) => field === 1)?.value
      return typeof seconds === "number" ? new Date(seconds * 1000).toISOString() : null
    }
    default: {
      const message = messages[type]
      return message === undefined ? null : decode(message, value)
    }
  }
}

const pair = (type: string, bytes: Buffer): readonly [string, unknown] => {
  const entries = entriesOf(bytes)
  const value = entries.find(({ field }) => field === 2)?.value
  return [textOf(entries.find(({ field }) => field === 1)?.value), scalar(type, value ?? Buffer.alloc(0))]
}

const decode = (message: Message, bytes: Buffer): Fields => {
  const result: Record<string, unknown> = {}
  for (const { field, value } of entriesOf(bytes)) {
    const known = message[field]
    if (known === undefined) continue
    const { name, repeated, type } = known
    if (repeated === "list") result[name] = [...((result[name] as ReadonlyArray<unknown>) ?? []), scalar(type, value)]
    else if (repeated === "map" && Buffer.isBuffer(value)) {
      const [key, one] = pair(type, value)
      result[name] = { ...(result[name] as Fields), [key]: one }
    } else result[name] = scalar(type, value)
  }
  return result
}

const magic = "k8s\u0000"

/** The object in a protobuf body; undefined for a kind that is not known here. @internal */
export const decodeProtobuf = (body: Buffer): Fields | undefined => {
  if (body.subarray(0, magic.length).toString() !== magic) throw badRequest("the body is no protobuf of Kubernetes")
  const envelope = entriesOf(body.subarray(magic.length))
  const inner = (field: number): Buffer => {
    const value = envelope.find((entry) => entry.field === field)?.value
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0)
  }
  const type = entriesOf(inner(1))
  const kind = textOf(type.find(({ field }) => field === 2)?.value)
  const message = messages[kind]
  if (message === undefined) return undefined
  return { apiVersion: textOf(type.find(({ field }) => field === 1)?.value), kind, ...decode(message, inner(2)) }
}
