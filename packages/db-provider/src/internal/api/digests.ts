/** What there is of consumers' tokens: the digests in the Secrets that they name. */
import * as Builtin from "@berth/kube/Builtin"
import type { Client } from "@berth/kube/Client"
import type { Identifier } from "@berth/kube/Identifier"
import * as KubeError from "@berth/kube/KubeError"
import { DateTime, Effect, Option } from "effect"
import { Consumer } from "../../Consumer.ts"
import type { Records } from "../../Records.ts"
import * as tokenDigest from "../tokenDigest.ts"

export interface Candidate {
  readonly consumer: Consumer
  /** The token's name. */
  readonly token: Identifier
  readonly digest: Buffer
  /** Infinity where it never does. */
  readonly expiresAtMs: number
}

type Data = Readonly<Record<string, string>>

/** What was read of a Secret, and of which version of it. */
interface Seen {
  readonly resourceVersion: string | undefined
  readonly data: Data
}

const digestOf = (data: Data, key: string): Option.Option<Buffer> => {
  const text = tokenDigest.of(data[key] ?? "").trimStart()
  return tokenDigest.isDigest(text) ? Option.some(Buffer.from(text, "hex")) : Option.none()
}

/** The tokens of a consumer, as its Secrets are now. A Secret is read once for each version that a watch tells of. */
export const make = ({
  client,
  namespace,
  records
}: {
  readonly client: Client["Service"]
  readonly records: Records["Service"]
  readonly namespace: string
}): ((consumer: string) => Effect.Effect<ReadonlyArray<Candidate>, KubeError.KubeError>) => {
  const seen = new Map<string, Seen>()

  const read = Effect.fnUntraced(function* (name: string): Effect.fn.Return<Data, KubeError.KubeError> {
    const current = yield* records.secret(name)
    if (Option.isNone(current)) {
      seen.delete(name)
      return {}
    }
    const before = seen.get(name)
    if (before !== undefined && before.resourceVersion === current.value.metadata.resourceVersion) return before.data
    const found = yield* client.get(Builtin.Secret, { name, namespace }).pipe(KubeError.orNone)
    if (Option.isNone(found)) return {}
    const { data = {}, metadata } = found.value
    seen.set(name, { resourceVersion: metadata.resourceVersion, data })
    return data
  })

  return Effect.fnUntraced(function* (name) {
    const raw = yield* records.consumer(name)
    if (Option.isNone(raw)) return []
    const consumer = yield* Effect.option(Consumer.decode(raw.value))
    if (Option.isNone(consumer)) {
      yield* Effect.logError("a Consumer cannot be understood, and its tokens are refused", { consumer: name })
      return []
    }
    const found = yield* Effect.forEach(consumer.value.spec.tokens, ({ expiresAt, name: token, sha256SecretRef }) =>
      Effect.map(read(sha256SecretRef.name), (data) =>
        Option.map(digestOf(data, sha256SecretRef.key), (digest): Candidate => {
          const expiresAtMs = expiresAt === undefined ? Infinity : DateTime.toEpochMillis(expiresAt)
          return { consumer: consumer.value, token, digest, expiresAtMs }
        })
      )
    )
    return found.flatMap(Option.toArray)
  })
}
