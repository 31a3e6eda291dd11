import { type Kind, KubeObject } from "@berth/kube"
import { type Region, regions, type Site } from "./Site.ts"

type SiteObject = Kind.Object<typeof Site>

const labels = { "app.kubernetes.io/name": "site" }
const httpPort = 8080

/** By UID, since operators of several clusters may share a region; with the region, since two of them may be one cluster. */
const namespaceOf = ({ metadata }: SiteObject, region: Region): string => `site-${metadata.uid}-${region}`

/** The server's Pods, fit for a namespace in which only restricted ones may run. */
const pod = {
  metadata: { labels },
  spec: {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "nginx",
        image: "docker.io/nginxinc/nginx-unprivileged:1.29-alpine",
        ports: [{ containerPort: httpPort, protocol: "TCP" }],
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        volumeMounts: [{ name: "page", mountPath: "/usr/share/nginx/html" }]
      }
    ],
    volumes: [{ name: "page", configMap: { name: "site" } }]
  }
}

/** What a site consists of in a region. */
export const objectsOf = (site: SiteObject, region: Region) => {
  const namespace = namespaceOf(site, region)
  const metadata = { name: "site", namespace }
  const ports = [{ port: 80, protocol: "TCP", targetPort: httpPort }]
  const { replicas } = site.spec.regions[region]
  return {
    namespace: {
      metadata: { name: namespace, annotations: { "example.com/site": KubeObject.key(site.metadata) } }
    },
    page: { metadata, data: { "index.html": site.spec.page } },
    service: { metadata, spec: { selector: labels, ports } },
    server: { metadata, spec: { replicas, selector: { matchLabels: labels }, template: pod } }
  }
}

/** Where the site is served, for whoever is beside it on the home cluster. */
export const listingOf = (site: SiteObject) => ({
  metadata: { name: `${site.metadata.name}-listing`, namespace: site.metadata.namespace ?? "default" },
  data: Object.fromEntries(regions.map((region) => [region, `site.${namespaceOf(site, region)}.svc`]))
})
