/**
 * The wire format of protobuf: the fields of a message by their numbers. What is malformed is refused in the words of Go's decoder.
 */
import { badRequest } from "./apiError.ts"

/** How a value is written. @internal */
export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, groupStart: 3, groupEnd: 4, fixed32: 5 } as const

/** One field, as it came. @internal */
export interface Entry {
  readonly field: number
  readonly wireType: number
  /** A number of wire type 0; the bytes of any other. */
  readonly value: number | Buffer
}

/** The bytes of a message from their start on. */
class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length
  }

  take(count: number): Buffer {
    if (count < 0) throw badRequest("proto: negative length found during unmarshaling")
    if (count > this.#bytes.length - this.#at) throw badRequest("unexpected EOF")
    this.#at += count
    return this.#bytes.subarray(this.#at - count, this.#at)
  }

  varint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 64n; shift += 7n) {
      const [byte = 0] = this.take(1)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw badRequest("proto: integer overflow")
  }

  /** A number with a sign, which takes two's complement of 64 bits. */
  int(): number {
    return Number(BigInt.asIntN(64, this.varint()))
  }

  value(wireType: number): number | Buffer {
    switch (wireType) {
      case wireTypes.varint:
        return this.int()
      case wireTypes.fixed64:
        return this.take(8)
      case wireTypes.bytes:
        return this.take(this.int())
      case wireTypes.groupStart:
        return this.#group()
      case wireTypes.fixed32:
        return this.take(4)
      default:
        throw badRequest(`proto: illegal wireType ${wireType}`)
    }
  }

  /** Groups, of which no message of Kubernetes makes use, may hold each other: counted, since the stack has an end. */
  #group(): Buffer {
    const start = this.#at
    for (let depth = 1; depth > 0;) {
      const wireType = Number(this.varint() & 7n)
      if (wireType === wireTypes.groupStart) depth += 1
      else if (wireType === wireTypes.groupEnd) depth -= 1
      else this.value(wireType)
    }
    return this.#bytes.subarray(start, this.#at)
  }
}

/** The fields of the message of this name. @internal */
export const entriesOf = (name: string, bytes: Buffer): ReadonlyArray<Entry> => {
  const reader = new Reader(bytes)
  const entries: Array<Entry> = []
  while (!reader.isDone) {
    const tag = reader.varint()
    const field = Number(BigInt.asIntN(32, tag >> 3n))
    const wireType = Number(tag & 7n)
    if (wireType === wireTypes.groupEnd) throw badRequest(`proto: ${name}: wiretype end group for non-group`)
    if (field <= 0) throw badRequest(`proto: ${name}: illegal tag ${field} (wire type ${tag})`)
    entries.push({ field, wireType, value: reader.value(wireType) })
  }
  return entries
}
