import { Builtin, Caches, Events, Operator } from "@berth/kube"
import { Manager, ObjectProvisioner, RemoteCluster } from "@berth/provisioners"
import { type Duration, Effect, Layer } from "effect"
import { regions, Site } from "./Site.ts"
import { treeOf } from "./tree.ts"

const sites = (resync: Duration.Input) =>
  Manager.make({
    kind: Site,
    provisioner: treeOf,
    // On the home cluster, where whatever changes is noticed at once.
    owns: [Builtin.ConfigMap],
    inputs: [Builtin.Secret],
    // In the regions nothing is watched: what somebody changes there is found by looking again.
    resync,
    status: (_, { progress }) => {
      const paths = regions.map((region) => `site/${region}`)
      const ready = progress.filter(
        ({ path, phase, state }) => paths.includes(path) && phase === "provision" && state === "Ready"
      )
      return { regionsReady: ready.length }
    }
  })

/** What the credentials of a region have to allow there: manifests/region.yaml does. */
export const accessInRegion = [
  ...RemoteCluster.remoteAccess,
  ...[Builtin.Namespace, Builtin.ConfigMap, Builtin.Service, Builtin.Deployment].flatMap((type) =>
    ObjectProvisioner.access(type)
  )
]

/** Everything but the client of the home cluster. */
export const operator = (
  clusters: RemoteCluster.Options,
  { resync = "10 minutes" }: { readonly resync?: Duration.Input } = {}
) => {
  const caches = Caches.observedClient.pipe(Layer.provideMerge(Caches.layer))
  const events = Events.layer({ controller: "example.com/sites" })
  const services = RemoteCluster.layer(clusters).pipe(Layer.provideMerge(events), Layer.provideMerge(caches))
  return Operator.run([sites(resync)]).pipe(Effect.provide(services))
}
