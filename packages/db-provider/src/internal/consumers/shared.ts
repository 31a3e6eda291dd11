/** Whose token is somebody else's too: then it is nobody's, and both have to be told. */
import * as Builtin from "@berth/kube/Builtin"
import type { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Option } from "effect"
import { Consumer } from "../../Consumer.ts"
import { Settings } from "../../Settings.ts"
import * as tokenDigest from "../tokenDigest.ts"

type ProvisionError = Disposition.ProvisionError
type Token = Consumer["spec"]["tokens"][number]

/** What there is of a token. */
export interface Read {
  readonly token: Token
  /** Undefined where there is no Secret, or no such key. */
  readonly digest: string | undefined
}

/** By which whoever reads is woken when it is another one. */
export const read = Effect.fnUntraced(function* (
  tokens: ReadonlyArray<Token>
): Effect.fn.Return<ReadonlyArray<Read>, ProvisionError, Client | Settings> {
  const { releaseNamespace: namespace } = yield* Settings
  return yield* Effect.forEach(tokens, (token) =>
    Effect.map(Manager.input(Builtin.Secret, { name: token.sha256SecretRef.name, namespace }), (secret) => {
      const encoded = Option.getOrUndefined(secret)?.data?.[token.sha256SecretRef.key]
      return { token, digest: encoded === undefined ? undefined : tokenDigest.of(encoded) }
    })
  )
})

/** What this process has seen of all consumers: a hint of whom to ask, never the answer. */
export interface Book {
  /** Takes over what a consumer has now; returns who shares, or shared, what has changed by that. */
  readonly note: (consumer: string, digests: ReadonlyArray<string>) => ReadonlyArray<string>
  /** Who else had this one when it was looked at. */
  readonly others: (consumer: string, digest: string) => ReadonlyArray<string>
}

const none: ReadonlySet<string> = new Set()

export const makeBook = (): Book => {
  const owners = new Map<string, Set<string>>()
  const known = new Map<string, ReadonlySet<string>>()
  const others = (consumer: string, digest: string) =>
    [...(owners.get(digest) ?? none)].filter((name) => name !== consumer).toSorted()
  const give = (consumer: string, digest: string) => {
    const found = owners.get(digest) ?? new Set()
    owners.set(digest, found.add(consumer))
  }
  const take = (consumer: string, digest: string) => {
    const found = owners.get(digest)
    found?.delete(consumer)
    if (found?.size === 0) owners.delete(digest)
  }
  return {
    others,
    note: (consumer, digests) => {
      const before = known.get(consumer) ?? none
      const now = new Set(digests)
      const gone = [...before].filter((digest) => !now.has(digest))
      const come = [...now].filter((digest) => !before.has(digest))
      for (const digest of gone) take(consumer, digest)
      for (const digest of come) give(consumer, digest)
      if (now.size === 0) known.delete(consumer)
      else known.set(consumer, now)
      return [...new Set([...gone, ...come].flatMap((digest) => others(consumer, digest)))]
    }
  }
}

/** Whether it has this one, by the API server's word: whoever asks is woken when that changes. */
const has = Effect.fnUntraced(function* (
  name: string,
  digest: string
): Effect.fn.Return<boolean, ProvisionError, Client | Settings> {
  const raw = yield* Manager.input(Consumer, { name })
  const consumer = Option.isNone(raw) ? Option.none<Consumer>() : yield* Effect.option(Consumer.decode(raw.value))
  if (Option.isNone(consumer)) return false
  const all = yield* read(consumer.value.spec.tokens)
  return all.some((each) => each.digest === digest)
})

/** Who else has this one now. */
export const sharers = (
  book: Book,
  consumer: string,
  digest: string
): Effect.Effect<ReadonlyArray<string>, ProvisionError, Client | Settings> =>
  Effect.filter(book.others(consumer, digest), (name) => has(name, digest))
