/** What a driver does with an account that somebody in its namespace has tampered with: against stand-ins only. */
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import { assert } from "@effect/vitest"
import { Effect, Option, type Scope } from "effect"
import type * as CdDriver from "../../../src/CdDriver.ts"
import { deprovisioned, provisioned, scene, type Tool } from "./tool.ts"

type Needs = Client.Client | CdDriver.CdDriver | Tool
interface Tester {
  readonly effect: (
    name: string,
    test: () => Effect.Effect<unknown, unknown, Needs | Scope.Scope>,
    timeout: number
  ) => void
}

const timeoutMs = 60_000

export const accountSuite = (driver: string, tester: Tester): void => {
  tester.effect(
    `S32: ${driver} lets go of a release whose account went with its namespace`,
    () =>
      Effect.gen(function* () {
        const { deployer, isGone, letGo, namespace, records, web } = yield* scene
        const { account } = yield* deployer
        const application = web({ greeting: "one", held: true }, { account })
        const client = yield* Client.Client
        yield* provisioned(application)
        yield* client.delete(Builtin.Namespace, { name: namespace })
        const left = yield* Effect.option(client.get(Builtin.ServiceAccount, { name: account.name, namespace }))

        yield* deprovisioned(application)

        assert.isTrue(Option.isNone(left))
        assert.isFalse(yield* isGone)
        assert.deepStrictEqual(yield* records(namespace), [])
        yield* letGo
      }),
    timeoutMs
  )

  tester.effect(
    `S32: ${driver} needs the account again to remove what it made, and makes it`,
    () =>
      Effect.gen(function* () {
        const { deployer, isGone, namespace, web } = yield* scene
        const { account } = yield* deployer
        const application = web({ greeting: "one" }, { account })
        const client = yield* Client.Client
        yield* provisioned(application)
        yield* client.delete(Builtin.RoleBinding, { name: account.name, namespace })
        yield* client.delete(Builtin.ServiceAccount, { name: account.name, namespace })

        yield* deprovisioned(application)

        assert.isTrue(yield* isGone)
      }),
    timeoutMs
  )
}
