/**
 * Slices that are databases of a Berth database provider: the backend of SharedComponentProviders with a `databaseProvider`.
 *
 * A slice's database is called by the slice id. Asking for it and asking for its deletion are both idempotent, so nothing has to be
 * remembered of what was asked before.
 *
 * **Guarantees**
 * - S7: nothing is sent that the slice's capsule does not say: endpoint, certificates, and where the token is.
 * - S8: one database and one password, however often it is asked for.
 * - S11: a teardown needs neither the provider object nor the Secret with the token, of which a copy is kept. The token is read in each
 *   pass, so that another one is used as soon as it is in the Secret.
 * - S16: a database that was in use and that the provider does not know is not taken for one that was removed.
 * - S25: token and password are in Secrets, and in no failure and no log.
 *
 * **Caveats**
 * - A database is closed when its slice goes, and dropped by its provider after the provider's own grace period.
 * - A request that an operator sent before it died, and that reaches the provider only after the next one has had the database deleted,
 *   finds it deleted: the provider refuses it for the grace period.
 *
 * @since 0.1.0
 */
import type { Connection } from "@berth/db-provider/Api"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Instance from "@berth/shared-components/Instance"
import { sharedComponentOf } from "@berth/shared-components/Records"
import { Settings } from "@berth/shared-components/Settings"
import type { SharedComponent } from "@berth/shared-components/SharedComponent"
import type { SharedComponentProvider } from "@berth/shared-components/SharedComponentProvider"
import {
  Backends,
  databaseProvider,
  type Offer,
  type Services,
  type SliceBackend,
  type Work
} from "@berth/shared-components/SliceBackend"
import { Effect, Layer, Option, Redacted, Result, type Scope } from "effect"
import * as connections from "./internal/databases/connections.ts"
import * as failures from "./internal/databases/failures.ts"
import * as places from "./internal/databases/places.ts"
import { Reasons as reasons } from "./internal/databases/reasons.ts"

type Step<A> = Effect.fn.Return<A, Disposition.ProvisionError, Services>

/**
 * Why a slice, or a shared component, waits for its database provider.
 *
 * **Details**: what a person mends in the provider's own cluster wakes nobody here. So whatever is refused is asked for again, after 1 s doubled
 * up to 5 min.
 *
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `making`, `closing` | the database is not ready, or not closed, yet | asked again when the provider says | nothing |
 * | `unreachable` | no connection, or no answer | tried again, after 1 s doubled up to 5 min | see that the provider runs and can be reached |
 * | `failing`, `busy` | the provider failed, or asks for patience | tried again, when it says so | see the provider's log |
 * | `not_made` | the database's phase is Failed | asked again, with the same pauses | see the Database in the provider's cluster |
 * | `certificate_refused` | a certificate that `caBundle` does not cover | asked again | correct `caBundle`, or the certificate |
 * | `token_refused` | the token is not accepted | asked again, at once when the Secret changes | put a valid token into the Secret |
 * | `consumer_disabled` | whoever runs the provider has disabled this consumer | asked again | ask them |
 * | `quota_exceeded` | the consumer has as many databases as it may | asked again | raise the quota, or remove databases |
 * | `being_deleted` | a database of this id was deleted, and is kept for its grace period | asked again | have it recovered, or wait |
 * | `database_missing` | the provider does not know a database that was in use | asked again | correct the endpoint or the token, or give the slice up |
 * | `refused` | any other refusal | asked again | see the code, and the provider's log |
 * | `no_provider` | something answers that is not a database provider | asked again | correct the endpoint |
 * | `settings_invalid` | it is not said which provider | nothing | correct the provider, or the slice's capsule |
 * | `asked_again` | beside another one: that it is asked again | | |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = reasons

/** What takes longer is asked for again, so that no pass takes long. */
const wait = "5 seconds"

/**
 * The backend. Its connections are closed with the scope.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<SliceBackend, never, Scope.Scope> = Effect.map(connections.make, (ask) => ({
  check: Effect.fn("DatabaseProviderBackend.check")(function* (
    shared: SharedComponent,
    { metadata, spec }: SharedComponentProvider
  ): Step<void> {
    const { sharedNamespace } = yield* Settings
    const namespace = Identifier.Identifier.make(sharedNamespace)
    const place = yield* places.ofSettings(spec.databaseProvider, { provider: metadata.name, namespace })
    const token = yield* places.token(place)
    yield* Instance.backUp(shared.metadata, place.secret, { [place.key]: token })
    const about = { place, database: shared.metadata.name }
    yield* failures.classified(about)(ask(place, token, (provider) => provider.list({ limit: 1 })))
  }),

  provision: Effect.fn("DatabaseProviderBackend.provision")(function* (work: Work): Step<Offer> {
    const about = yield* aboutOf(work)
    const { database, place } = about
    const answer = ask(place, yield* places.token(place), (provider) => provider.put(database, { wait }))
    const put = yield* failures.classified(about)(answer)
    return put._tag === "Ready"
      ? offerOf(put.database.connection)
      : yield* failures.unfinished(about, put.database, put.retryAfter)
  }),

  offer: Effect.fn("DatabaseProviderBackend.offer")(function* (work: Work): Step<Offer> {
    const about = yield* aboutOf(work)
    const { database, place } = about
    const answer = yield* Effect.result(ask(place, yield* places.token(place), (provider) => provider.get(database)))
    if (Result.isFailure(answer)) {
      const { failure } = answer
      return yield* failures.isGone(failure) ? missing(work, about) : failures.classify(about, failure)
    }
    const { connection } = answer.success
    return connection === undefined ? yield* failures.unfinished(about, answer.success) : offerOf(connection)
  }),

  // Whether there is a database, only the provider knows.
  settle: () => Effect.succeed(true),

  deprovision: Effect.fn("DatabaseProviderBackend.deprovision")(function* (work: Work): Step<void> {
    const about = yield* aboutOf(work)
    const { database, place } = about
    const slice = yield* work.record.current
    const token = yield* places.lastToken(place, [sharedComponentOf(slice), slice.spec.sharedComponent])
    const answer = yield* Effect.result(ask(place, token, (provider) => provider.remove(database, { wait })))
    if (Result.isSuccess(answer)) {
      const { success } = answer
      return success._tag === "Closed" ? undefined : yield* failures.closing(about, success)
    }
    const { failure } = answer
    if (!failures.isGone(failure)) return yield* failures.classify(about, failure)
    // Another provider, or another consumer's token, does not know it either.
    if (failure.code === "database_not_found" && Option.isSome(work.kept)) return yield* missing(work, about)
  })
}))

/**
 * The backends of the operator: what its program needs for a provider's `databaseProvider`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = Layer.effect(
  Backends,
  Effect.map(make, (backend) => new Map([[databaseProvider, backend]]))
)

const aboutOf = Effect.fnUntraced(function* ({ capsule, record }: Work): Step<failures.About> {
  const { spec } = yield* record.current
  const { provider, sharedNamespace: namespace } = capsule
  const place = yield* places.ofSettings(capsule.backend?.settings, { provider: provider.name, namespace })
  return { place, database: Identifier.Identifier.make(spec.sliceId) }
})

const missing = Effect.fnUntraced(function* ({ record }: Work, { database, place }: failures.About): Step<never> {
  const { metadata } = yield* record.current
  const { endpoint, secret } = place
  return yield* failures.askedAgain(place, Reasons.database_missing({ endpoint, database, secret, uid: metadata.uid }))
})

/** Certificates are there where the provider's are not those that systems trust. */
const offerOf = (connection: Connection): Offer => {
  const { caBundle, database, host, password, port, sslmode, uri, user } = connection
  const outputs = {
    host,
    port: String(port),
    database,
    username: user,
    password: Redacted.value(password),
    sslmode,
    uri: Redacted.value(uri)
  }
  const certificates = caBundle === undefined ? {} : { certificates: caBundle }
  return {
    instance: {},
    host,
    port: outputs.port,
    outputs: { ...outputs, certificates: caBundle ?? "" },
    keys: { type: "postgresql", ...outputs, ...certificates }
  }
}
