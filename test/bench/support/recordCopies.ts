/**
 * Thousands of records of databases that are Ready, as copies of one that is.
 *
 * While the kind has no status of its own, one request writes a record with its status, and the controllers, which do not run, find nothing
 * to do when they start.
 */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Consent from "@berth/db-provider/Consent"
import { Database } from "@berth/db-provider/Database"
import * as Names from "@berth/db-provider/Names"
import { Data, Effect, Schedule } from "effect"
import { namespace } from "./tenancy.ts"

const definition = { name: "databases.db.berth.dev" }
const look = Schedule.spaced("100 millis")

/** The definition is another one by now, and this server does not know it yet. */
class NotYet extends Data.TaggedError("NotYet")<{}> {}

/** Whether a status is kept apart from the rest of the object. */
const statusApart = Effect.fnUntraced(function* (apart: boolean) {
  const client = yield* Client
  const crd = yield* client.get(Builtin.CustomResourceDefinition, definition)
  const versions = crd.spec.versions.map(({ subresources, ...version }) => ({
    ...version,
    ...(apart ? { subresources: { ...subresources, status: {} } } : {})
  }))
  yield* client.update(Builtin.CustomResourceDefinition, { ...crd, spec: { ...crd.spec, versions } })
})

type Raw = Effect.Success<ReturnType<typeof original>>

const original = Effect.fnUntraced(function* ({ consumer, id }: { readonly consumer: string; readonly id: string }) {
  const client = yield* Client
  return yield* client.get(Database, { name: Names.record(consumer, id), namespace })
})

const copyOf = Effect.fnUntraced(function* ({ spec, status }: Raw, id: string) {
  const name = yield* Names.tenant
  const generation = 1
  return {
    metadata: { name: Names.record(spec.consumerRef.name, id), namespace, finalizers: [Consent.finalizer] },
    spec: {
      ...spec,
      externalId: id,
      databaseName: name,
      roleName: name,
      credentialsSecretRef: { ...spec.credentialsSecretRef, name: Names.credentials(name) }
    },
    status: {
      ...status,
      observedGeneration: generation,
      conditions: status?.conditions?.map((each) => ({ ...each, observedGeneration: generation })) ?? [],
      ...(status?.provisioning === undefined ? {} : { provisioning: { ...status.provisioning, generation } })
    }
  }
})

const idOf = (index: number): string => `copy-${String(index).padStart(6, "0")}`

/** So many copies, numbered from `first`. */
export const make = Effect.fnUntraced(function* (
  of: { readonly consumer: string; readonly id: string },
  first: number,
  count: number
) {
  const client = yield* Client
  const found = yield* original(of)
  const create = Effect.fnUntraced(function* (index: number) {
    return yield* client.create(Database, yield* copyOf(found, idOf(index)))
  })
  yield* statusApart(false)
  // The first one is made again until it keeps its status.
  yield* create(first).pipe(
    Effect.flatMap((made) => {
      if (made.status?.phase === "Ready") return Effect.void
      const { name } = made.metadata
      const removed = Effect.andThen(
        client.patch(Database, { name, namespace }, { type: "merge", patch: { metadata: { finalizers: null } } }),
        client.delete(Database, { name, namespace })
      )
      return Effect.andThen(removed, Effect.fail(new NotYet()))
    }),
    Effect.retry({ schedule: look, while: ({ _tag }) => _tag === "NotYet" })
  )
  const rest = Array.from({ length: count - 1 }, (_, index) => first + 1 + index)
  yield* Effect.forEach(rest, create, { concurrency: 32, discard: true })
  yield* statusApart(true)
  const name = Names.record(of.consumer, idOf(first))
  const same = client.patch(Database, { name, namespace }, { type: "merge", patch: {} }, { subresource: "status" })
  // It breaks connections, too, when it begins to serve another definition.
  yield* Effect.retry(same, { schedule: look, while: ({ _tag }) => _tag === "NotFound" || _tag === "Unreachable" })
})
