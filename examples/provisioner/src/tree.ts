import { Builtin, type Kind } from "@berth/kube"
import { ObjectProvisioner, Provisioner, RemoteCluster } from "@berth/provisioners"
import { listingOf, objectsOf } from "./objects.ts"
import { isUp } from "./rollout.ts"
import type { Region, Site } from "./Site.ts"

type SiteObject = Kind.Object<typeof Site>

/** The same provisioners as at home: only `RemoteCluster.on` knows that this is another cluster. */
const regionOf = (site: SiteObject, region: Region) => {
  const { namespace, page, server, service } = objectsOf(site, region)
  const owner = site.metadata
  const kubeconfig = { namespace: owner.namespace ?? "default", name: site.spec.regions[region].kubeconfigSecret }
  return RemoteCluster.on(
    { owner: site, kubeconfig },
    Provisioner.serial(region, [
      ObjectProvisioner.make("namespace", { type: Builtin.Namespace, owner, object: namespace }),
      ObjectProvisioner.make("page", { type: Builtin.ConfigMap, owner, object: page }),
      ObjectProvisioner.make("service", { type: Builtin.Service, owner, object: service }),
      ObjectProvisioner.make("server", { type: Builtin.Deployment, owner, object: server, ready: isUp(region) })
    ])
  )
}

/** Side by side, so that a region that is out of reach holds up nothing else. */
export const treeOf = (site: SiteObject) =>
  Provisioner.concurrent("site", [
    regionOf(site, "east"),
    regionOf(site, "west"),
    // Always in the tree, wanted or not: that is how it is taken away again.
    Provisioner.conditional(
      "listed",
      site.spec.listed,
      ObjectProvisioner.make("listing", { type: Builtin.ConfigMap, owner: site.metadata, object: listingOf(site) })
    )
  ])
