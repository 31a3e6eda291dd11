/** A cluster at home, others elsewhere, and the words in which tests speak about what is on them. */
import { randomUUID } from "node:crypto"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import { type Connection, fromKubeconfig } from "@berth/kube/Connection"
import * as Events from "@berth/kube/Events"
import * as Transport from "@berth/kube/Transport"
import * as EmbeddedCluster from "@berth/testing/EmbeddedCluster"
import { Context, Effect, Layer, Redacted } from "effect"
import type * as Disposition from "../../src/Disposition.ts"
import * as Identifier from "../../src/Identifier.ts"
import * as ObjectProvisioner from "../../src/ObjectProvisioner.ts"
import * as Progress from "../../src/Progress.ts"
import type * as Provisioner from "../../src/Provisioner.ts"
import * as RemoteCluster from "../../src/RemoteCluster.ts"

/** The first kubeconfig of a process loads a parser, which takes longer than a test. */
export const loadParser = () => Effect.runPromise(Effect.ignore(fromKubeconfig("{}")))

export const home = "berth-system"
export const secretRef = { namespace: "default", name: "site" }

const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64")
export const text = (base64: string | undefined): string => Buffer.from(base64 ?? "", "base64").toString("utf8")

const reveal = (material: Connection["token"]): string =>
  Redacted.isRedacted(material) ? Redacted.value(material) : "none"

/** A cluster over TLS, with its client. */
export const makeCluster = Effect.fnUntraced(function* (options: EmbeddedCluster.Options = { tls: true }) {
  const cluster = yield* EmbeddedCluster.make(options)
  const context = yield* Layer.build(Layer.fresh(Client.layerFromConnection(cluster.connection)))
  const client = Context.get(context, Client.Client)
  const { metadata } = yield* client.get(Builtin.Namespace, { name: "kube-system" })
  return { ...cluster, client, identity: metadata.uid ?? "" }
})
export type TestCluster = Effect.Success<ReturnType<typeof makeCluster>>

export const ownerOf = (name: string, annotations: Readonly<Record<string, string>> = {}): RemoteCluster.Owner => ({
  apiVersion: "test.berth.dev/v1",
  kind: "Widget",
  metadata: { name, namespace: "default", uid: randomUUID(), annotations }
})

/** The same object, on which somebody gives a cluster up. */
export const abandoning = (owner: RemoteCluster.Owner, identity: string): RemoteCluster.Owner => ({
  ...owner,
  metadata: { ...owner.metadata, annotations: { [RemoteCluster.abandonAnnotation]: identity } }
})

/** A ConfigMap of this name, in the namespace default of whichever cluster. */
export const settings = (owner: RemoteCluster.Owner, name = "settings") =>
  ObjectProvisioner.make(Identifier.Identifier.make(name), {
    type: Builtin.ConfigMap,
    owner: owner.metadata,
    object: { metadata: { name, namespace: "default" }, data: { color: "red" } }
  })

/** The same, on the cluster that the Secret leads to. */
export const remoteSettings = (owner: RemoteCluster.Owner, name?: string) =>
  RemoteCluster.on({ owner, kubeconfig: secretRef }, settings(owner, name))

/** A kubeconfig for the cluster, as somebody writes it. */
export const kubeconfigFor = (
  { connection, url }: TestCluster,
  {
    cluster = {},
    token,
    user = {}
  }: { readonly token?: string; readonly cluster?: object; readonly user?: object } = {}
): string =>
  JSON.stringify({
    "current-context": "c",
    clusters: [
      {
        name: "c",
        cluster: { server: url, "certificate-authority-data": base64(reveal(connection.ca)), ...cluster }
      }
    ],
    users: [{ name: "u", user: { ...(token === undefined ? {} : { token }), ...user } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }]
  })

/** The ConfigMaps that tests have made on a cluster. */
export const settingsOn = ({ client }: { readonly client: Client.Client["Service"] }) =>
  Effect.map(client.list(Builtin.ConfigMap, { namespace: "default" }), ({ items }) =>
    items.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt")
  )

type Remote<R> = Effect.Effect<void, Disposition.ProvisionError, R>
type Given = Client.Client | RemoteCluster.RemoteClusters

/** What a program's connections to other clusters came to. */
export interface Connections {
  /** The servers and tokens of the pools that are open. */
  readonly open: () => ReadonlyArray<string>
  /** How many were opened ever. */
  readonly count: () => number
  readonly requests: Array<string>
}

/** The remote clusters of a program whose own cluster this is. */
export const clustersOf = (
  client: Client.Client["Service"],
  options: Partial<RemoteCluster.Options> = {},
  record: (report: Events.Report) => Effect.Effect<void> = () => Effect.void
) =>
  Layer.build(RemoteCluster.layer({ namespace: home, refusedNetworks: [], ...options })).pipe(
    Effect.provideService(Client.Client, client),
    Effect.provideService(Events.Recorder, Events.Recorder.of({ record }))
  )

/** A home cluster with the namespace of registrations, and the programs that work there. */
export const makeHome = Effect.gen(function* () {
  const cluster = yield* makeCluster({})
  const { client } = cluster
  yield* client.create(Builtin.Namespace, { metadata: { name: home } })
  const reports: Array<Events.Report> = []
  const record = (report: Events.Report) => Effect.sync(() => void reports.push(report))

  /** A process: what it remembers besides objects is gone with it. */
  const makeProgram = Effect.fnUntraced(function* (
    options: Partial<RemoteCluster.Options> & { readonly homeClient?: Client.Client["Service"] } = {}
  ) {
    const { homeClient = client, ...rest } = options
    const pools = new Set<object>()
    const labels = new Map<object, string>()
    const requests: Array<string> = []
    const transport = (connection: Connection) =>
      Layer.effect(
        Transport.Transport,
        Effect.gen(function* () {
          const inner = yield* Transport.Transport
          labels.set(inner, `${connection.server} ${reveal(connection.token)}`)
          yield* Effect.acquireRelease(
            Effect.sync(() => pools.add(inner)),
            () => Effect.sync(() => pools.delete(inner))
          )
          return {
            request: (asked: Transport.TransportRequest) => {
              requests.push(
                `${reveal(connection.token)} ${asked.about.verb} ${asked.about.resource} ${asked.about.name}`
              )
              return inner.request(asked)
            }
          }
        })
      ).pipe(Layer.provide(Layer.fresh(Transport.layer(connection))))
    const context = yield* clustersOf(homeClient, { transport, ...rest }, record)
    const connections: Connections = {
      open: () => [...pools].map((pool) => labels.get(pool) ?? ""),
      count: () => labels.size,
      requests
    }
    const run = <R extends Given>(pass: Remote<R>) =>
      pass.pipe(Effect.provideContext(context), Effect.provideService(Client.Client, homeClient))
    return {
      connections,
      provision: (provisioner: Provisioner.Provisioner<Given>) => run(provisioner.provision),
      deprovision: (provisioner: Provisioner.Provisioner<Given>) => run(provisioner.deprovision),
      /** As a manager runs it, which knows the places in the tree. */
      pass: (provisioner: Provisioner.Provisioner<Given>, phase: Progress.Phase = "provision") =>
        Effect.flatMap(
          Progress.run(provisioner, phase).pipe(
            Effect.provideContext(context),
            Effect.provideService(Client.Client, homeClient)
          ),
          ({ result }) => Effect.fromResult(result)
        )
    }
  })

  const registrations = Effect.map(client.list(Builtin.Secret, { namespace: home }), ({ items }) => items)
  return {
    ...cluster,
    reports,
    makeProgram,
    /** Writes the kubeconfig into the user's Secret. */
    point: (kubeconfig: string, ref = secretRef) =>
      client.apply(
        Builtin.Secret,
        { metadata: ref, data: { kubeconfig: base64(kubeconfig) } },
        { fieldManager: "user", force: true }
      ),
    registrations,
    /** How many references there are to each registration. */
    counts: Effect.map(registrations, (all) =>
      all.map(({ metadata }) => (metadata.finalizers ?? []).filter((each) => each.startsWith("berth.dev/ref-")).length)
    ),
    records: Effect.map(
      client.list(Builtin.ConfigMap, { namespace: home, labelSelector: "berth.dev/abandoned-cluster" }),
      ({ items }) => items.map(({ data }) => data ?? {})
    )
  }
})
export type Home = Effect.Success<typeof makeHome>

/** A home and one cluster elsewhere, to which the user's Secret leads. */
export const scenario = Effect.gen(function* () {
  const site = yield* makeHome
  const remote = yield* makeCluster()
  yield* site.point(remote.kubeconfig)
  return { site, remote, program: yield* site.makeProgram() }
})
