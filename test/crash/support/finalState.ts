/** What has to be true when the story is over, whatever happened on the way; asked of the API server and of PostgreSQL. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type { KubeObject } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import { Environment } from "@berth/shared-components/Environment"
import { Slice } from "@berth/shared-components/Slice"
import { Data, Duration, Effect, Schedule, Schema } from "effect"
import * as Proof from "../../../examples/quickstart/src/Proof.ts"
import { managementNamespace, sharedNamespace } from "../../../examples/quickstart/src/Stage.ts"

export class NotReached extends Data.TaggedError("NotReached")<{ readonly differences: ReadonlyArray<string> }> {
  override get message() {
    return `The final state was not reached:\n${this.differences.map((each) => `  ${each}`).join("\n")}`
  }
}

const members = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Array(Schema.String)))

const names = (objects: ReadonlyArray<KubeObject>): ReadonlyArray<string> =>
  objects.map(({ metadata }) => metadata.name)

/** A sentence where the two are not the same texts in some order. */
const differs = (what: string, is: ReadonlyArray<string>, shouldBe: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [found, wanted] = [is.toSorted().join(", "), shouldBe.toSorted().join(", ")]
  return found === wanted ? [] : [`${what}: ${found || "none"}; expected: ${wanted || "none"}`]
}

const list = <O extends KubeObject>(type: ResourceType<O>, namespace?: string) =>
  Client.use((client) => Effect.map(client.list(type, { namespace }), ({ items }) => items))

const environmentsAndSlices = Effect.fnUntraced(function* (expected: ReadonlyArray<string>) {
  const environments = yield* list(Environment, managementNamespace)
  const slices = yield* list(Slice, managementNamespace)
  const ready = environments.filter(({ status }) => Conditions.isTrue(status?.conditions, "Ready"))
  const bound = slices.filter(
    ({ status }) => status?.phase === "Bound" && Conditions.isTrue(status.conditions, "Ready")
  )
  return {
    slices,
    found: [
      ...differs("environments", names(environments), expected),
      ...differs("environments that are Ready", names(ready), expected),
      ...differs(
        "records of",
        slices.map(({ spec }) => spec.consumer.name),
        expected
      ),
      ...differs(
        "records that are Bound, of",
        bound.map(({ spec }) => spec.consumer.name),
        expected
      )
    ]
  }
})

type RawSlice = Effect.Success<ReturnType<typeof environmentsAndSlices>>["slices"][number]

/** Nothing but what belongs to the records that live. */
const leftovers = Effect.fnUntraced(function* (expected: ReadonlyArray<string>, slices: ReadonlyArray<RawSlice>) {
  const ids = slices.map(({ spec }) => spec.sliceId)
  const jobs = yield* list(Builtin.Job, sharedNamespace)
  const succeeded = slices.flatMap(({ status }) =>
    (status?.jobs ?? []).filter(({ outcome }) => outcome === "Succeeded").map(({ name }) => name)
  )
  const secrets = yield* list(Builtin.Secret, sharedNamespace)
  const kept = (yield* list(Builtin.Secret, managementNamespace)).filter(({ metadata }) =>
    metadata.name.startsWith("slice-")
  )
  const namespaces = (yield* list(Builtin.Namespace)).filter(({ metadata }) => metadata.name.startsWith("env-"))
  const ofEnvironments = namespaces.map(({ metadata }) => metadata.labels?.["berth.dev/environment"] ?? "")
  const inNamespaces = (yield* Effect.forEach(names(namespaces), (namespace) => list(Builtin.Secret, namespace))).flat()
  return [
    ...differs("Jobs", names(jobs), succeeded),
    ...differs("Secrets of the shared namespace", names(secrets), ["postgres-admin"]),
    ...differs(
      "kept bindings",
      names(kept),
      ids.map((id) => `slice-${id}-binding`)
    ),
    ...differs("namespaces of", ofEnvironments, expected),
    ...differs(
      "Secrets of environments",
      names(inNamespaces),
      expected.flatMap(() => ["app-env", "db-binding"])
    )
  ]
})

const ledger = Effect.fnUntraced(function* (slices: ReadonlyArray<RawSlice>) {
  const client = yield* Client
  const object = yield* client.get(Builtin.ConfigMap, { name: "berth-ledger-postgres", namespace: managementNamespace })
  const uids = slices.map(({ metadata }) => metadata.uid ?? "")
  return differs("the ledger's members", members(object.data?.["members"] ?? "[]"), uids)
})

const server = Effect.fnUntraced(function* (slices: ReadonlyArray<RawSlice>) {
  const { databases, roles } = yield* Proof.tenants()
  const wanted = slices.map(({ spec }) => `t_${spec.sliceId}`)
  return [...differs("databases", databases, wanted), ...differs("logins", roles, wanted)]
})

const differences = Effect.fnUntraced(function* (expected: ReadonlyArray<string>) {
  const { found, slices } = yield* environmentsAndSlices(expected)
  return [...found, ...(yield* leftovers(expected, slices)), ...(yield* ledger(slices)), ...(yield* server(slices))]
})

const patience = Duration.seconds(60)

/** Waits until these environments are there, each with what it should have, and nothing else is. */
export const reached = Effect.fn("FinalState.reached")(function* (expected: ReadonlyArray<string>) {
  let last: ReadonlyArray<string> = []
  const look = Effect.map(differences(expected), (found) => {
    last = found
    return found.length === 0
  })
  yield* Effect.repeat(look, { until: (yes) => yes, schedule: Schedule.spaced("100 millis") }).pipe(
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.suspend(() => Effect.fail(new NotReached({ differences: last })))
    })
  )
})

/** Each gets into its own database and into none of the others'. */
export const loginsWork = Effect.fn("FinalState.loginsWork")(function* (expected: ReadonlyArray<string>) {
  const logins = yield* Effect.forEach(expected, Proof.login)
  yield* Effect.forEach(logins, Proof.writes)
  for (const login of logins) {
    const others = logins.filter(({ database }) => database !== login.database)
    yield* Effect.forEach(others, ({ database }) => Proof.refused(login, database))
  }
})
