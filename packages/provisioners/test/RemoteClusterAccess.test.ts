/** What a program asks of its own cluster, and of another one, is what it says that it asks. */
import type * as Access from "@berth/kube/Access"
import * as Client from "@berth/kube/Client"
import * as Transport from "@berth/kube/Transport"
import * as Faults from "@berth/testing/Faults"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import * as RemoteCluster from "../src/RemoteCluster.ts"
import * as remotes from "./support/remote.ts"

beforeAll(remotes.loadParser, 60_000)

const distinct = (all: ReadonlyArray<string>) => [...new Set(all)].toSorted()
const inWords = ({ namespace, resource, verbs }: Access.Access) =>
  verbs.map((verb) => `${verb} ${resource} in ${namespace}`)

describe("RemoteCluster: what has to be allowed", () => {
  it.effect(
    "P27, P28: is what is asked for when something is made, kept, deleted and given up, and nothing else",
    () =>
      Effect.gen(function* () {
        const site = yield* remotes.makeHome
        const watched = Client.layer.pipe(
          Layer.provideMerge(Faults.layer()),
          Layer.provide(Transport.layer(site.connection))
        )
        const context = yield* Layer.build(Layer.fresh(watched))
        const program = yield* site.makeProgram({ homeClient: Context.get(context, Client.Client) })
        const scope = yield* Scope.make()
        const remote = yield* Scope.provide(remotes.makeCluster(), scope)
        const [one, other] = [remotes.ownerOf("one"), remotes.ownerOf("other")]
        yield* site.point(remote.kubeconfig)

        yield* program.provision(remotes.remoteSettings(one))
        yield* program.provision(remotes.remoteSettings(other, "others"))
        yield* program.deprovision(remotes.remoteSettings(one))
        yield* Scope.close(scope, Exit.void)
        yield* program.deprovision(remotes.remoteSettings(remotes.abandoning(other, remote.identity), "others"))
        const asked = yield* Context.get(context, Faults.Faults).requests()

        const { namespace: kubeconfigs } = remotes.secretRef
        assert.deepStrictEqual(
          distinct(asked.map(({ namespace, resource, verb }) => `${verb} ${resource} in ${namespace}`)),
          distinct(RemoteCluster.access({ namespace: remotes.home, kubeconfigs }).flatMap(inWords))
        )
        assert.deepStrictEqual(
          distinct(program.connections.requests.filter((request) => !request.includes(" configmaps "))),
          distinct(
            RemoteCluster.remoteAccess
              .flatMap(inWords)
              .map((said) => `none ${said.replace(" in undefined", "")} kube-system`)
          )
        )
      }),
    30_000
  )
})
