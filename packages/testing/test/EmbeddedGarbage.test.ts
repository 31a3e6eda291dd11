import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, at, core, namesOf, scenario } from "./support/rawApi.ts"

const path = `${core}/configmaps`
const fixed = "kube-root-ca.crt"

const owner = (answer: Answer, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: answer.at("metadata.name"),
  uid: answer.at("metadata.uid"),
  ...more
})

const owned = (name: string, ...ownerReferences: ReadonlyArray<object>) => ({ metadata: { name, ownerReferences } })

describe("What the embedded cluster does by itself", () => {
  it.effect("T3: in the background, dependents go after their last owner, and their dependents after them", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const a = yield* api.post(path, { metadata: { name: "a" } })
        const b = yield* api.post(path, { metadata: { name: "b" } })
        const child = yield* api.post(path, owned("child", owner(a), owner(b)))
        yield* api.post(path, owned("grandchild", owner(child)))

        yield* api.delete(`${path}/a`)
        const one = yield* api.get(`${path}/child`)
        yield* api.delete(`${path}/b`)
        const left = yield* api.get(path)

        assert.deepStrictEqual(
          [one.at("metadata.ownerReferences.0.name"), one.at("metadata.ownerReferences.1")],
          ["b", undefined]
        )
        assert.deepStrictEqual(namesOf(left), [fixed])
      })
    )
  )

  it.effect("T3: in the foreground, the owner waits for the dependents that block it", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const a = yield* api.post(path, { metadata: { name: "a" } })
        const held = owned("held", owner(a, { blockOwnerDeletion: true }))
        yield* api.post(path, { metadata: { ...held.metadata, finalizers: ["x.io/f"] } })
        yield* api.post(path, owned("free", owner(a, { blockOwnerDeletion: true })))

        const marked = yield* api.delete(`${path}/a`, { propagationPolicy: "Foreground" })
        const waiting = yield* api.get(path)
        yield* api.merge(`${path}/held`, { metadata: { finalizers: null } })
        const left = yield* api.get(path)

        assert.deepStrictEqual(marked.at("metadata.finalizers"), ["foregroundDeletion"])
        assert.deepStrictEqual(namesOf(waiting), ["a", "held", fixed])
        assert.deepStrictEqual(namesOf(left), [fixed])
      })
    )
  )

  it.effect("T3: orphans stay, and forget their owner", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const a = yield* api.post(path, { metadata: { name: "a" } })
        yield* api.post(path, owned("child", owner(a)))

        yield* api.delete(`${path}/a`, { propagationPolicy: "Orphan" })
        const left = yield* api.get(path)

        assert.deepStrictEqual(namesOf(left), ["child", fixed])
        assert.strictEqual(left.at("items.0.metadata.ownerReferences"), undefined)
      })
    )
  )

  it.effect("T3: a dependent whose owner is not there, or is another of its name, is collected", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const a = yield* api.post(path, { metadata: { name: "a" } })
        yield* api.post(path, owned("stray", owner(a, { uid: "other" })))
        yield* api.post(path, owned("mistaken", owner(a, { name: "b" })))
        yield* api.post("/api/v1/namespaces/kube-public/configmaps", owned("far", owner(a)))
        yield* api.post(path, owned("kept", owner(a)))
        const far = yield* api.get("/api/v1/namespaces/kube-public/configmaps")
        const left = yield* api.get(path)

        assert.deepStrictEqual([namesOf(left), namesOf(far)], [["a", "kept", fixed], [fixed]])
      })
    )
  )

  it.effect("T3: a Job leaves its Pods behind unless the delete says otherwise", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const jobs = "/apis/batch/v1/namespaces/default/jobs"
        const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } }
        const job = yield* api.post(jobs, { metadata: { name: "j" }, spec: { template } })
        const reference = { ...owner(job), apiVersion: "batch/v1", kind: "Job" }
        yield* api.post(`${core}/pods`, { ...owned("p", reference), spec: template.spec })

        yield* api.delete(`${jobs}/j`)
        const pods = yield* api.get(`${core}/pods`)

        assert.strictEqual(job.status, 201)
        assert.deepStrictEqual(namesOf(pods), ["p"])
      })
    )
  )

  it.effect("T3: a namespace has its account and certificate from the start, also after they are deleted", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post("/api/v1/namespaces", { metadata: { name: "n" } })
        yield* api.delete("/api/v1/namespaces/n/serviceaccounts/default")
        const accounts = yield* api.get("/api/v1/namespaces/n/serviceaccounts")
        const maps = yield* api.get("/api/v1/namespaces/n/configmaps")
        const all = yield* api.get("/api/v1/namespaces")

        assert.deepStrictEqual([namesOf(accounts), namesOf(maps)], [["default"], [fixed]])
        assert.deepStrictEqual(namesOf(all), ["default", "kube-node-lease", "kube-public", "kube-system", "n"])
      })
    )
  )

  it.effect("T3: a namespace takes its contents with it, waits for finalizers and lets nothing new in", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const namespace = "/api/v1/namespaces/n"
        yield* api.post("/api/v1/namespaces", { metadata: { name: "n" } })
        yield* api.post(`${namespace}/configmaps`, { metadata: { name: "held", finalizers: ["x.io/f"] } })
        yield* api.post(`${namespace}/secrets`, { metadata: { name: "free" } })

        yield* api.delete(namespace)
        const waiting = yield* api.get(namespace)
        const late = yield* api.post(`${namespace}/configmaps`, { metadata: { name: "late" } })
        const secrets = yield* api.get(`${namespace}/secrets`)
        yield* api.merge(`${namespace}/configmaps/held`, { metadata: { finalizers: null } })
        const gone = yield* api.get(namespace)

        const conditions = waiting.at("status.conditions")
        assert.strictEqual(waiting.at("status.phase"), "Terminating")
        assert.include(
          Array.isArray(conditions) ? conditions.map((one) => at(one, "message")) : [],
          "Some content in the namespace has finalizers remaining: x.io/f in 1 resource instances"
        )
        assert.deepStrictEqual(
          [late.status, late.at("details.causes.0.reason"), namesOf(secrets), gone.status],
          [403, "NamespaceTerminating", [], 404]
        )
      })
    )
  )

  it.effect("T3: the namespaces of the system cannot be deleted", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const refused = yield* api.delete("/api/v1/namespaces/kube-system")

        assert.deepStrictEqual([refused.status, refused.at("reason")], [403, "Forbidden"])
      })
    )
  )
})
