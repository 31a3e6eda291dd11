/** Mends ledgers: whoever died between two writes left a name in it, and whoever edited it a wrong count. */
import type { Client } from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import { Clock, Duration, Effect, Option } from "effect"
import * as Ledger from "../Ledger.ts"
import { Records } from "../Records.ts"

/** What is odd, and since when: whoever comes or goes is so for a moment. */
export type LedgerMemory = Map<string, number>

/** Longer than a pass may take. */
const patienceMs = Duration.toMillis("10 minutes")

const wrongCount = "the count"

/** Which of these have been there for too long; what is not there any more is forgotten. */
const overdue = (memory: LedgerMemory, odd: ReadonlyArray<string>, nowMs: number): ReadonlyArray<string> => {
  for (const known of memory.keys()) if (!odd.includes(known)) memory.delete(known)
  return odd.filter((each) => {
    const since = memory.get(each) ?? nowMs
    memory.set(each, since)
    return nowMs - since >= patienceMs
  })
}

/**
 * `recorded` counts who has a place by the cache. A look costs one request, whatever their number; a list only where the count has been
 * wrong for long.
 */
export const tend = Effect.fnUntraced(function* (
  book: Ledger.Book,
  recorded: Effect.Effect<number>,
  memory: LedgerMemory
): Effect.fn.Return<void, KubeError.KubeError, Client | Records> {
  const records = yield* Records
  const isRecorded = (member: string) => records.isMember(book.uid, member)
  const found = yield* Ledger.peek(book)
  if (Option.isNone(found)) return
  const { entering, leaving, settled } = found.value
  const known = new Set(yield* Effect.filter([...new Set([...entering, ...leaving])], isRecorded))
  const counted = (yield* recorded) - known.size
  const gone = leaving.filter((member) => !known.has(member))
  yield* Effect.forEach(gone, (member) => Ledger.forget(book, member), { discard: true })
  const odd = counted === settled ? entering : [...entering, wrongCount]
  for (const each of overdue(memory, odd, yield* Clock.currentTimeMillis)) {
    memory.delete(each)
    if (each === wrongCount) {
      const by = yield* Ledger.audit(book)
      yield* Effect.logWarning("a ledger was wrong, and is mended", { ledger: book.name, by })
    } else {
      yield* known.has(each) ? Ledger.settle(book, each) : Ledger.cancel(book, each)
    }
  }
})
