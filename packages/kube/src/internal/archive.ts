/**
 * Texts by key, in little memory: packed into blocks outside of the heap, where the garbage collector neither walks over them nor
 * moves them.
 *
 * A block is small enough to be unpacked for one text (some tens of microseconds) and large enough that texts which are alike, as
 * the objects of one kind are, pack well together. What is overwritten or deleted leaves a hole; a block with more hole than text
 * is emptied into the current one, so that all of them take at most twice the room of what is in them.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib"
import * as Slabs from "./slabs.ts"

/** Bytes of a block before it is packed. A longer text is a block of its own. */
const blockBytes = 16_384

/** The window covers the block. Higher levels take several times the time for a few percent. */
const packing = { level: 1, windowBits: 14 }

export interface Archive {
  readonly put: (key: string, text: string) => void
  readonly get: (key: string) => string | undefined
  /** Of those keys that are there, in their order; what lies in one block is unpacked together. */
  readonly getAll: (keys: ReadonlyArray<string>) => ReadonlyArray<readonly [key: string, text: string]>
  readonly delete: (key: string) => void
  readonly keys: () => Iterable<string>
  readonly size: () => number
  /** What all of them take. */
  readonly bytes: () => number
}

interface Block {
  /** In the order of their making. */
  readonly serial: number
  readonly keys: Array<string>
  /** Undefined while texts are still added. */
  content: { readonly packed: boolean; readonly piece: Slabs.Piece } | undefined
  /** Written so far, and how much of that still counts. */
  used: number
  live: number
}

interface Slot {
  readonly block: Block
  readonly start: number
  readonly end: number
}

/** What is in closed blocks. */
const packer = () => {
  const slabs = Slabs.make()
  let last: { readonly block: Block; readonly bytes: Buffer } | undefined

  const pack = (block: Block, bytes: Buffer): void => {
    const packed = deflateRawSync(bytes, packing)
    const smaller = packed.length < bytes.length
    block.content = { packed: smaller, piece: slabs.put(smaller ? packed : bytes) }
  }

  /** The block that was unpacked last stays so, for readers that go through all of them. */
  const unpack = (block: Block, { packed, piece }: NonNullable<Block["content"]>): Buffer => {
    if (!packed) return Slabs.bytesOf(piece)
    if (last?.block !== block) last = { block, bytes: inflateRawSync(Slabs.bytesOf(piece)) }
    return last.bytes
  }

  const free = (block: Block): void => {
    if (block.content !== undefined) slabs.free(block.content.piece)
    if (last?.block === block) last = undefined
  }

  return { pack, unpack, free, bytes: slabs.bytes }
}

export const make = (): Archive => {
  const slots = new Map<string, Slot>()
  const { bytes, free, pack, unpack } = packer()
  let serial = 0
  const open = (): Block => ({ serial: serial++, keys: [], content: undefined, used: 0, live: 0 })
  /** The block that texts are added to, and its bytes. */
  let current = open()
  let room = Buffer.allocUnsafeSlow(blockBytes)

  const contentOf = (block: Block): Buffer => (block.content === undefined ? room : unpack(block, block.content))

  const mostlyHole = (block: Block): boolean => block.live * 2 < block.used

  /** Moves what still counts to the current block. */
  const empty = (block: Block, content: Buffer): void => {
    for (const key of new Set(block.keys)) {
      const slot = slots.get(key)
      if (slot?.block === block) append(key, content.subarray(slot.start, slot.end), slot.end - slot.start)
    }
    free(block)
  }

  const close = (): void => {
    const full = current
    const content = room.subarray(0, full.used)
    const hole = mostlyHole(full)
    current = open()
    if (!hole) pack(full, content)
    // What is moved must not be written over while it is read.
    if (hole || room.length > blockBytes) room = Buffer.allocUnsafeSlow(blockBytes)
    if (hole) empty(full, content)
  }

  const append = (key: string, text: string | Buffer, length: number): void => {
    if (current.used > 0 && current.used + length > room.length) {
      close()
      // What was left of the full one may have filled the new one.
      return append(key, text, length)
    }
    if (length > room.length) room = Buffer.allocUnsafeSlow(length)
    const { keys, used: start } = current
    const end = start + length
    if (typeof text === "string") room.write(text, start)
    else room.set(text, start)
    keys.push(key)
    slots.set(key, { block: current, start, end })
    current.used = end
    current.live += length
  }

  const release = ({ block, end, start }: Slot): void => {
    block.live -= end - start
    if (block !== current && mostlyHole(block)) empty(block, Buffer.from(contentOf(block)))
  }

  const put = (key: string, text: string): void => {
    const before = slots.get(key)
    append(key, text, Buffer.byteLength(text))
    if (before !== undefined) release(before)
  }

  const remove = (key: string): void => {
    const slot = slots.get(key)
    slots.delete(key)
    if (slot !== undefined) release(slot)
  }

  const read = ({ block, end, start }: Slot): string => contentOf(block).toString("utf8", start, end)

  const getAll: Archive["getAll"] = (keys) => {
    const wanted = keys.flatMap((key, at) => {
      const slot = slots.get(key)
      return slot === undefined ? [] : [{ key, at, slot }]
    })
    const found = wanted
      .sort((a, b) => a.slot.block.serial - b.slot.block.serial)
      .map(({ at, key, slot }) => ({ at, entry: [key, read(slot)] as const }))
    return found.sort((a, b) => a.at - b.at).map(({ entry }) => entry)
  }

  return {
    put,
    get: (key) => {
      const slot = slots.get(key)
      return slot === undefined ? undefined : read(slot)
    },
    getAll,
    delete: remove,
    keys: () => slots.keys(),
    size: () => slots.size,
    bytes: () => bytes() + current.used
  }
}
