import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { Access, Builtin, Client, Conditions, type Connection, Kind, Transport } from "@berth/kube"
import { RemoteCluster } from "@berth/provisioners"
import { Await, Clusters, Faults } from "@berth/testing"
import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Layer, References } from "effect"
import { accessInRegion, operator } from "../src/controller.ts"
import { Site } from "../src/Site.ts"
import { region } from "./support/region.ts"

type RawSite = Kind.Raw<typeof Site>

/** A real cluster empties a namespace in five seconds and more. */
const timeout = 60_000

const isReady = ({ metadata, status }: RawSite) => Conditions.isTrue(status?.conditions, "Ready", metadata.generation)
const ready = ({ status }: RawSite) => Conditions.get(status?.conditions, "Ready")

/** Two regions, the operator at home, and the words in which a user speaks to it. */
const started = Effect.fnUntraced(function* (options: { readonly resync?: Duration.Input } = {}) {
  const client = yield* Client.Client
  yield* Clusters.definition(Kind.crd(Site))
  const namespace = yield* Clusters.namespace
  const east = yield* region("east")
  const west = yield* region("west")
  const away = new Set<string>()
  const transport = (connection: Connection.Connection) =>
    Faults.layer({ on: { where: () => away.has(connection.server) }, fault: Faults.unreachable }).pipe(
      Layer.provide(Transport.layer(connection))
    )
  // The regions are on this machine.
  yield* Effect.forkScoped(operator({ namespace, refusedNetworks: [], transport }, options))

  const shop = { name: "shop", namespace }
  const change = (patch: object) => client.patch(Site, shop, { type: "merge", patch })
  const deleted = Effect.andThen(client.delete(Site, shop), Await.gone(Site, shop))
  return {
    client,
    namespace,
    east,
    west,
    away,
    credentials: ({ kubeconfig, name }: typeof east, token = "token-1") =>
      client.apply(Builtin.Secret, {
        metadata: { name, namespace },
        data: { kubeconfig: Buffer.from(kubeconfig(token)).toString("base64") }
      }),
    /** It is gone before the operator stops, also when the test fails. */
    site: ({ replicas }: { readonly replicas: number }) => {
      const regions = {
        east: { kubeconfigSecret: "east", replicas },
        west: { kubeconfigSecret: "west", replicas }
      }
      return Effect.acquireRelease(client.create(Site, { metadata: shop, spec: { page: "hello", regions } }), () =>
        Effect.ignore(Effect.timeout(deleted, "10 seconds"))
      )
    },
    change,
    annotate: (annotation: string, value: string) => change({ metadata: { annotations: { [annotation]: value } } }),
    deleted,
    until: (holds: (site: RawSite) => boolean) => Await.until(Site, shop, holds),
    reads: (reason: string) => Await.until(Site, shop, (site) => ready(site)?.reason === reason)
  }
})

describe.each(Clusters.each())("Site on the $kind cluster", ({ layer }) => {
  const quiet = <A, E>(test: Effect.Effect<A, E, Effect.Services<ReturnType<typeof started>>>) =>
    test.pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"), Effect.provide(layer))

  it.live(
    "P9, P25: is served from two clusters, listed at home while that is wanted, and leaves nothing anywhere",
    () =>
      Effect.gen(function* () {
        const { change, client, credentials, deleted, east, namespace, reads, site, until, west } = yield* started()
        const listing = { name: "shop-listing", namespace }
        yield* credentials(east)
        yield* credentials(west)

        const shop = yield* site({ replicas: 2 })
        const waiting = yield* reads("rolling_out")
        const provisioned = yield* until(isReady)
        const servers = yield* Effect.forEach([east, west], ({ deployment }) => deployment(shop))
        yield* change({ spec: { listed: true } })
        const listed = yield* Await.until(Builtin.ConfigMap, listing, () => true)
        yield* change({ spec: { listed: false } })
        yield* Await.gone(Builtin.ConfigMap, listing)
        yield* deleted
        yield* Effect.forEach([east, west], ({ isEmptied }) => isEmptied(shop))
        const registrations = yield* client.list(Builtin.Secret, { namespace, labelSelector: "berth.dev/cluster" })

        assert.strictEqual(ready(waiting)?.message, "0 of 2 servers are up in east.")
        assert.strictEqual(provisioned.status?.regionsReady, 2)
        assert.deepStrictEqual(
          servers.map(({ status }) => status?.availableReplicas),
          [2, 2]
        )
        assert.strictEqual(listed.data?.["west"], `site.site-${shop.metadata.uid}-west.svc`)
        assert.lengthOf(registrations.items, 0)
      }).pipe(quiet),
    timeout
  )

  it.live(
    "P26: a region that cannot be reached holds up neither the other one nor what is at home, and catches up",
    () =>
      Effect.gen(function* () {
        const { away, change, credentials, east, namespace, site, until, west } = yield* started()
        yield* credentials(east)
        yield* credentials(west)
        away.add(west.server)

        const shop = yield* site({ replicas: 0 })
        const partly = yield* until(({ status }) => status?.regionsReady === 1)
        yield* change({ spec: { page: "news", listed: true } })
        yield* east.serves(shop, "news")
        yield* Await.until(Builtin.ConfigMap, { name: "shop-listing", namespace }, () => true)
        away.delete(west.server)
        yield* west.serves(shop, "news")
        const whole = yield* until(isReady)

        assert.strictEqual(ready(partly)?.reason, "unreachable")
        assert.strictEqual(whole.status?.regionsReady, 2)
      }).pipe(quiet),
    timeout
  )

  it.live(
    "P25, P26: credentials that are not accepted are waited for, and new ones are used at once",
    () =>
      Effect.gen(function* () {
        const { change, credentials, east, reads, site, until, west } = yield* started()
        yield* credentials(east)
        yield* credentials(west, "expired")

        const shop = yield* site({ replicas: 0 })
        const stalled = yield* reads("credentials_rejected")
        yield* credentials(west)
        yield* until(isReady)
        yield* west.renew("token-2", "token-1")
        yield* credentials(west, "token-2")
        yield* change({ spec: { page: "news" } })
        yield* west.serves(shop, "news")

        assert.strictEqual(stalled.status?.regionsReady, 1)
        assert.isTrue(Conditions.isTrue(stalled.status?.conditions, "Stalled"))
      }).pipe(quiet),
    timeout
  )

  it.live(
    "P28: a region that is gone holds the deletion up, until it is given up by its identity",
    () =>
      Effect.gen(function* () {
        const { annotate, client, credentials, east, namespace, reads, site, until, west } = yield* started()
        yield* credentials(east)
        yield* credentials(west)
        const shop = yield* site({ replicas: 0 })
        yield* until(isReady)

        yield* west.end
        yield* client.delete(Site, shop.metadata)
        const held = yield* reads("cluster_unreachable")
        yield* east.isEmptied(shop)
        yield* annotate(RemoteCluster.abandonAnnotation, west.identity)
        yield* Await.gone(Site, shop.metadata)
        const records = yield* client.list(Builtin.ConfigMap, {
          namespace,
          labelSelector: `berth.dev/abandoned-cluster=${west.identity}`
        })

        assert.include(ready(held)?.message, west.identity)
        assert.strictEqual(held.status?.regionsReady, 0)
        assert.lengthOf(records.items, 1)
      }).pipe(quiet),
    timeout
  )

  it.live(
    "P22: what somebody takes away in a region is there again when the operator looks again",
    () =>
      Effect.gen(function* () {
        const { credentials, east, site, until, west } = yield* started({ resync: "1 second" })
        yield* credentials(east)
        yield* credentials(west)
        const shop = yield* site({ replicas: 0 })
        yield* until(isReady)

        yield* west.loses(shop)

        yield* west.serves(shop, "hello")
      }).pipe(quiet),
    timeout
  )
})

describe("The manifests", () => {
  const read = (path: string) => readFileSync(resolve(import.meta.dirname, "..", path), "utf8")
  const list = (items: ReadonlyArray<string> = []) => `[${items.map((item) => `"${item}"`).join(", ")}]`

  it("allow the operator in a region what it asks for, and nothing else", () => {
    const rules = Access.rules(accessInRegion).map(
      ({ apiGroups, resources, verbs }) =>
        `  - { apiGroups: ${list(apiGroups)}, resources: ${list(resources)}, verbs: ${list(verbs)} }\n`
    )

    assert.include(read("manifests/region.yaml"), `rules:\n${rules.join("")}---`)
  })

  it("have the site that the README shows", () => {
    assert.include(read("README.md"), read("manifests/site.yaml"))
  })
})
