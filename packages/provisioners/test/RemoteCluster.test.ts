/** What a child gets on another cluster, whose clients those are, and what becomes of a pass without a cluster. */
import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import * as Client from "@berth/kube/Client"
import type * as Kind from "@berth/kube/Kind"
import { assert, beforeAll, describe, expectTypeOf, it, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as CdDriver from "../src/CdDriver.ts"
import type * as Disposition from "../src/Disposition.ts"
import * as Identifier from "../src/Identifier.ts"
import * as Provisioner from "../src/Provisioner.ts"
import * as RemoteCluster from "../src/RemoteCluster.ts"
import * as remotes from "./support/remote.ts"
import { scenario as widgetScenario, type Widget, widgets } from "./support/widgets.ts"

beforeAll(remotes.loadParser, 60_000)

const admins = ["system:masters"]
const users = { first: { username: "anna", groups: admins }, second: { username: "bob", groups: admins } }

/** A cluster that knows the tokens `first` and `second`, and `weak`, which may do nothing. */
const guarded = remotes.makeCluster({ rbac: true, users: { ...users, weak: { username: "carol", groups: [] } } })

describe("RemoteCluster: the child", () => {
  it.effect("P25: works on the remote cluster, in both directions, and on no other", () =>
    Effect.gen(function* () {
      const { program, remote, site } = yield* remotes.scenario
      const provisioner = remotes.remoteSettings(remotes.ownerOf("web"))

      yield* program.provision(provisioner)
      const after = [yield* remotes.settingsOn(site), yield* remotes.settingsOn(remote)]
      yield* program.deprovision(provisioner)

      assert.deepStrictEqual(after, [[], ["settings"]])
      assert.deepStrictEqual(yield* remotes.settingsOn(remote), [])
    })
  )

  it.effect("P25: is told where it is, and siblings on the operator's own cluster are not", () =>
    Effect.gen(function* () {
      const { program, remote, site } = yield* remotes.scenario
      const seen: Array<readonly [string, string | undefined]> = []
      const looks = (name: Identifier.Identifier) =>
        Provisioner.make(name, {
          provision: Effect.gen(function* () {
            const destination = yield* CdDriver.Destination
            seen.push([destination?.connection.server ?? "home", destination?.identity])
            yield* Client.Client
          }),
          deprovision: Effect.void
        })
      const target = { owner: remotes.ownerOf("web"), kubeconfig: remotes.secretRef }
      const tree = Provisioner.serial("all", [
        looks(Identifier.of("before")),
        RemoteCluster.on(target, looks(Identifier.of("there"))),
        looks(Identifier.of("after"))
      ])

      yield* program.provision(tree)

      const [registration] = yield* site.registrations
      assert.deepStrictEqual(seen, [
        ["home", undefined],
        [remote.url, registration?.metadata.name],
        ["home", undefined]
      ])
    })
  )

  it.effect("P25: may be on a cluster that is reached by way of another, whose Secret leads to it", () =>
    Effect.gen(function* () {
      const { program, remote, site } = yield* remotes.scenario
      const inner = yield* remotes.makeCluster()
      yield* remote.client.create(Builtin.Secret, {
        metadata: { namespace: "kube-system", name: "inner" },
        data: { kubeconfig: Buffer.from(inner.kubeconfig).toString("base64") }
      })
      const owner = remotes.ownerOf("web")
      const innermost = RemoteCluster.on(
        { owner, kubeconfig: { namespace: "kube-system", name: "inner" } },
        remotes.settings(owner)
      )
      const provisioner = RemoteCluster.on({ owner, kubeconfig: remotes.secretRef }, innermost)

      yield* program.provision(provisioner)
      const where = yield* Effect.forEach([site, remote, inner], remotes.settingsOn)
      const counts = yield* site.counts
      yield* program.deprovision(provisioner)

      assert.deepStrictEqual(where, [[], [], ["settings"]])
      assert.deepStrictEqual(counts, [1, 1])
      assert.deepStrictEqual([yield* remotes.settingsOn(inner), yield* site.counts], [[], []])
    })
  )
})

describe("RemoteCluster: what a child may need", () => {
  const target = { owner: remotes.ownerOf("web"), kubeconfig: remotes.secretRef }
  const opened = Effect.asVoid(Caches.open(Cache.define(Builtin.ConfigMap)))

  it("P25: the client, which comes from the cluster, and anything that is the same everywhere", () => {
    class Other extends Context.Service<Other, string>()("test/Other") {}
    const child = Provisioner.make("child", {
      provision: Effect.asVoid(Effect.all([Client.Client, Other])),
      deprovision: Effect.void
    })

    const provisioner = RemoteCluster.on(target, child)

    expectTypeOf(provisioner).toEqualTypeOf<
      Provisioner.Provisioner<Client.Client | Other | RemoteCluster.RemoteClusters, "child">
    >()
  })

  it("P25: no caches, which are those of the operator's own cluster: that does not compile", () => {
    const child = Provisioner.make("child", { provision: opened, deprovision: Effect.void })

    // @ts-expect-error the caches are not those of the remote cluster
    const refused = () => RemoteCluster.on(target, child)

    assert.isFunction(refused)
  })
})

describe("RemoteCluster: clients", () => {
  it.effect("P25: are shared by all who have the same connection, and by nobody else", () =>
    Effect.gen(function* () {
      const site = yield* remotes.makeHome
      const remote = yield* guarded
      const program = yield* site.makeProgram()
      const other = { namespace: "default", name: "other" }
      yield* site.point(remotes.kubeconfigFor(remote, { token: "first" }))
      yield* site.point(remotes.kubeconfigFor(remote, { token: "second" }), other)
      const [web, shop] = [remotes.ownerOf("web"), remotes.ownerOf("shop")]

      yield* program.provision(remotes.remoteSettings(web, "web"))
      yield* program.provision(remotes.remoteSettings(shop, "shop"))
      yield* program.provision(RemoteCluster.on({ owner: web, kubeconfig: other }, remotes.settings(web, "web-too")))

      assert.deepStrictEqual(program.connections.open(), [`${remote.url} first`, `${remote.url} second`])
      assert.strictEqual(program.connections.count(), 2)
    })
  )

  it.effect("P25: are closed when nobody has used them for five minutes", () =>
    Effect.gen(function* () {
      const { program } = yield* remotes.scenario
      const provisioner = remotes.remoteSettings(remotes.ownerOf("web"))
      const open = () => program.connections.open().length
      yield* program.provision(provisioner)

      yield* TestClock.adjust("4 minutes")
      yield* program.provision(provisioner)
      yield* TestClock.adjust("299 seconds")
      const before = open()
      yield* TestClock.adjust("1 second")

      assert.deepStrictEqual([before, open(), program.connections.count()], [1, 0, 1])
    })
  )

  it.effect("P25: are replaced when the credentials rotate, and a pass keeps its own until it ends", () =>
    Effect.gen(function* () {
      const site = yield* remotes.makeHome
      const remote = yield* guarded
      const program = yield* site.makeProgram()
      const owner = remotes.ownerOf("web")
      const [entered, leave] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const slow = Provisioner.serial("slow", [
        Provisioner.make("wait", {
          provision: Effect.andThen(Deferred.succeed(entered, undefined), Deferred.await(leave)),
          deprovision: Effect.void
        }),
        remotes.settings(owner, "late")
      ])
      const target = { owner, kubeconfig: remotes.secretRef }
      yield* site.point(remotes.kubeconfigFor(remote, { token: "first" }))
      const pass = yield* Effect.forkChild(program.provision(RemoteCluster.on(target, slow)))
      yield* Deferred.await(entered)

      yield* site.point(remotes.kubeconfigFor(remote, { token: "second" }))
      yield* program.provision(RemoteCluster.on(target, remotes.settings(owner, "soon")))
      yield* TestClock.adjust("5 minutes")
      const during = program.connections.open()
      yield* Deferred.succeed(leave, undefined)
      yield* Fiber.join(pass)
      yield* TestClock.adjust("5 minutes")

      const writes = program.connections.requests.filter((request) => request.includes("patch"))
      assert.deepStrictEqual(writes, ["second patch configmaps soon", "first patch configmaps late"])
      assert.deepStrictEqual(during, [`${remote.url} first`])
      assert.deepStrictEqual(program.connections.open(), [])
    })
  )
})

describe("RemoteCluster: a cluster that cannot be used", () => {
  interface Trouble {
    readonly reason: string
    readonly shown: string
    readonly user?: Disposition.Tag
    readonly context?: string
    /** What stands in the Secret. */
    readonly text?: (remote: remotes.TestCluster, other: remotes.TestCluster) => string
    readonly data?: Readonly<Record<string, string>>
  }
  const troubles: ReadonlyArray<Trouble> = [
    { reason: "secret_missing", shown: "There is no Secret default/site, which should hold a kubeconfig." },
    {
      reason: "key_missing",
      shown: "Secret default/site has no kubeconfig, which should be a kubeconfig.",
      data: { value: "" }
    },
    {
      reason: "kubeconfig_invalid",
      shown: "The kubeconfig in default/site is not valid; see its yaml.",
      text: () => "a: [geheim"
    },
    {
      reason: "kubeconfig_invalid",
      shown: "The kubeconfig in default/site is not valid; see its users.0.user.token.",
      text: (remote) => remotes.kubeconfigFor(remote, { user: { token: ["geheim"] } })
    },
    {
      reason: "context_missing",
      shown: "The kubeconfig in default/site has no context staging.",
      context: "staging",
      text: (remote) => remotes.kubeconfigFor(remote, { token: "first" })
    },
    {
      reason: "credentials_rejected",
      shown: "does not accept the credentials in default/site; renew them.",
      text: (remote) => remotes.kubeconfigFor(remote, { token: "geheim" })
    },
    {
      reason: "identity_forbidden",
      shown: "The credentials in default/site may not read the namespace kube-system",
      text: (remote) => remotes.kubeconfigFor(remote, { token: "weak" })
    },
    {
      reason: "certificate_untrusted",
      shown: "The kubeconfig in default/site does not trust the certificate that cluster 127.0.0.1",
      user: "Transient",
      text: (remote, other) => remotes.kubeconfigFor({ ...other, url: remote.url }, { token: "first" })
    },
    {
      reason: "unreachable",
      shown: "Cluster 127.0.0.1:1 cannot be reached; trying again.",
      user: "Transient",
      text: (remote) => remotes.kubeconfigFor(remote, { token: "first", cluster: { server: "https://127.0.0.1:1" } })
    },
    {
      reason: "unreachable",
      shown: "cannot be reached; trying again.",
      user: "Transient",
      text: (remote) =>
        remotes.kubeconfigFor(remote, { token: "first", cluster: { server: `${remote.url}/elsewhere` } })
    }
  ]
  it.effect.each(troubles)(
    "P26: no child runs, and it says so: $reason, $shown",
    ({ context, data, reason, shown, text, user }) =>
      Effect.gen(function* () {
        const site = yield* remotes.makeHome
        const remote = yield* guarded
        const program = yield* site.makeProgram()
        const owner = remotes.ownerOf("web")
        if (data !== undefined) yield* site.client.create(Builtin.Secret, { metadata: remotes.secretRef, data })
        if (text !== undefined) yield* site.point(text(remote, yield* guarded))
        const target = { owner, kubeconfig: { ...remotes.secretRef, context } }

        const failure = yield* Effect.flip(program.provision(RemoteCluster.on(target, remotes.settings(owner))))

        assert.strictEqual(`${failure._tag} ${failure.reason}`, `${user ?? "UserActionRequired"} ${reason}`)
        assert.include(failure.message, shown)
        assert.notInclude(`${failure.message} ${failure.why}`, "geheim")
        assert.deepStrictEqual([yield* remotes.settingsOn(remote), yield* site.registrations], [[], []])
      })
  )

  layer(widgets)((it) => {
    it.effect(
      "P26: an object that was parked for its kubeconfig is served when the Secret changes, and not before",
      () =>
        Effect.gen(function* () {
          const remote = yield* remotes.makeCluster()
          const client = yield* Client.Client
          const point = (kubeconfig: string) =>
            client.apply(Builtin.Secret, {
              metadata: remotes.secretRef,
              data: { kubeconfig: Buffer.from(kubeconfig).toString("base64") }
            })
          yield* client.create(Builtin.Namespace, { metadata: { name: remotes.home } })
          const clusters = yield* remotes.clustersOf(client)
          const provisioner = (owner: Kind.Object<typeof Widget>) =>
            Provisioner.around(remotes.remoteSettings(owner), Effect.provideContext(clusters))
          const { create, serve, status } = yield* widgetScenario("revived", { provisioner })
          yield* create

          const parked = [yield* serve, (yield* status).conditions?.find(({ type }) => type === "Stalled")?.reason]
          yield* point("a: [")
          const broken = [yield* serve, yield* serve]
          yield* point(remote.kubeconfig)
          const done = yield* serve

          assert.deepStrictEqual(parked, [undefined, "secret_missing"])
          assert.deepStrictEqual([broken, done], [[undefined, undefined], undefined])
          assert.deepStrictEqual(yield* remotes.settingsOn(remote), ["settings"])
        })
    )
  })
})
