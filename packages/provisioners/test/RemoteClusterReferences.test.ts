/** Who holds a registration, and until when. */
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Transport from "@berth/kube/Transport"
import * as Faults from "@berth/testing/Faults"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as CdDriver from "../src/CdDriver.ts"
import * as Disposition from "../src/Disposition.ts"
import * as Identifier from "../src/Identifier.ts"
import * as Provisioner from "../src/Provisioner.ts"
import * as RemoteCluster from "../src/RemoteCluster.ts"
import * as remotes from "./support/remote.ts"

beforeAll(remotes.loadParser, 60_000)

const Reasons = Disposition.vocabulary("test", { failing: Disposition.transient("Failing.") })

/** The home cluster by a client of its own, whose requests meet these faults. */
const faulty = Effect.fnUntraced(function* ({ connection }: remotes.Home, ...rules: ReadonlyArray<Faults.Rule>) {
  const network = yield* Layer.build(Layer.fresh(Transport.layer(connection)))
  const { faults, transport } = Faults.make(Context.get(network, Transport.Transport), ...rules)
  const layer = Layer.provide(Layer.fresh(Client.layer), Layer.succeed(Transport.Transport, transport))
  return { faults, client: Context.get(yield* Layer.build(layer), Client.Client) }
})

const only = <A>(all: ReadonlyArray<A>): A => {
  const [first] = all
  assert.strictEqual(all.length, 1)
  assert.isDefined(first)
  return first
}

describe("RemoteCluster: references", () => {
  it.effect("P27: are counted across objects and restarts, and the last one gone removes the registration", () =>
    Effect.gen(function* () {
      const { program, remote, site } = yield* remotes.scenario
      const owners = [remotes.ownerOf("web"), remotes.ownerOf("shop")] as const
      const web = remotes.remoteSettings(owners[0], "web")
      const shop = remotes.remoteSettings(owners[1], "shop")

      yield* program.provision(web)
      yield* program.provision(shop)
      const both = yield* site.counts
      const restarted = yield* site.makeProgram()
      yield* restarted.deprovision(web)
      const one = yield* site.counts
      const { metadata } = only(yield* site.registrations)
      yield* restarted.deprovision(shop)

      const labels = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith("berth.dev/owner-"))
      assert.deepStrictEqual([both, one, yield* site.registrations], [[2], [1], []])
      assert.deepStrictEqual(
        [metadata.deletionTimestamp, labels],
        [undefined, [`berth.dev/owner-${owners[1].metadata.uid}`]]
      )
      assert.deepStrictEqual(yield* remotes.settingsOn(remote), [])
    })
  )

  it.effect("P27: a conditional false beside a live sibling takes its own reference and nothing else", () =>
    Effect.gen(function* () {
      const { program, remote, site } = yield* remotes.scenario
      const owner = remotes.ownerOf("web")
      const tree = (wanted: boolean) =>
        Provisioner.serial("all", [
          remotes.remoteSettings(owner, "always"),
          Provisioner.conditional("perhaps", wanted, remotes.remoteSettings(owner, "sometimes"))
        ])
      const seen: Array<readonly [ReadonlyArray<number>, ReadonlyArray<string>]> = []

      for (const wanted of [false, true, false]) {
        yield* program.pass(tree(wanted))
        seen.push([yield* site.counts, yield* remotes.settingsOn(remote)])
      }
      yield* program.pass(tree(false), "deprovision")

      assert.deepStrictEqual(seen, [
        [[1], ["always"]],
        [[2], ["always", "sometimes"]],
        [[1], ["always"]]
      ])
      assert.deepStrictEqual([yield* site.registrations, yield* remotes.settingsOn(remote)], [[], []])
    })
  )

  it.live(
    "P27: siblings that come and go at once, more than may fail for each other, each have their reference in one pass",
    () =>
      Effect.gen(function* () {
        const { program, site } = yield* remotes.scenario
        const target = { owner: remotes.ownerOf("web"), kubeconfig: remotes.secretRef }
        const nothing = { provision: Effect.void, deprovision: Effect.void }
        const children = Array.from({ length: 40 }, (_, index) =>
          RemoteCluster.on(target, Provisioner.make(Identifier.Identifier.make(`s${index}`), nothing))
        )
        const tree = Provisioner.concurrent("all", children, { concurrency: "unbounded" })

        yield* program.pass(tree)
        const counts = yield* site.counts
        yield* program.pass(tree, "deprovision")

        assert.deepStrictEqual([counts, yield* site.registrations], [[children.length], []])
      }),
    90_000
  )

  it.effect("P27: children of one name at two places of a tree have a reference each", () =>
    Effect.gen(function* () {
      const { program, remote, site } = yield* remotes.scenario
      const owner = remotes.ownerOf("web")
      const at = (branch: "left" | "right") => {
        const child = Provisioner.around(remotes.settings(owner, branch), (pass) => pass)
        const renamed = Provisioner.make("settings", child)
        return Provisioner.serial(branch, [RemoteCluster.on({ owner, kubeconfig: remotes.secretRef }, renamed)])
      }
      const tree = Provisioner.concurrent("all", [at("left"), at("right")])

      yield* program.pass(tree)
      const counts = yield* site.counts
      yield* program.pass(tree, "deprovision")

      assert.deepStrictEqual(counts, [2])
      assert.deepStrictEqual([yield* site.registrations, yield* remotes.settingsOn(remote)], [[], []])
    })
  )

  it.effect("P27: a child that has moved in the tree is still deleted", () =>
    Effect.gen(function* () {
      const { program, remote } = yield* remotes.scenario
      const owner = remotes.ownerOf("web")
      const provisioner = remotes.remoteSettings(owner)

      yield* program.pass(Provisioner.serial("before", [provisioner]))
      yield* program.pass(Provisioner.serial("after", [provisioner]), "deprovision")

      assert.deepStrictEqual(yield* remotes.settingsOn(remote), [])
    })
  )

  it.effect("P27: a reference is there before the child runs, and stays until the child is gone", () =>
    Effect.gen(function* () {
      const { program, site } = yield* remotes.scenario
      const counts: Array<ReadonlyArray<number>> = []
      const failing = Effect.gen(function* () {
        counts.push(yield* Effect.orDie(site.counts))
        return yield* Reasons.failing()
      })
      const owner = remotes.ownerOf("web")
      const child = Provisioner.make("child", { provision: failing, deprovision: failing })
      const provisioner = RemoteCluster.on({ owner, kubeconfig: remotes.secretRef }, child)

      yield* Effect.flip(program.provision(provisioner))
      yield* Effect.flip(program.deprovision(provisioner))

      assert.deepStrictEqual([...counts, yield* site.counts], [[1], [1], [1]])
    })
  )

  it.effect("P27: a pass that changes nothing writes nothing", () =>
    Effect.gen(function* () {
      const { site } = yield* remotes.scenario
      const { client, faults } = yield* faulty(site)
      const program = yield* site.makeProgram({ homeClient: client })
      const provisioner = remotes.remoteSettings(remotes.ownerOf("web"))
      yield* program.provision(provisioner)
      const there = program.connections.requests.length
      yield* faults.forget

      yield* program.provision(provisioner)

      assert.deepStrictEqual(yield* faults.requests({ verb: "write" }), [])
      assert.deepStrictEqual(program.connections.requests.slice(there), [
        "none get namespaces kube-system",
        "none get configmaps settings"
      ])
    })
  )

  it.effect("P27: foreign finalizers are neither counted nor touched, and hold up nobody else", () =>
    Effect.gen(function* () {
      const { program, site } = yield* remotes.scenario
      const [web, shop] = [remotes.ownerOf("web"), remotes.ownerOf("shop")]
      const foreign = ["example.com/backup", "berth.dev/reflection"]
      yield* program.provision(remotes.remoteSettings(web))
      const { metadata } = only(yield* site.registrations)
      const finalizers = [...(metadata.finalizers ?? []), ...foreign]
      const ref = { namespace: remotes.home, name: metadata.name }
      yield* site.client.patch(Builtin.Secret, ref, { type: "merge", patch: { metadata: { finalizers } } })

      yield* program.deprovision(remotes.remoteSettings(web))
      const left = only(yield* site.registrations)
      yield* program.provision(remotes.remoteSettings(shop, "shop"))
      const counts = yield* site.counts
      yield* program.deprovision(remotes.remoteSettings(shop, "shop"))

      assert.deepStrictEqual(left.metadata.finalizers, foreign)
      assert.isDefined(left.metadata.deletionTimestamp)
      assert.deepStrictEqual([counts, yield* site.counts], [[0, 1], [0]])
      assert.deepStrictEqual(only(yield* site.registrations).metadata.finalizers, foreign)
    })
  )

  it.effect("P27: a registration that somebody deletes stays for those that it has, and others get another", () =>
    Effect.gen(function* () {
      const { program, remote, site } = yield* remotes.scenario
      const [web, shop] = [remotes.ownerOf("web"), remotes.ownerOf("shop")]
      yield* program.provision(remotes.remoteSettings(web, "web"))
      const { metadata } = only(yield* site.registrations)
      yield* site.client.delete(Builtin.Secret, { namespace: remotes.home, name: metadata.name })

      yield* program.provision(remotes.remoteSettings(shop, "shop"))
      yield* program.provision(remotes.remoteSettings(web, "web"))
      const counts = yield* site.counts
      yield* program.deprovision(remotes.remoteSettings(web, "web"))
      yield* program.deprovision(remotes.remoteSettings(shop, "shop"))

      assert.deepStrictEqual([counts, yield* site.registrations], [[1, 1], []])
      assert.deepStrictEqual(yield* remotes.settingsOn(remote), [])
    })
  )

  it.effect("P27: deleting needs the user's Secret no more, only the kubeconfig that worked last", () =>
    Effect.gen(function* () {
      const { program, remote, site } = yield* remotes.scenario
      const provisioner = remotes.remoteSettings(remotes.ownerOf("web"))
      yield* program.provision(provisioner)
      yield* remote.addUser("later", { username: "anna", groups: ["system:masters"] })
      const rotated = remotes.kubeconfigFor(remote, { token: "later" })
      yield* site.point(rotated)
      yield* program.provision(provisioner)
      const { data } = only(yield* site.registrations)
      yield* site.client.delete(Builtin.Secret, remotes.secretRef)

      yield* program.deprovision(provisioner)

      assert.strictEqual(remotes.text(data?.["kubeconfig"]), rotated)
      assert.deepStrictEqual([yield* site.registrations, yield* remotes.settingsOn(remote)], [[], []])
    })
  )

  it.effect(
    "P27: another Secret for the same cluster takes the reference over, and CD drivers still know the cluster",
    () =>
      Effect.gen(function* () {
        const { program, remote, site } = yield* remotes.scenario
        const owner = remotes.ownerOf("web")
        const other = { namespace: "default", name: "other" }
        const known: Array<string | undefined> = []
        const looks = Effect.flatMap(CdDriver.Destination, (destination) =>
          Effect.sync(() => void known.push(destination?.identity))
        )
        const child = Provisioner.make("child", { provision: looks, deprovision: looks })
        const by = (kubeconfig: RemoteCluster.Target["kubeconfig"]) => RemoteCluster.on({ owner, kubeconfig }, child)
        yield* site.point(remote.kubeconfig, other)

        yield* program.provision(by(remotes.secretRef))
        const before = only(yield* site.registrations)
        yield* program.provision(by(other))
        const after = only(yield* site.registrations)
        yield* program.deprovision(by(other))

        assert.notStrictEqual(after.metadata.name, before.metadata.name)
        const { name } = before.metadata
        assert.deepStrictEqual([known, yield* site.registrations], [[name, name, name], []])
      })
  )
})

describe("RemoteCluster: references of many", () => {
  it.effect("P27: one that comes while the last one goes keeps the registration", () =>
    Effect.gen(function* () {
      const { program, site } = yield* remotes.scenario
      const [web, shop] = [remotes.ownerOf("web"), remotes.ownerOf("shop")]
      yield* program.provision(remotes.remoteSettings(web, "web"))
      const comes = yield* Effect.cached(Effect.orDie(program.provision(remotes.remoteSettings(shop, "shop"))))
      const homeClient: Client.Client["Service"] = {
        ...site.client,
        delete: (type, ref, options) => Effect.andThen(comes, site.client.delete(type, ref, options))
      }
      const other = yield* site.makeProgram({ homeClient })

      yield* other.deprovision(remotes.remoteSettings(web, "web"))

      const { metadata } = only(yield* site.registrations)
      assert.deepStrictEqual([metadata.deletionTimestamp, yield* site.counts], [undefined, [1]])
    })
  )

  it.effect("P27: objects that come and go at once, in two processes, neither lose nor leave a reference", () =>
    Effect.gen(function* () {
      const { program, remote, site } = yield* remotes.scenario
      const other = yield* site.makeProgram()
      const all = ["a", "b", "c", "d", "e", "f"].map((name) => remotes.remoteSettings(remotes.ownerOf(name), name))
      const everywhere = (phase: "provision" | "deprovision") =>
        Effect.forEach(
          all.flatMap((each) => [program[phase](each), other[phase](each)]),
          // Each may find that the other was there at the same moment.
          Effect.eventually,
          { concurrency: "unbounded", discard: true }
        )

      yield* everywhere("provision")
      const counts = yield* site.counts
      const [first] = all
      assert.isDefined(first)
      yield* Effect.all(
        [program.deprovision(first), other.provision(remotes.remoteSettings(remotes.ownerOf("g"), "g"))],
        {
          concurrency: "unbounded"
        }
      )
      const between = yield* site.counts
      yield* everywhere("deprovision")

      assert.deepStrictEqual([counts, between], [[6], [6]])
      assert.deepStrictEqual([yield* site.counts, yield* remotes.settingsOn(remote)], [[1], ["g"]])
    })
  )

  it.effect.each([1, 2, 3, 4])(
    "P27: nothing is lost or left where requests fail and answers get lost (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        const { remote, site } = yield* remotes.scenario
        const broken = [
          Faults.lostAnswer(),
          Faults.error({ status: 409 }),
          Faults.error({ status: 500 }),
          Faults.unreachable
        ]
        const { client } = yield* faulty(site, Faults.random({ seed, rate: 0.3, faults: broken }))
        const program = yield* site.makeProgram({ homeClient: client })
        const provisioners = ["a", "b", "c"].map((name) => remotes.remoteSettings(remotes.ownerOf(name), name))
        const each = (phase: "provision" | "deprovision") =>
          Effect.forEach(provisioners, (one) => Effect.eventually(program[phase](one)), {
            concurrency: 3,
            discard: true
          })

        yield* each("provision")
        const there = [yield* site.counts, yield* remotes.settingsOn(remote)]
        yield* each("deprovision")

        assert.deepStrictEqual(there, [[3], ["a", "b", "c"]])
        assert.deepStrictEqual([yield* site.registrations, yield* remotes.settingsOn(remote)], [[], []])
      })
  )
})
