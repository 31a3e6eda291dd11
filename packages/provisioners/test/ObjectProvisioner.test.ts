import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type { Draft } from "@berth/kube/KubeObject"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as Disposition from "../src/Disposition.ts"
import * as ObjectProvisioner from "../src/ObjectProvisioner.ts"
import { recorded, Requests } from "./support/requests.ts"

const owner = { uid: "2b7a3f0e-0000-4000-8000-000000000001" }
const other = { uid: "2b7a3f0e-0000-4000-8000-000000000002" }
const labelsOf = ({ uid }: { readonly uid: string }) => ({ [ObjectProvisioner.ownerLabel]: uid })
const namespace = "default"

type ConfigMap = Builtin.ConfigMap

const settings = (name: string, data: Record<string, string>, options: { readonly recreate?: boolean } = {}) =>
  ObjectProvisioner.make("settings", {
    type: Builtin.ConfigMap,
    owner,
    object: { metadata: { name, namespace }, data },
    ...options
  })

/** What a test says of the cluster. */
const cluster = Effect.gen(function* () {
  const client = yield* Client.Client
  const requests = yield* Requests
  return {
    ...requests,
    read: (name: string) =>
      Effect.option(client.get(Builtin.ConfigMap, { name, namespace })).pipe(Effect.map(Option.getOrUndefined)),
    exists: (draft: Draft<ConfigMap>) =>
      client.create(
        Builtin.ConfigMap,
        { ...draft, metadata: { namespace, ...draft.metadata } },
        { fieldManager: "else" }
      ),
    edit: (name: string, patch: object) =>
      client.patch(Builtin.ConfigMap, { name, namespace }, { type: "merge", patch }, { fieldManager: "kubectl-edit" }),
    gone: (name: string) => client.delete(Builtin.ConfigMap, { name, namespace })
  }
})

const live = recorded.pipe(Layer.provide(Cluster.embeddedWithClient()))

describe("ObjectProvisioner", () => {
  layer(live)((it) => {
    it.effect("P22: provisioning creates the object with its owner's label, and a second pass writes nothing", () =>
      Effect.gen(function* () {
        const { forget, read, writes } = yield* cluster
        const provisioner = settings("fresh", { color: "red" })

        yield* provisioner.provision
        const object = yield* read("fresh")
        yield* forget
        yield* provisioner.provision

        assert.deepStrictEqual(object?.data, { color: "red" })
        assert.deepStrictEqual(object?.metadata.labels, labelsOf(owner))
        assert.deepStrictEqual(yield* writes, [])
      })
    )

    it.effect("P22: nothing is written either where lists, defaults and finalizers are in play", () =>
      Effect.gen(function* () {
        const { forget, writes } = yield* cluster
        const service = ObjectProvisioner.make("service", {
          type: Builtin.Service,
          owner,
          object: {
            metadata: { name: "web", namespace, finalizers: ["berth.dev/test"] },
            spec: {
              selector: { app: "web" },
              ports: [
                { name: "http", port: 80 },
                { name: "metrics", port: 81 }
              ]
            }
          }
        })
        const container = {
          name: "web",
          image: "web:1",
          args: ["--fast"],
          ports: [{ containerPort: 80 }],
          env: [
            { name: "A", value: "1" },
            { name: "B", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }
          ]
        }
        const deployment = ObjectProvisioner.make("deployment", {
          type: Builtin.Deployment,
          owner,
          object: {
            metadata: { name: "web", namespace },
            spec: {
              selector: { matchLabels: { app: "web" } },
              template: {
                metadata: { labels: { app: "web" } },
                spec: { nodeSelector: { disk: "ssd" }, containers: [container] }
              }
            }
          }
        })

        yield* service.provision
        yield* deployment.provision
        yield* forget
        yield* service.provision
        yield* deployment.provision

        assert.deepStrictEqual(yield* writes, [])
      })
    )

    it.effect("P22: drift is corrected, and the fields of others are kept", () =>
      Effect.gen(function* () {
        const { edit, read } = yield* cluster
        const provisioner = settings("drift", { color: "red" })
        yield* provisioner.provision
        yield* edit("drift", { data: { color: "blue", size: "9" }, metadata: { labels: { team: "b" } } })

        yield* provisioner.provision

        const object = yield* read("drift")
        assert.deepStrictEqual(object?.data, { color: "red", size: "9" })
        assert.deepStrictEqual(object?.metadata.labels, { ...labelsOf(owner), team: "b" })
      })
    )

    it.effect("P22: a field that the draft no longer has is removed", () =>
      Effect.gen(function* () {
        const { read } = yield* cluster
        yield* settings("less", { color: "red", size: "9" }).provision

        yield* settings("less", { color: "red" }).provision

        assert.deepStrictEqual((yield* read("less"))?.data, { color: "red" })
      })
    )

    it.effect("P22: a change of an immutable field is terminal, and the field is named", () =>
      Effect.gen(function* () {
        const { edit, read } = yield* cluster
        yield* settings("fixed", { color: "red" }).provision
        yield* edit("fixed", { immutable: true })

        const failure = yield* Effect.flip(settings("fixed", { color: "blue" }).provision)

        assert.strictEqual(failure._tag, "Terminal")
        assert.isTrue(ObjectProvisioner.Reasons.immutable_field.is(failure))
        assert.strictEqual(failure.message, "data of configmaps/default/fixed cannot be changed once it exists.")
        assert.deepStrictEqual((yield* read("fixed"))?.data, { color: "red" })
      })
    )

    it.effect("P22: with recreate the object is made anew for a change of an immutable field", () =>
      Effect.gen(function* () {
        const { edit, read } = yield* cluster
        yield* settings("anew", { color: "red" }).provision
        const before = yield* edit("anew", { immutable: true })
        const provisioner = settings("anew", { color: "blue" }, { recreate: true })

        const failure = yield* Effect.flip(provisioner.provision)
        yield* provisioner.provision

        const object = yield* read("anew")
        assert.isTrue(ObjectProvisioner.Reasons.recreating.is(failure))
        assert.deepStrictEqual(object?.data, { color: "blue" })
        assert.notStrictEqual(object?.metadata.uid, before.metadata.uid)
      })
    )

    it.effect.each([
      { name: "foreign-none", labels: {}, reason: "nobody's label is no permission" },
      { name: "foreign-other", labels: labelsOf(other), reason: "another owner's is even less" }
    ])("P23: an object of the same name is not adopted, since $reason", ({ labels, name }) =>
      Effect.gen(function* () {
        const { exists, read } = yield* cluster
        const before = yield* exists({ metadata: { name, labels }, data: { color: "green" } })

        const failure = yield* Effect.flip(settings(name, { color: "red" }).provision)
        yield* settings(name, { color: "red" }).deprovision

        assert.strictEqual(failure._tag, "UserActionRequired")
        assert.isTrue(ObjectProvisioner.Reasons.name_taken.is(failure))
        assert.deepStrictEqual(yield* read(name), before)
      })
    )

    it.effect("P23: an object that appears between the read and the apply is not adopted", () =>
      Effect.gen(function* () {
        const { exists, justBefore, read } = yield* cluster
        const theirs = { metadata: { name: "race" }, data: { color: "green" } }
        yield* justBefore("apply", Effect.orDie(exists(theirs)))

        const failure = yield* Effect.flip(settings("race", { color: "red" }).provision)

        assert.strictEqual(`${failure._tag} ${failure.reason}`, "Transient conflict")
        assert.deepStrictEqual((yield* read("race"))?.data, { color: "green" })
      })
    )

    it.effect("P23: an object that was replaced between the read and the apply is not adopted", () =>
      Effect.gen(function* () {
        const { exists, gone, justBefore, read } = yield* cluster
        yield* settings("swap", { color: "red" }).provision
        const theirs = { metadata: { name: "swap", labels: labelsOf(other) }, data: { color: "green" } }
        yield* justBefore("apply", Effect.orDie(Effect.andThen(gone("swap"), exists(theirs))))

        const failure = yield* Effect.flip(settings("swap", { color: "blue" }).provision)

        assert.strictEqual(failure._tag, "Transient")
        assert.deepStrictEqual((yield* read("swap"))?.data, { color: "green" })
      })
    )

    it.effect("P24: deprovisioning deletes the object and is done when it is gone", () =>
      Effect.gen(function* () {
        const { read } = yield* cluster
        const provisioner = settings("leaves", { color: "red" })
        yield* provisioner.provision

        yield* provisioner.deprovision
        yield* provisioner.deprovision

        assert.isUndefined(yield* read("leaves"))
      })
    )

    it.effect("P24: a finalizer that holds the object is named, and deprovisioning yields until it lets go", () =>
      Effect.gen(function* () {
        const { edit, read } = yield* cluster
        const provisioner = settings("held", { color: "red" })
        yield* provisioner.provision
        yield* edit("held", { metadata: { finalizers: ["example.com/backup"] } })

        const first = yield* Effect.flip(provisioner.deprovision)
        const second = yield* Effect.flip(provisioner.deprovision)
        const meanwhile = yield* Effect.flip(provisioner.provision)
        yield* edit("held", { metadata: { finalizers: null } })
        yield* provisioner.deprovision

        for (const failure of [first, second, meanwhile]) {
          assert.isTrue(ObjectProvisioner.Reasons.held.is(failure))
          assert.include(failure.message, "example.com/backup holds it")
        }
        assert.isUndefined(yield* read("held"))
      })
    )

    it.effect("P24: a successor of the same name is not deleted in the object's place", () =>
      Effect.gen(function* () {
        const { exists, gone, justBefore, read } = yield* cluster
        const provisioner = settings("heir", { color: "red" })
        yield* provisioner.provision
        const successor = { metadata: { name: "heir" }, data: { color: "green" } }
        yield* justBefore("delete", Effect.orDie(Effect.andThen(gone("heir"), exists(successor))))

        yield* provisioner.deprovision

        assert.deepStrictEqual((yield* read("heir"))?.data, { color: "green" })
      })
    )

    it.effect("P24: deprovisioning needs nothing but the name: the draft's effect does not run", () =>
      Effect.gen(function* () {
        const { exists, read } = yield* cluster
        yield* exists({ metadata: { name: "named", labels: labelsOf(owner) } })
        const provisioner = ObjectProvisioner.make("settings", {
          type: Builtin.ConfigMap,
          owner,
          ref: { name: "named", namespace },
          object: Effect.die("what the draft needs is gone")
        })

        yield* provisioner.deprovision

        assert.isUndefined(yield* read("named"))
      })
    )

    it.effect("P22: ready is asked about the object as it is after the apply", () =>
      Effect.gen(function* () {
        const waiting = Disposition.vocabulary("test", { waiting: Disposition.yield("Waiting for {names}.") }).waiting
        const provisioner = ObjectProvisioner.make("settings", {
          type: Builtin.ConfigMap,
          owner,
          object: { metadata: { name: "asked", namespace }, data: { color: "red" } },
          ready: ({ data }) => Effect.fail(waiting({ names: Object.keys(data ?? {}).length }))
        })

        const failure = yield* Effect.flip(provisioner.provision)

        assert.strictEqual(failure.message, "Waiting for 1.")
      })
    )
  })
})
