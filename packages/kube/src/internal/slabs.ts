/**
 * Room for many pieces of bytes in few large ones. Thousands of small buffers that live long, made between others that live
 * briefly, would leave the system's heap full of holes.
 *
 * A slab of which a quarter is hole is emptied into the current one, so that all of them take at most a third more than what is in
 * them: copying is cheap.
 */

const slabBytes = 1024 * 1024

interface Slab {
  readonly content: Buffer
  readonly pieces: Set<Piece>
  used: number
  live: number
}

/** Where some bytes lie now. It moves when too many others of its slab have gone. */
export interface Piece {
  slab: Slab
  start: number
  readonly length: number
}

export interface Slabs {
  readonly put: (bytes: Uint8Array) => Piece
  readonly free: (piece: Piece) => void
  /** What is used of all slabs. */
  readonly bytes: () => number
}

/** To be read at once: they may be others when something else was put or freed. */
export const bytesOf = ({ length, slab, start }: Piece): Buffer => slab.content.subarray(start, start + length)

/** A buffer that could be resized is memory of its own, and does not share the system's heap with those that come and go. */
const makeSlab = (size: number): Slab => ({
  content: Buffer.from(new ArrayBuffer(size, { maxByteLength: size })),
  pieces: new Set(),
  used: 0,
  live: 0
})

export const make = (): Slabs => {
  let current = makeSlab(0)
  let total = 0

  /** The start of so many bytes in the current slab. */
  const room = (length: number): number => {
    if (current.used + length > current.content.length) current = makeSlab(Math.max(slabBytes, length))
    const start = current.used
    current.used += length
    current.live += length
    total += length
    return start
  }

  const put = (bytes: Uint8Array): Piece => {
    const start = room(bytes.length)
    const piece: Piece = { slab: current, start, length: bytes.length }
    current.content.set(bytes, start)
    current.pieces.add(piece)
    return piece
  }

  const empty = (slab: Slab): void => {
    for (const piece of slab.pieces) {
      const bytes = bytesOf(piece)
      piece.start = room(piece.length)
      piece.slab = current
      current.content.set(bytes, piece.start)
      current.pieces.add(piece)
    }
    slab.pieces.clear()
    total -= slab.used
  }

  const free = (piece: Piece): void => {
    const { slab } = piece
    slab.live -= piece.length
    slab.pieces.delete(piece)
    if (slab !== current && slab.live * 4 < slab.used * 3) empty(slab)
  }

  return { put, free, bytes: () => total }
}
