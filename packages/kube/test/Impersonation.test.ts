import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Builtin from "../src/Builtin.ts"
import * as Client from "../src/Client.ts"
import * as Connection from "../src/Connection.ts"
import * as Impersonation from "../src/Impersonation.ts"
import * as Transport from "../src/Transport.ts"
import { listener } from "./support/listener.ts"

const user = Impersonation.serviceAccount({ name: "deployer", namespace: "shop" })

describe("Impersonation", () => {
  it.effect("S32: every request of an effect is the user's, and no request outside of it is", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const transport = Layer.succeed(Transport.Transport, {
        request: ({ headers }) =>
          Effect.sync(() => {
            seen.push(headers["impersonate-user"])
            return Transport.response(200, '{"items":[],"metadata":{}}')
          })
      })
      const client = yield* Effect.provide(Client.Client, Layer.provide(Client.layer, transport))

      yield* Impersonation.as(Effect.andThen(client.list(Builtin.Secret), client.getPath("/apis")), user)
      yield* client.list(Builtin.Secret)

      assert.deepStrictEqual(seen, [
        "system:serviceaccount:shop:deployer",
        "system:serviceaccount:shop:deployer",
        undefined
      ])
    })
  )

  it.live("S32: whom a request acts for takes the place of whom its connection acts for, with all of that", () =>
    Effect.gen(function* () {
      const { seen, server } = yield* listener
      const impersonate = { user: "somebody", uid: "1", groups: ["system:masters"], extra: { scope: ["all"] } }
      const client = yield* Effect.provide(
        Client.Client,
        Client.layerFromConnection(Connection.make({ server, token: "mine", impersonate }))
      )

      yield* client.getPath("/apis")
      yield* Impersonation.as(client.getPath("/apis"), user)

      assert.deepStrictEqual(seen(), [
        {
          authorization: "Bearer mine",
          "impersonate-user": "somebody",
          "impersonate-uid": "1",
          "impersonate-group": "system:masters",
          "impersonate-extra-scope": "all"
        },
        { authorization: "Bearer mine", "impersonate-user": user }
      ])
    }).pipe(Effect.scoped)
  )
})
