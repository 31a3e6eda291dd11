/**
 * What every driver has to do. A fourth driver passes this too: against its real tool, and in `npm test` against a stand-in for it.
 */
import type * as Client from "@berth/kube/Client"
import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import type * as CdDriver from "../../../src/CdDriver.ts"
import { outcome } from "./outcome.ts"
import { deprovisioned, provisioned, scene, type Tool, until } from "./tool.ts"

type Needs = Client.Client | CdDriver.CdDriver | Tool
interface Tester {
  readonly effect: (
    name: string,
    test: () => Effect.Effect<unknown, unknown, Needs | Scope.Scope>,
    timeout: number
  ) => void
}

/** A tool takes seconds for what a stand-in does at once. */
const timeoutMs = 120_000

export const driverSuite = (driver: string, tester: Tester): void => {
  const it = {
    effect: (name: string, test: () => Effect.Effect<unknown, unknown, Needs | Scope.Scope>) =>
      tester.effect(name, test, timeoutMs)
  }
  it.effect(`P31: ${driver} deploys a chart, and it is ready once its objects are`, () =>
    Effect.gen(function* () {
      const { deployed, giveAddress, web } = yield* scene
      const application = web({ greeting: "one", balanced: true })

      const waiting = yield* until(application.provision, (failure) => failure?.reason === "waiting_for_objects")
      const before = yield* deployed
      yield* giveAddress
      yield* provisioned(application)

      assert.strictEqual(waiting?._tag, "Yield")
      assert.include(waiting?.message, "Service/shop-web of ")
      assert.deepStrictEqual(before, { greeting: "one", version: "0.1.0" })
    })
  )

  it.effect(`P32: ${driver} is asked for nothing while nothing has changed`, () =>
    Effect.gen(function* () {
      const { namespace, records, web } = yield* scene
      yield* provisioned(web({ greeting: "one", fail: "" }))
      const before = yield* records(namespace)

      yield* provisioned(web({ fail: "", greeting: "one" }))
      yield* provisioned(web({ fail: "" }, { parameters: [{ name: "greeting", value: "one" }] }))

      assert.isAbove(before.length, 0)
      assert.deepStrictEqual(yield* records(namespace), before)
    })
  )

  it.effect(`P31: a change that ${driver} has not deployed yet is not taken for ready`, () =>
    Effect.gen(function* () {
      const { deployed, web } = yield* scene
      yield* provisioned(web({ greeting: "one" }))

      yield* provisioned(web({ greeting: "two" }))
      const values = yield* deployed
      yield* provisioned(web({ greeting: "two" }, { version: "0.2.0" }))

      assert.deepStrictEqual(values, { greeting: "two", version: "0.1.0" })
      assert.deepStrictEqual(yield* deployed, { greeting: "two", version: "0.2.0" })
    })
  )

  it.effect(`P35: a chart that ${driver} cannot deploy is reported in its own words, and in why only`, () =>
    Effect.gen(function* () {
      const { deployed, web } = yield* scene
      yield* provisioned(web({ greeting: "one" }))

      const failed = yield* until(
        web({ greeting: "two", fail: "no-thanks" }).provision,
        (each) => each?.reason === "failed"
      )
      const meanwhile = yield* deployed
      yield* provisioned(web({ greeting: "three" }))

      assert.strictEqual(failed?._tag, "Transient")
      assert.include(failed?.why, "this chart was told to fail: no-thanks")
      assert.notInclude(failed?.message, "no-thanks")
      assert.deepStrictEqual(meanwhile, { greeting: "one", version: "0.1.0" })
      assert.deepStrictEqual(yield* deployed, { greeting: "three", version: "0.1.0" })
    })
  )

  it.effect(`P36: an application that is degraded under ${driver} is good enough only where that is allowed`, () =>
    Effect.gen(function* () {
      const { giveUp, namespace, web } = yield* scene
      const values = { workload: true }
      // A real controller gives up after a second, which a slow machine does not see.
      const deployed = ["waiting_for_objects", "degraded"]
      yield* until(web(values).provision, (failure) => deployed.includes(failure?.reason ?? ""))
      yield* giveUp(namespace, "shop-web")

      const degraded = yield* until(web(values).provision, (failure) => failure?.reason === "degraded")
      yield* provisioned(web(values, { allowDegraded: true }))

      assert.strictEqual(degraded?._tag, "Transient")
      assert.include(degraded?.message, "Deployment/shop-web of ")
    })
  )

  it.effect(`P33: ${driver} removes an application without its chart, and it is gone when its objects are`, () =>
    Effect.gen(function* () {
      const { isGone, letGo, namespace, pause, records, web, withdraw } = yield* scene
      const application = web({ held: true })
      yield* provisioned(application)
      yield* withdraw("0.1.0")

      const held = yield* until(application.deprovision, (failure) => failure?._tag === "Yield")
      const later = yield* Effect.forEach([1, 2, 3, 4], () => Effect.andThen(pause, outcome(application.deprovision)))
      const there = yield* isGone
      yield* letGo
      yield* deprovisioned(application)

      assert.oneOf(held?.reason, ["held", "removing"])
      assert.isTrue(later.every((failure) => failure?._tag === "Yield"))
      assert.isFalse(there)
      assert.isTrue(yield* isGone)
      assert.deepStrictEqual(yield* records(namespace), [])
    })
  )

  it.effect(`P33: what ${driver} is removing is waited for, and not revived`, () =>
    Effect.gen(function* () {
      const { deployed, isGone, letGo, pause, web } = yield* scene
      yield* provisioned(web({ greeting: "one", held: true }))
      yield* until(web({ held: true }).deprovision, (failure) => failure?._tag === "Yield")

      const successor = web({ greeting: "two" })
      const waiting = yield* until(successor.provision, (failure) => failure?._tag === "Yield")
      const later = yield* Effect.forEach([1, 2, 3, 4], () => Effect.andThen(pause, outcome(successor.provision)))
      const before = yield* deployed
      yield* letGo
      yield* provisioned(successor)

      assert.oneOf(waiting?.reason, ["held", "removing"])
      assert.isTrue(later.every((failure) => failure?._tag === "Yield"))
      assert.strictEqual(before?.["greeting"], "one")
      assert.deepStrictEqual(yield* deployed, { greeting: "two", version: "0.1.0" })
      yield* deprovisioned(successor)
      assert.isTrue(yield* isGone)
    })
  )

  it.effect(`P30: a release that belongs to another owner is left to it by ${driver}`, () =>
    Effect.gen(function* () {
      const { deployed, owner, web } = yield* scene
      yield* provisioned(web({ greeting: "one" }))
      const stranger = { metadata: { ...owner.metadata, uid: "00000000-0000-4000-8000-000000000000" } }
      const theirs = web({ greeting: "two" }, { owner: stranger })

      const taken = yield* outcome(theirs.provision)
      yield* deprovisioned(theirs)

      assert.strictEqual(taken?.reason, "taken")
      assert.deepStrictEqual(yield* deployed, { greeting: "one", version: "0.1.0" })
    })
  )

  it.effect(`P31: while ${driver}'s tool is down nothing is ready, and nothing is lost`, () =>
    Effect.gen(function* () {
      const { deployed, web, without } = yield* scene
      yield* provisioned(web({ greeting: "one" }))

      const down = yield* without(outcome(web({ greeting: "two" }).provision))
      yield* provisioned(web({ greeting: "two" }))

      assert.oneOf(down?._tag, ["Yield", "Transient"])
      assert.deepStrictEqual(yield* deployed, { greeting: "two", version: "0.1.0" })
    })
  )

  it.effect(`S32: ${driver} deploys with the rights of an account, and names what these do not allow`, () =>
    Effect.gen(function* () {
      const { deployed, deployer, isEvil, isGone, namespace, web } = yield* scene
      const { account, elsewhere } = yield* deployer
      const mine = (values: CdDriver.Values) => web(values, { account })
      const refused = (values: CdDriver.Values) =>
        until(mine(values).provision, (failure) => failure?.reason === "not_allowed")
      yield* provisioned(mine({ greeting: "one" }))

      const cluster = yield* refused({ greeting: "two", cluster: true })
      const beside = yield* refused({ greeting: "two", elsewhere })
      const evil = yield* isEvil
      yield* provisioned(mine({ greeting: "three" }))
      const after = yield* deployed
      yield* deprovisioned(mine({}))

      assert.strictEqual(cluster?._tag, "Transient")
      assert.match(cluster?.message ?? "", new RegExp(`clusterrolebindings?(?:\\.\\S+)?/${namespace}-evil`, "iu"))
      assert.match(beside?.message ?? "", new RegExp(`configmaps?/${elsewhere}/${namespace}-evil`, "iu"))
      assert.isFalse(evil)
      assert.strictEqual(after?.["greeting"], "three")
      assert.isTrue(yield* isGone)
    })
  )

  it.effect(`P32: without its chart an application that runs stays ready under ${driver}`, () =>
    Effect.gen(function* () {
      const { web, withdraw } = yield* scene
      yield* provisioned(web({ greeting: "one" }))
      yield* withdraw("0.1.0")

      assert.isUndefined(yield* outcome(web({ greeting: "one" }).provision))
    })
  )
}
