import * as Builtin from "@berth/kube/Builtin"
import * as Conditions from "@berth/kube/Conditions"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Environment } from "../src/Environment.ts"
import * as EnvironmentTree from "../src/EnvironmentTree.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { SharedComponentProvider } from "../src/SharedComponentProvider.ts"
import { Slice } from "../src/Slice.ts"
import * as StallLabels from "../src/StallLabels.ts"
import { db, management, shared, started, stopped, story, web } from "./support/Berth.ts"

type Berth = Effect.Success<typeof started>
type Kind = Parameters<Berth["says"]>[0]

/** As kstatus sees what waits for somebody: Stalled and not Reconciling, for the reason that Ready gives. */
const stalled = Effect.fnUntraced(function* ({ until }: Pick<Berth, "until">, kind: Kind, name: string, why: string) {
  const found = yield* until(
    kind,
    { name, namespace: management },
    (object) => {
      const conditions = object?.status?.conditions
      const isSo = Conditions.get(conditions, "Stalled")?.reason === why && Conditions.isTrue(conditions, "Stalled")
      return isSo && Conditions.get(conditions, "Reconciling") === undefined ? conditions : undefined
    },
    `Stalled, for ${why}`
  )
  return Conditions.get(found, "Ready")?.message ?? ""
})

/** By what happened, and not by the next look a minute later. */
const woken = Effect.timeout("30 seconds")

describe("What waits for somebody", () => {
  story("P17, S6: an environment is stalled with its shared component, says which, and goes on with it", function* () {
    const berth = yield* stopped
    const { environment, instance, operator, provider, ready, sharedComponent, slices, template } = berth
    yield* operator.start
    yield* provider()
    yield* sharedComponent()
    yield* template()

    yield* environment("a")
    const message = yield* stalled(berth, Environment, "a", "shared_component_stalled")
    assert.strictEqual(
      message,
      "The shared component postgres, which db needs, is stalled: mend what its conditions name."
    )
    const [record] = yield* slices("a")
    yield* stalled(berth, Slice, record?.metadata.name ?? "", "stalled")
    yield* stalled(berth, SharedComponent, "postgres", "secret_missing")

    yield* instance()
    yield* ready(SharedComponent, "postgres")
    yield* ready(Environment, "a")
  })

  story("P17, S6: a shared component is stalled with its provider, and goes on with it", function* () {
    const berth = yield* started
    const { environment, provider, ready, sharedComponent, template } = berth
    yield* provider("broken", { binding: { URL: "{{ .Nope }}" } })
    yield* sharedComponent("redis", { providerRef: { name: "broken" } })
    yield* template("shop", [{ name: "cache", sharedComponentRef: { name: "redis" } }])
    yield* environment("a")
    yield* stalled(berth, SharedComponentProvider, "broken", "provider_invalid")
    yield* stalled(berth, SharedComponent, "redis", "provider_stalled")
    yield* stalled(berth, Environment, "a", "shared_component_stalled")

    yield* provider("broken")

    yield* ready(SharedComponent, "redis")
    yield* ready(Environment, "a")
  })

  story("P17, S6: an environment is stalled while its shared component is being deleted", function* () {
    const berth = yield* started
    const { environment, gone, ready, remove, sharedComponent, slices, template } = berth
    yield* template("shop", [db])
    yield* environment("a")
    yield* ready(Environment, "a")
    yield* remove(SharedComponent, "postgres")

    yield* environment("late")
    const message = yield* stalled(berth, Environment, "late", "shared_component_closing")
    assert.include(message, "postgres, which db needs, is being deleted")

    yield* remove(Environment, "a")
    yield* gone(Environment, "a")
    const [record] = yield* slices("late")
    // Who only waits for a place holds nobody up.
    yield* gone(SharedComponent, "postgres")
    const missing = yield* stalled(berth, Environment, "late", "template_invalid")
    assert.include(missing, "MissingSharedComponent")
    yield* sharedComponent()
    yield* ready(Environment, "late")
    const [second] = yield* slices("late")
    assert.notStrictEqual(second?.metadata.name, record?.metadata.name)
  })

  story("P17: an environment is stalled with its slice, and goes on with it", function* () {
    const berth = yield* started
    const { environment, provider, ready, scripts, slices, template, until } = berth
    yield* provider("postgres", { provision: { image: "berth", script: "false", retries: 0 } })
    yield* template()
    yield* scripts.decide(() => "fails")
    yield* environment("a")
    const [record] = yield* slices("a")
    const name = record?.metadata.name ?? ""

    const message = yield* stalled(berth, Environment, "a", "slice_stalled")
    assert.include(message, `see the conditions of the Slice ${name}`)
    const { status } = yield* berth.read(Environment, "a")
    assert.strictEqual(status?.phase, "Failed")

    yield* scripts.decide(() => "succeeds")
    yield* provider("postgres", { provision: { image: "berth", script: "true", retries: 0 } })
    yield* ready(Environment, "a")
    yield* until(Slice, { name, namespace: management }, (slice) =>
      slice !== undefined && slice.metadata.labels?.[StallLabels.label] === undefined ? true : undefined
    )
  })

  story("S5: the label is an index that is mended", function* () {
    const { edit, environment, ready, slices, template, until } = yield* started
    yield* template()
    yield* environment("a")
    yield* ready(Environment, "a")
    const [record] = yield* slices("a")
    const name = record?.metadata.name ?? ""

    const forged = yield* edit(Slice, name, { metadata: { labels: { [StallLabels.label]: "true" } } })

    yield* until(Slice, { name, namespace: management }, (slice) =>
      Number(slice?.metadata.resourceVersion) > Number(forged.metadata.resourceVersion) &&
      slice?.metadata.labels?.[StallLabels.label] === undefined
        ? true
        : undefined
    )
    yield* ready(Environment, "a")
  })

  story("P17: an environment that waits for somebody goes on when its template is another one", function* () {
    const berth = yield* started
    const { environment, provider, ready, scripts, template } = berth
    yield* provider("postgres", { provision: { image: "berth", script: "false", retries: 0 } })
    yield* template()
    yield* scripts.decide(() => "fails")
    yield* environment("a")
    yield* stalled(berth, Environment, "a", "slice_stalled")
    yield* environment("b", { env: { web: { A: { secretKeyRef: { name: "none", key: "none" } } } } })
    yield* environment("c", {
      templateRef: { name: "free" },
      env: { web: { A: { secretKeyRef: { name: "none", key: "none" } } } }
    })
    yield* template("free", [{ name: "web" }, { name: "other", env: { B: "b" } }])
    yield* stalled(berth, Environment, "c", "secret_missing")

    yield* scripts.decide(() => "succeeds")
    yield* template("shop", [{ name: "web", env: { A: "a" } }])
    yield* template("free", [{ name: "other", env: { B: "b" } }, web])

    yield* ready(Environment, "a")
    yield* stalled(berth, Environment, "c", "template_invalid")
  })

  story("P17, S10: an environment that cannot be removed is stalled with its slice, and ends with it", function* () {
    const berth = yield* started
    const { environment, gone, provider, ready, remove, scripts, slices, template } = berth
    yield* provider("postgres", { deprovision: { image: "berth", script: "false", retries: 0 } })
    yield* template("shop", [db])
    yield* environment("a")
    yield* ready(Environment, "a")
    const [record] = yield* slices("a")
    yield* scripts.decide(({ metadata }) => (metadata.name.includes("deprovision") ? "fails" : "succeeds"))

    yield* remove(Environment, "a")
    yield* stalled(berth, Slice, record?.metadata.name ?? "", "not_removed")
    const message = yield* stalled(berth, Environment, "a", "slices_not_removed")
    assert.include(message, record?.metadata.name ?? "none")

    yield* scripts.decide(() => "succeeds")
    yield* berth.edit(Slice, record?.metadata.name ?? "", { metadata: { annotations: { "berth.dev/retry": "1" } } })
    yield* gone(Environment, "a")
    const { items } = yield* Effect.orDie(berth.client.list(Builtin.Job, { namespace: shared }))
    assert.lengthOf(items, 0)
  })

  /** A slice that cannot be removed, and that its environment has given up. */
  const leftover = Effect.fnUntraced(function* (
    { edit, environment, provider, ready, scripts, slices, template }: Berth,
    before: Effect.Effect<void> = Effect.void
  ) {
    yield* provider("postgres", { deprovision: { image: "berth", script: "false", retries: 0 } })
    yield* template("shop", [db])
    yield* template("other", [db])
    yield* environment("a")
    yield* ready(Environment, "a")
    const [record] = yield* slices("a")
    const name = record?.metadata.name ?? ""
    yield* scripts.decide(({ metadata }) => (metadata.name.includes("deprovision") ? "fails" : "succeeds"))
    yield* before
    yield* template("shop", [{ name: "web", env: { A: "a" } }])
    const mend = Effect.andThen(
      scripts.decide(() => "succeeds"),
      edit(Slice, name, { metadata: { annotations: { "berth.dev/retry": "1" } } })
    )
    return { name, mend }
  })

  story("S2, S6: a slice that cannot be removed is named where its place is, and to who waits for that", function* () {
    const berth = yield* started
    const { edit, environment, ready, says, scripts, sharedComponent, slices, until } = berth
    yield* sharedComponent("postgres", { maxConsumers: 1 })
    yield* says(SharedComponent, "postgres", "Healthy", "SlicesHealthy")
    const waits = Effect.gen(function* () {
      yield* environment("b", { templateRef: { name: "other" } })
      const [record] = yield* slices("b")
      yield* says(Slice, record?.metadata.name ?? "", "at_capacity")
    })
    const { mend, name } = yield* leftover(berth, waits)

    const { message } = yield* says(SharedComponent, "postgres", "Stalled", "SlicesHealthy")
    assert.include(message, name)
    yield* ready(SharedComponent, "postgres")
    yield* ready(Environment, "a")
    const [waiting] = yield* slices("b")
    const told = yield* says(Slice, waiting?.metadata.name ?? "", "at_capacity_stalled").pipe(woken)
    assert.include(told.message, "see the condition SlicesHealthy of postgres")
    yield* until(Environment, { name: "b", namespace: management }, (found) =>
      found?.status?.components?.[0]?.message === told.message ? true : undefined
    )

    // Its script runs again: that is all that changes.
    yield* scripts.decide(() => "runs")
    yield* edit(Slice, name, { metadata: { annotations: { "berth.dev/retry": "0" } } })
    yield* says(SharedComponent, "postgres", "Healthy", "SlicesHealthy")
    yield* mend
    yield* ready(Environment, "b")
  })

  story("P17, S6: a shared component and its provider are stalled with what keeps them, and go after it", function* () {
    const berth = yield* started
    const { environment, gone, ready, remove, says, slices } = berth
    const { mend, name } = yield* leftover(berth)
    yield* environment("b", { templateRef: { name: "other" } })
    yield* ready(Environment, "b")
    const [used] = yield* slices("b")

    yield* remove(SharedComponentProvider, "postgres")
    yield* says(SharedComponentProvider, "postgres", "held_by_shared_components")
    yield* remove(SharedComponent, "postgres")

    const message = yield* stalled(berth, SharedComponent, "postgres", "slices_not_removed")
    assert.strictEqual(message, `Kept by slices that cannot be removed: ${name}. See the conditions of each Slice.`)
    const told = yield* stalled(berth, SharedComponentProvider, "postgres", "shared_components_not_removed").pipe(woken)
    assert.include(told, "cannot be removed: postgres.")
    yield* mend
    const held = yield* says(SharedComponent, "postgres", "held_by_slices")
    assert.include(held.message, used?.metadata.name ?? "none")
    yield* says(SharedComponentProvider, "postgres", "held_by_shared_components")
    yield* remove(Environment, "b")
    yield* gone(SharedComponent, "postgres")
    yield* gone(SharedComponentProvider, "postgres")
  })

  story(
    "S16: an environment is let go by its own UID, and leaves its slice Orphaned until that can be removed",
    function* () {
      const berth = yield* started
      const { edit, environment, gone, namespaceOf, provider, ready, remove, scripts, slices, template, until } = berth
      yield* provider("postgres", { deprovision: { image: "berth", script: "false", retries: 0 } })
      yield* template("shop", [db])
      yield* environment("a")
      const { metadata } = yield* ready(Environment, "a")
      const namespace = yield* namespaceOf("a")
      yield* edit(Builtin.Namespace, namespace, { metadata: { finalizers: ["example.com/stuck"] } }, "")
      const [record] = yield* slices("a")
      const ref = { name: record?.metadata.name ?? "", namespace: management }
      yield* scripts.decide((job) => (job.metadata.name.includes("deprovision") ? "fails" : "succeeds"))
      const force = (value: string) =>
        edit(Environment, "a", { metadata: { annotations: { [EnvironmentTree.forceAnnotation]: value } } })
      yield* force("another")
      yield* remove(Environment, "a")
      const refused = yield* stalled(berth, Environment, "a", "force_refused")
      assert.include(refused, `the UID of this environment, which is ${metadata.uid ?? "none"}`)
      yield* edit(Environment, "a", { metadata: { annotations: { [EnvironmentTree.forceAnnotation]: null } } })
      const message = yield* stalled(berth, Environment, "a", "slices_not_removed")
      assert.include(message, `its own UID ${metadata.uid ?? "none"}`)

      yield* force(metadata.uid ?? "")

      yield* gone(Environment, "a")
      yield* until(Slice, ref, (slice) => (slice?.status?.phase === "Orphaned" ? true : undefined))
      yield* stalled(berth, Slice, ref.name, "not_removed")
      const left = yield* berth.read(Builtin.Namespace, namespace, "")
      assert.isDefined(left.metadata.deletionTimestamp)
      yield* scripts.decide(() => "succeeds")
      yield* edit(Slice, ref.name, { metadata: { annotations: { "berth.dev/retry": "1" } } })
      yield* gone(Slice, ref.name)
    }
  )
})
