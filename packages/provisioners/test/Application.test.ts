import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as Application from "../src/Application.ts"
import * as CdDriver from "../src/CdDriver.ts"
import * as Disposition from "../src/Disposition.ts"
import * as Identifier from "../src/Identifier.ts"
import { recorded, Requests } from "./support/requests.ts"
import { Script, scripted } from "./support/cd/scriptedDriver.ts"
import { outcome } from "./support/cd/outcome.ts"

const chart: CdDriver.Chart = { source: "repository", url: "https://charts.example.com", name: "web", version: "1.2.3" }
const Hooks = Disposition.vocabulary("hooks", { busy: Disposition.yield("The hook is not done.") })

interface Owner {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string }
  readonly spec: { readonly replicas: number }
}

const uid = "2b7a3f0e-0000-4000-8000-000000000001"
const ownerIn = (namespace: string): Owner => ({ metadata: { name: "shop", namespace, uid }, spec: { replicas: 3 } })

let namespaces = 0
/** A scene in a namespace of its own. */
const scene = Effect.map(Script, (script) => {
  const owner = ownerIn(`shop-${++namespaces}`)
  return {
    ...script,
    owner,
    namespace: owner.metadata.namespace,
    last: () => script.wanted().at(-1),
    web: <R = never>(options: Partial<Application.Options<Owner, R>> = {}) =>
      Application.make("web", { owner, chart, ...options })
  }
})

const live = Layer.fresh(Layer.provideMerge(scripted, Layer.provide(recorded, Cluster.embeddedWithClient())))

/** A hook that yields so often before it succeeds, and counts how often it was run. */
const hook = (yields: number) => {
  const runs = { all: 0, done: 0 }
  const run = Effect.suspend(() => {
    runs.all += 1
    if (runs.all <= yields) return Effect.fail(Hooks.busy())
    runs.done += 1
    return Effect.void
  })
  return { runs, run: () => run }
}

describe("Application", () => {
  layer(live)((it) => {
    it.effect("P30: owner and release give the same name in every pass, and other releases another", () =>
      Effect.gen(function* () {
        const { last, web } = yield* scene
        const idOf = (release: Application.ReleaseName) => Effect.map(web({ release }).provision, () => last()?.id)

        const first = yield* idOf({})
        const ids = yield* Effect.forEach(
          [{}, { name: "shop-web" }, { name: "other" }, { namespace: "elsewhere" }],
          idOf
        )

        assert.match(String(first), /^shop-web-[0-9a-f]{10}$/u)
        assert.deepStrictEqual(ids.slice(0, 2), [first, first])
        assert.strictEqual(new Set(ids).size, 3)
      })
    )

    it.effect("P30: on another cluster the same release is another application", () =>
      Effect.gen(function* () {
        const { last, web } = yield* scene
        yield* web().provision
        const here = last()?.id
        const connection = (yield* Cluster.Cluster).connection

        yield* Effect.provideService(web().provision, CdDriver.Destination, {
          identity: Identifier.of("far"),
          connection
        })

        assert.notStrictEqual(last()?.id, here)
      }).pipe(Effect.provide(Cluster.embedded()))
    )

    it.effect("P30: names that are too long stay apart, and within Helm's limit", () =>
      Effect.gen(function* () {
        const { owner, wanted } = yield* scene
        const long = (end: string) => ({ ...owner, metadata: { ...owner.metadata, name: `${"a".repeat(60)}${end}` } })

        yield* Application.make("web", { owner: long("b"), chart }).provision
        yield* Application.make("web", { owner: long("c"), chart }).provision

        const names = wanted()
          .slice(-2)
          .map(({ id, name }) => ({ id: id.length, name }))
        assert.isTrue(names.every(({ id, name }) => name.length <= 53 && id <= 63))
        assert.notStrictEqual(names[0]?.name, names[1]?.name)
      })
    )

    it.effect("P30: the chart and every customisation are asked of the owner in each pass", () =>
      Effect.gen(function* () {
        const { last, web } = yield* scene
        let version = "1.2.3"
        const application = web({
          chart: () => Effect.sync(() => ({ ...chart, version })),
          release: ({ metadata }) => Effect.succeed({ name: `${metadata.name}-front`, namespace: metadata.namespace }),
          values: ({ spec }) => Effect.succeed({ replicas: spec.replicas }),
          parameters: ({ metadata }) => Effect.succeed([{ name: "host", value: metadata.name }]),
          ignoredDifferences: () => Effect.succeed([{ kind: "Deployment", pointers: ["/spec/replicas"] }])
        })
        yield* application.provision
        const before = last()
        version = "1.2.4"

        yield* application.provision

        assert.deepInclude(before, { name: "shop-front", values: { host: "shop", replicas: 3 } })
        assert.deepStrictEqual(last()?.chart, { ...chart, version: "1.2.4" })
        assert.deepStrictEqual(last()?.ignoredDifferences, [{ kind: "Deployment", pointers: ["/spec/replicas"] }])
        assert.notStrictEqual(last()?.digest, before?.digest)
      })
    )

    it.effect("P30: a name that Kubernetes does not allow is terminal, and nothing is deployed", () =>
      Effect.gen(function* () {
        const { wanted, web } = yield* scene
        const before = wanted().length

        const failures = yield* Effect.forEach(["Shop", "a".repeat(54), "--set", ""], (name) =>
          outcome(web({ release: { name } }).provision)
        )

        assert.deepStrictEqual(new Set(failures.map((each) => each?.reason)), new Set(["invalid_release"]))
        assert.strictEqual(wanted().length, before)
      })
    )

    const repository = "https://charts.example.com"
    const refused: ReadonlyArray<readonly [because: string, chart: CdDriver.Chart]> = [
      ["its name is an option", { source: "repository", url: repository, name: "--post-renderer=x", version: "1" }],
      ["its name is a file", { source: "repository", url: repository, name: "../web", version: "1" }],
      ["its version is an option", { source: "repository", url: repository, name: "web", version: "--devel" }],
      ["its URL is none", { source: "repository", url: "charts", name: "web", version: "1" }],
      ["its URL has a password", { source: "repository", url: "https://a:b@example.com", name: "web", version: "1" }],
      ["it is in no registry", { source: "oci", url: "https://example.com/web", version: "1" }],
      ["its revision is an option", { source: "git", url: repository, path: ".", revision: "--upload-pack=x" }],
      ["its URL has a token", { source: "git", url: "https://token@example.com", path: ".", revision: "v1" }],
      ["its folder depends on where it is looked for", { source: "path", path: "web", version: "1" }]
    ]
    for (const [because, unusual] of refused) {
      it.effect(`P30: a chart is refused, since ${because}`, () =>
        Effect.gen(function* () {
          const { wanted, web } = yield* scene
          const before = wanted().length

          const failure = yield* outcome(web({ chart: unusual }).provision)

          assert.deepInclude(failure, { _tag: "Terminal", reason: "invalid_chart" })
          assert.notInclude(failure?.why, "token")
          assert.strictEqual(wanted().length, before)
        })
      )
    }

    const accepted: ReadonlyArray<CdDriver.Chart> = [
      { source: "oci", url: "oci://registry.example.com/charts/web", version: "1.2.3+a" },
      { source: "git", url: "ssh://git@example.com/charts", path: "web", revision: "refs/tags/v1" },
      { source: "path", path: "/charts/web", version: "1" }
    ]
    for (const usual of accepted) {
      it.effect(`P30: a chart from ${usual.source} is given to the driver as it is`, () =>
        Effect.gen(function* () {
          const { last, web } = yield* scene

          yield* web({ chart: usual }).provision

          assert.deepStrictEqual(last()?.chart, usual)
        })
      )
    }

    it.effect("P30: two passes at once are of one application with one digest", () =>
      Effect.gen(function* () {
        const { wanted, web } = yield* scene

        yield* Effect.all([web().provision, web().provision], { concurrency: 2 })

        const [one, two] = wanted().slice(-2)
        assert.strictEqual(one?.id, two?.id)
        assert.strictEqual(one?.digest, two?.digest)
      })
    )

    const verdicts: ReadonlyArray<{
      readonly sees: CdDriver.Observed
      readonly tag: Disposition.Tag
      readonly reason: string
    }> = [
      { sees: { _tag: "Progressing", objects: [], why: "busy" }, tag: "Yield", reason: "deploying" },
      { sees: { _tag: "Progressing", objects: ["Pod/a"], why: "busy" }, tag: "Yield", reason: "waiting_for_objects" },
      { sees: { _tag: "Degraded", objects: ["Pod/a"], why: "crash" }, tag: "Transient", reason: "degraded" },
      { sees: { _tag: "Failed", why: "refused" }, tag: "Transient", reason: "failed" },
      { sees: { _tag: "Removing", objects: [], why: "going" }, tag: "Yield", reason: "removing" },
      { sees: { _tag: "Removing", objects: ["Pod/a"], why: "going" }, tag: "Yield", reason: "held" },
      { sees: { _tag: "Suspended", why: "spec.suspend" }, tag: "UserActionRequired", reason: "suspended" },
      { sees: { _tag: "Taken", why: "of another" }, tag: "UserActionRequired", reason: "taken" }
    ]
    for (const { reason, sees, tag } of verdicts) {
      it.effect(`P31: an application that the driver sees ${sees._tag} is ${reason}, a ${tag}`, () =>
        Effect.gen(function* () {
          const { sees: say, web } = yield* scene
          say(sees)

          const failure = yield* outcome(web().provision)
          say({ _tag: "Ready" })

          assert.deepInclude(failure, { _tag: tag, reason, why: "why" in sees ? sees.why : "" })
          assert.notInclude(failure?.message, "why" in sees ? sees.why : "?")
          assert.isUndefined(yield* outcome(web().provision))
        })
      )
    }

    it.effect("P32: a second pass asks the driver for the very same, and writes nothing", () =>
      Effect.gen(function* () {
        const { wanted, web } = yield* scene
        const requests = yield* Requests
        const namespaceMetadata = { labels: { team: "a" } }
        yield* web({ values: { b: 1, a: { d: 2, c: [3] } }, namespaceMetadata }).provision
        yield* requests.forget

        yield* web({ values: { a: { c: [3], d: 2 }, b: 1 }, namespaceMetadata }).provision

        const [one, two] = wanted().slice(-2)
        assert.strictEqual(JSON.stringify(one), JSON.stringify(two))
        assert.deepStrictEqual(yield* requests.writes, [])
      })
    )

    it.effect("P33: a deprovision pass asks for the release's name, and for nothing else", () =>
      Effect.gen(function* () {
        const { removed, web } = yield* scene
        yield* web({ release: { name: "front" } }).provision
        const never = () => Effect.die(new Error("asked for"))

        yield* web({
          release: () => Effect.succeed({ name: "front" }),
          chart: never,
          values: never,
          parameters: never,
          namespaceMetadata: never,
          ignoredDifferences: never,
          allowDegraded: never
        }).deprovision

        assert.deepInclude(removed().at(-1), { name: "front", ownerUid: uid })
      })
    )

    it.effect("P33: nothing is left of an application that is gone, and what it remembers stays until then", () =>
      Effect.gen(function* () {
        const { namespace, removes, web } = yield* scene
        const client = yield* Client.Client
        const secrets = Effect.map(client.list(Builtin.Secret, { namespace }), ({ items }) => items.length)
        yield* web().provision

        removes({ _tag: "Removing", objects: [], why: "" })
        yield* outcome(web().deprovision)
        const before = yield* secrets
        removes({ _tag: "Gone" })
        yield* web().deprovision

        assert.deepStrictEqual([before, yield* secrets], [1, 0])
      })
    )

    it.effect("P30, P33: what another driver deployed is neither deployed again nor taken for gone", () =>
      Effect.gen(function* () {
        const { removed, wanted, web } = yield* scene
        const driver = yield* CdDriver.CdDriver
        const switched = Effect.provideService(CdDriver.CdDriver, { ...driver, name: Identifier.of("another") })
        yield* web().provision
        const before = [wanted().length, removed().length]

        const failures = [yield* outcome(switched(web().provision)), yield* outcome(switched(web().deprovision))]
        const meanwhile = [wanted().length, removed().length]
        yield* web().provision
        yield* web().deprovision
        yield* switched(web().provision)

        for (const failure of failures) {
          assert.deepInclude(failure, { _tag: "Transient", reason: "other_driver" })
          assert.include(failure?.message, "was deployed by the scripted driver")
          assert.include(failure?.why, "berth-application-")
        }
        assert.deepStrictEqual(meanwhile, before)
      })
    )

    it.effect("P33: a removal is waited for, and one that fails is retried", () =>
      Effect.gen(function* () {
        const { removes, web } = yield* scene
        yield* web().provision

        removes({ _tag: "Removing", objects: ["Pod/a"], why: "held" })
        const waiting = yield* outcome(web().deprovision)
        removes({ _tag: "Failed", why: "no" })
        const failed = yield* outcome(web().deprovision)
        removes({ _tag: "Gone" })

        assert.deepInclude(waiting, { _tag: "Yield", reason: "held" })
        assert.deepInclude(failed, { _tag: "Transient", reason: "removal_failed", why: "no" })
        assert.isUndefined(yield* outcome(web().deprovision))
      })
    )

    it.effect("P34: postProvision runs until it succeeds, once for each version that became ready", () =>
      Effect.gen(function* () {
        const { sees, web } = yield* scene
        const { run, runs } = hook(1)
        const of = (greeting: string) => web({ values: { greeting }, postProvision: run })
        sees({ _tag: "Progressing", objects: [], why: "" })
        yield* outcome(of("one").provision)
        assert.deepStrictEqual(runs, { all: 0, done: 0 })
        sees({ _tag: "Ready" })

        const busy = yield* outcome(of("one").provision)
        yield* of("one").provision
        yield* of("one").provision
        assert.deepStrictEqual(runs, { all: 2, done: 1 })
        yield* of("two").provision
        yield* of("two").provision

        assert.strictEqual(busy?.reason, "busy")
        assert.deepStrictEqual(runs, { all: 3, done: 2 })
      })
    )

    it.effect("P34: preDeprovision runs until it succeeds, once, and before anything is removed", () =>
      Effect.gen(function* () {
        const { removed, removes, web } = yield* scene
        const { run, runs } = hook(1)
        const application = web({ preDeprovision: run })
        yield* application.provision
        const before = removed().length
        removes({ _tag: "Removing", objects: [], why: "" })

        const busy = yield* outcome(application.deprovision)
        assert.strictEqual(removed().length, before)
        yield* outcome(application.deprovision)
        yield* outcome(application.deprovision)
        removes({ _tag: "Gone" })
        yield* application.deprovision
        yield* application.deprovision

        assert.strictEqual(busy?.reason, "busy")
        assert.deepStrictEqual(runs, { all: 2, done: 1 })
      })
    )

    it.effect("P34: what is provisioned again after a half-done removal needs its preDeprovision again", () =>
      Effect.gen(function* () {
        const { removes, web } = yield* scene
        const { run, runs } = hook(0)
        const application = web({ preDeprovision: run })
        yield* application.provision
        removes({ _tag: "Removing", objects: [], why: "" })
        yield* outcome(application.deprovision)

        yield* application.provision
        removes({ _tag: "Gone" })
        yield* application.deprovision

        assert.strictEqual(runs.done, 2)
      })
    )

    it.effect("P34: what never was provisioned needs no preDeprovision", () =>
      Effect.gen(function* () {
        const { web } = yield* scene
        const { run, runs } = hook(0)

        yield* web({ preDeprovision: run }).deprovision

        assert.strictEqual(runs.all, 0)
      })
    )

    it.effect("P36: the namespace gets its metadata, and keeps what others gave it", () =>
      Effect.gen(function* () {
        const { namespace, web } = yield* scene
        const client = yield* Client.Client
        yield* client.create(Builtin.Namespace, { metadata: { name: namespace, labels: { other: "theirs" } } })

        yield* web({ namespaceMetadata: { labels: { team: "a" }, annotations: { note: "b" } } }).provision
        const first = yield* client.get(Builtin.Namespace, { name: namespace })
        yield* web({ namespaceMetadata: { labels: { team: "c" } } }).provision
        const second = yield* client.get(Builtin.Namespace, { name: namespace })

        assert.deepInclude(first.metadata.labels, { other: "theirs", team: "a" })
        assert.deepInclude(first.metadata.annotations, { note: "b" })
        assert.deepInclude(second.metadata.labels, { other: "theirs", team: "c" })
        assert.notProperty(second.metadata.annotations ?? {}, "note")
      })
    )

    it.effect("P36: two applications in a namespace take nothing of its metadata from each other", () =>
      Effect.gen(function* () {
        const { namespace, owner, web } = yield* scene
        const client = yield* Client.Client
        const other = Application.make("api", { owner, chart, namespaceMetadata: { labels: { api: "b" } } })

        yield* web({ namespaceMetadata: { labels: { web: "a" } } }).provision
        yield* other.provision
        yield* web({ namespaceMetadata: { labels: { web: "a" } } }).provision

        const { metadata } = yield* client.get(Builtin.Namespace, { name: namespace })
        assert.deepInclude(metadata.labels, { web: "a", api: "b" })
      })
    )

    it.effect("P36: degraded is good enough where the owner says so", () =>
      Effect.gen(function* () {
        const { sees, web } = yield* scene
        sees({ _tag: "Degraded", objects: ["Pod/a"], why: "crash" })

        const strict = yield* outcome(web({ allowDegraded: () => Effect.succeed(false) }).provision)
        const lenient = yield* outcome(web({ allowDegraded: () => Effect.succeed(true) }).provision)
        sees({ _tag: "Ready" })

        assert.strictEqual(strict?.reason, "degraded")
        assert.isUndefined(lenient)
      })
    )

    it.effect("P37: a secret stays redacted on its way, changes the digest, and cannot be guessed from it", () =>
      Effect.gen(function* () {
        const { last, namespace, owner, web } = yield* scene
        const client = yield* Client.Client
        const of = (password: string, options: { readonly owner?: Owner } = {}) =>
          Effect.map(web({ values: { password: Redacted.make(password) }, ...options }).provision, () => last()?.digest)

        const one = yield* of("sesame")
        const same = yield* of("sesame")
        const two = yield* of("open")
        // With everything alike but the key, which is random, the digest is another.
        yield* client.delete(Builtin.Namespace, { name: namespace })
        yield* web().deprovision
        const anew = yield* of("sesame", { owner })

        assert.notInclude(JSON.stringify(last()), "sesame")
        assert.strictEqual(one, same)
        assert.strictEqual(new Set([one, two, anew]).size, 3)
      })
    )

    it.effect("P37: what a tool says is given without the secrets that it quotes", () =>
      Effect.gen(function* () {
        const { sees, web } = yield* scene
        sees({ _tag: "Failed", why: "cannot use s3same or czNzYW1l as a name" })

        const failure = yield* outcome(web({ values: { login: { password: Redacted.make("s3same") } } }).provision)
        sees({ _tag: "Ready" })

        assert.strictEqual(failure?.why, "cannot use *** or *** as a name")
      })
    )

    it.effect("P36: a tool may say that something has failed, and not what", () =>
      Effect.gen(function* () {
        const { sees, web } = yield* scene
        sees({ _tag: "Degraded", objects: [], why: "" })

        const failure = yield* outcome(web().provision)
        sees({ _tag: "Ready" })

        assert.match(failure?.message ?? "", /^Something of /u)
      })
    )

    it.effect("P30: a parameter whose name is no path is terminal", () =>
      Effect.gen(function* () {
        const { web } = yield* scene

        const failure = yield* outcome(web({ parameters: [{ name: "a..b", value: 1 }] }).provision)

        assert.deepInclude(failure, { _tag: "Terminal", reason: "invalid_parameter", why: "a..b" })
      })
    )
  })
})
