/** What becomes of things on a cluster that is gone, or that is another one by now. */
import * as Builtin from "@berth/kube/Builtin"
import * as Transport from "@berth/kube/Transport"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Scope } from "effect"
import * as RemoteCluster from "../src/RemoteCluster.ts"
import * as remotes from "./support/remote.ts"

beforeAll(remotes.loadParser, 60_000)

/** A cluster that can be ended. */
const mortal = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const cluster = yield* Scope.provide(remotes.makeCluster(), scope)
  return { ...cluster, end: Scope.close(scope, Exit.void) }
})

/** Something on a cluster that has just gone. */
const left = Effect.gen(function* () {
  const site = yield* remotes.makeHome
  const remote = yield* mortal
  const program = yield* site.makeProgram()
  const owner = remotes.ownerOf("web")
  yield* site.point(remote.kubeconfig)
  yield* program.provision(remotes.remoteSettings(owner))
  return { site, remote, program, owner }
})

describe("RemoteCluster: a cluster that is gone", () => {
  it.effect("P28: is waited for, naming its identity and how to give it up", () =>
    Effect.gen(function* () {
      const { owner, program, remote, site } = yield* left
      yield* remote.end

      const failure = yield* Effect.flip(program.deprovision(remotes.remoteSettings(owner)))

      assert.strictEqual(`${failure._tag} ${failure.reason}`, "Yield cluster_unreachable")
      assert.strictEqual(
        failure.message,
        `Waiting to delete what is on cluster ${remote.identity}: unreachable. If the cluster is gone for good, ` +
          `set the annotation berth.dev/abandon-cluster to ${remote.identity} to give it up.`
      )
      assert.strictEqual(failure.after === undefined ? 0 : Duration.toSeconds(failure.after), 60)
      assert.deepStrictEqual([yield* site.counts, yield* site.records, site.reports], [[1], [], []])
    })
  )

  it.effect("P28: is given up by the annotation that names it, with an Event and a record, and by no other", () =>
    Effect.gen(function* () {
      const { owner, program, remote, site } = yield* left
      yield* remote.end
      const giveUp = (identity: string) =>
        program.deprovision(remotes.remoteSettings(remotes.abandoning(owner, identity)))

      const others = yield* Effect.forEach([site.identity, "true", ""], (identity) => Effect.flip(giveUp(identity)))
      const before = [yield* site.counts, yield* site.records, [...site.reports]]
      yield* giveUp(remote.identity)
      yield* giveUp(remote.identity)

      const [record] = yield* site.records
      const [report] = site.reports
      assert.deepStrictEqual(
        others.map(({ reason }) => reason),
        ["cluster_unreachable", "cluster_unreachable", "cluster_unreachable"]
      )
      assert.deepStrictEqual(before, [[1], [], []])
      assert.deepInclude(record, {
        cluster: remote.identity,
        server: remote.url,
        kubeconfigSecret: "default/site",
        apiVersion: "test.berth.dev/v1",
        kind: "Widget",
        namespace: "default",
        name: "web",
        uid: owner.metadata.uid,
        path: "settings",
        objects: `berth.dev/owner-uid=${owner.metadata.uid}`,
        problem: "unreachable",
        time: "1970-01-01T00:00:00.000Z"
      })
      assert.deepInclude(report, { type: "Warning", reason: "ClusterAbandoned", action: "Abandon" })
      assert.deepInclude(report?.regarding.metadata, { name: "web", namespace: "default", uid: owner.metadata.uid })
      assert.include(report?.note, `Gave up settings on cluster ${remote.identity} (${remote.url}): unreachable.`)
      assert.deepStrictEqual([(yield* site.records).length, site.reports.length, yield* site.registrations], [1, 1, []])
    })
  )

  it.effect("P28: is not given up while it answers, whatever the annotation says", () =>
    Effect.gen(function* () {
      const { owner, program, remote, site } = yield* left

      yield* program.deprovision(remotes.remoteSettings(remotes.abandoning(owner, remote.identity)))

      assert.deepStrictEqual(yield* remotes.settingsOn(remote), [])
      assert.deepStrictEqual([yield* site.records, site.reports], [[], []])
    })
  )

  it.effect("P28: gives up nothing of the siblings of other objects, nor on other clusters", () =>
    Effect.gen(function* () {
      const { owner, program, remote, site } = yield* left
      const second = yield* remotes.makeCluster()
      const elsewhere = { namespace: "default", name: "elsewhere" }
      yield* site.point(second.kubeconfig, elsewhere)
      const shop = remotes.ownerOf("shop")
      yield* program.provision(remotes.remoteSettings(shop, "shop"))
      yield* program.provision(RemoteCluster.on({ owner, kubeconfig: elsewhere }, remotes.settings(owner, "also")))
      yield* remote.end
      const before = yield* site.counts

      yield* program.deprovision(remotes.remoteSettings(remotes.abandoning(owner, remote.identity)))

      assert.deepStrictEqual(
        before.toSorted((a, b) => a - b),
        [1, 2]
      )
      assert.deepStrictEqual(yield* site.counts, [1, 1])
      assert.deepStrictEqual(yield* remotes.settingsOn(second), ["also"])
      assert.strictEqual((yield* site.records).length, 1)
    })
  )

  it.effect("P28: is given up with the clusters that were reached only through it", () =>
    Effect.gen(function* () {
      const site = yield* remotes.makeHome
      const [remote, inner] = [yield* mortal, yield* remotes.makeCluster()]
      const program = yield* site.makeProgram()
      yield* site.point(remote.kubeconfig)
      yield* remote.client.create(Builtin.Secret, {
        metadata: { namespace: "kube-system", name: "inner" },
        data: { kubeconfig: Buffer.from(inner.kubeconfig).toString("base64") }
      })
      const provisionerOf = (owner: RemoteCluster.Owner) =>
        RemoteCluster.on(
          { owner, kubeconfig: remotes.secretRef },
          RemoteCluster.on({ owner, kubeconfig: { namespace: "kube-system", name: "inner" } }, remotes.settings(owner))
        )
      const owner = remotes.ownerOf("web")
      yield* program.provision(provisionerOf(owner))
      yield* remote.end

      yield* program.deprovision(provisionerOf(remotes.abandoning(owner, remote.identity)))

      const clusters = (yield* site.records).map(({ cluster }) => cluster ?? "")
      assert.deepStrictEqual(clusters.toSorted(), [remote.identity, inner.identity].toSorted())
      assert.deepStrictEqual([site.reports.length, yield* site.registrations], [2, []])
    })
  )

  const problems: ReadonlyArray<{ readonly problem: string; readonly text?: string }> = [
    { problem: "unreachable" },
    { problem: "kubeconfig_invalid", text: "a: [" },
    { problem: "context_missing", text: `{"clusters": []}` }
  ]
  it.effect.each(problems)(
    "P28: waits for the user's part, too, and can be given up without it: $problem",
    ({ problem, text }) =>
      Effect.gen(function* () {
        const { owner, program, remote, site } = yield* left
        yield* remote.end
        yield* text === undefined ? site.client.delete(Builtin.Secret, remotes.secretRef) : site.point(text)

        const failure = yield* Effect.flip(program.deprovision(remotes.remoteSettings(owner)))
        yield* program.deprovision(remotes.remoteSettings(remotes.abandoning(owner, remote.identity)))

        assert.strictEqual(`${failure._tag} ${failure.reason}`, "Yield cluster_unreachable")
        assert.include(failure.message, `on cluster ${remote.identity}: ${problem}.`)
        assert.deepStrictEqual(
          (yield* site.records).map((record) => record["problem"]),
          [problem]
        )
      })
  )

  it.effect("P28: holds up nothing where nothing was ever made, and is not even asked", () =>
    Effect.gen(function* () {
      const site = yield* remotes.makeHome
      const program = yield* site.makeProgram()
      const provisioner = remotes.remoteSettings(remotes.ownerOf("web"))

      for (const text of ["a: [", JSON.stringify({ clusters: [] })]) {
        yield* site.point(text)
        yield* Effect.flip(program.provision(provisioner))
        yield* program.deprovision(provisioner)
      }

      assert.deepStrictEqual([program.connections.requests, yield* site.records], [[], []])
    })
  )
})

describe("RemoteCluster: another cluster behind the same address", () => {
  /** Requests to `one` arrive at `other`. */
  const replacing = (one: remotes.TestCluster, other: () => remotes.TestCluster) => ({
    transport: ({ server }: { readonly server: string }) =>
      Transport.layer(server === one.url ? other().connection : one.connection)
  })

  const rebuilt = Effect.gen(function* () {
    const site = yield* remotes.makeHome
    const [before, after] = [yield* remotes.makeCluster(), yield* remotes.makeCluster()]
    let now = before
    const owner = remotes.ownerOf("web")
    yield* site.point(before.kubeconfig)
    yield* (yield* site.makeProgram(replacing(before, () => now))).provision(remotes.remoteSettings(owner))
    yield* after.client.create(Builtin.ConfigMap, {
      metadata: {
        name: "settings",
        namespace: "default",
        labels: { "berth.dev/owner-uid": owner.metadata.uid }
      }
    })
    now = after
    // A program that still has a connection to the cluster before has not met the other one.
    return { site, before, after, owner, program: yield* site.makeProgram(replacing(before, () => now)) }
  })

  it.effect("P28: is noticed and not used, when provisioning", () =>
    Effect.gen(function* () {
      const { after, before, owner, program, site } = yield* rebuilt

      const failure = yield* Effect.flip(program.provision(remotes.remoteSettings(owner)))
      const sibling = yield* Effect.flip(program.provision(remotes.remoteSettings(owner, "sibling")))

      assert.strictEqual(`${failure._tag} ${failure.reason}`, "UserActionRequired other_cluster")
      assert.include(failure.message, `default/site leads to cluster ${after.identity}, and not to ${before.identity}`)
      assert.strictEqual(sibling.reason, "other_cluster")
      assert.deepStrictEqual(yield* site.counts, [1])
      const untouched = yield* after.client.get(Builtin.ConfigMap, { name: "settings", namespace: "default" })
      assert.isUndefined(untouched.data)
    })
  )

  it.effect("P28: is noticed and not used, when deprovisioning", () =>
    Effect.gen(function* () {
      const { after, before, owner, program } = yield* rebuilt

      const failure = yield* Effect.flip(program.deprovision(remotes.remoteSettings(owner)))

      assert.strictEqual(`${failure._tag} ${failure.reason}`, "Yield cluster_unreachable")
      assert.include(failure.message, `on cluster ${before.identity}: other_cluster.`)
      assert.deepStrictEqual(yield* remotes.settingsOn(after), ["settings"])
    })
  )

  it.effect("P28: takes over once somebody gives up what was on the one before", () =>
    Effect.gen(function* () {
      const { after, before, owner, program, site } = yield* rebuilt

      yield* program.provision(remotes.remoteSettings(remotes.abandoning(owner, before.identity)))

      const [record] = yield* site.records
      assert.deepInclude(record, { cluster: before.identity, problem: "other_cluster" })
      const [registration] = yield* site.registrations
      assert.strictEqual(registration?.metadata.labels?.["berth.dev/cluster"], after.identity)
      assert.deepStrictEqual(yield* site.counts, [1])
    })
  )

  it.effect(
    "P28: does not keep what is on the one before from being deleted there by the kubeconfig that worked last",
    () =>
      Effect.gen(function* () {
        const { program, remote, site } = yield* remotes.scenario
        const provisioner = remotes.remoteSettings(remotes.ownerOf("web"))
        yield* program.provision(provisioner)
        const other = yield* remotes.makeCluster()
        yield* site.point(other.kubeconfig)

        yield* program.deprovision(provisioner)

        assert.deepStrictEqual([yield* remotes.settingsOn(remote), yield* site.registrations], [[], []])
      })
  )
})
