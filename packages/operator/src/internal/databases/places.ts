/** Where a slice's database provider is, and where the token for it. */
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Instance from "@berth/shared-components/Instance"
import type * as Names from "@berth/shared-components/Names"
import type { Services } from "@berth/shared-components/SliceBackend"
import { Effect, Option, Schema } from "effect"
import { Reasons } from "./reasons.ts"

export interface Place {
  /** Of the SharedComponentProvider. */
  readonly provider: Identifier.Identifier
  readonly url: string
  readonly caBundle: string | undefined
  /** What messages call it. */
  readonly endpoint: Identifier.Identifier
  readonly secret: Identifier.Identifier
  readonly key: string
  readonly namespace: Identifier.Identifier
}

/** As a SharedComponentProvider has them. */
const Settings = Schema.Struct({
  endpoint: Schema.String,
  caBundle: Schema.optionalKey(Schema.String),
  tokenSecretRef: Schema.Struct({ name: Identifier.Identifier, key: Schema.String })
})

const decode = Schema.decodeUnknownEffect(Settings)

const unnamed = Identifier.of("its-endpoint")

/** A host as people write it in a URL; an IPv6 address does not have the shape of a name. */
const named = (url: string): Identifier.Identifier =>
  Option.getOrElse(Identifier.fromString(URL.parse(url)?.host ?? ""), () => unnamed)

export const ofSettings = Effect.fnUntraced(function* (
  settings: unknown,
  { namespace, provider }: Pick<Place, "namespace" | "provider">
): Effect.fn.Return<Place, Disposition.ProvisionError> {
  const { caBundle, endpoint, tokenSecretRef } = yield* Effect.mapError(decode(settings), (error) =>
    Reasons.settings_invalid({ provider }, { why: error.message, cause: error })
  )
  const { key, name: secret } = tokenSecretRef
  return { provider, url: endpoint, caBundle, endpoint: named(endpoint), secret, key, namespace }
})

const picked = (place: Place, values: Instance.Values): Effect.Effect<string, Disposition.ProvisionError> => {
  const token = values[place.key]
  if (token !== undefined) return Effect.succeed(token)
  const { namespace, secret } = place
  const keys = Option.toArray(Identifier.fromString(place.key))
  return Effect.fail(Instance.Reasons.key_missing({ secret, namespace, keys }))
}

/** As it is now. */
export const token = (place: Place): Effect.Effect<string, Disposition.ProvisionError, Services> =>
  Effect.flatMap(Instance.read(place), (values) => picked(place, values))

/** As it is now, or was when it was last seen. */
export const lastToken = (
  place: Place,
  sharedComponents: ReadonlyArray<Names.Identity>
): Effect.Effect<string, Disposition.ProvisionError, Services> =>
  Effect.flatMap(Instance.readOrBackup(place, sharedComponents), (values) => picked(place, values))
