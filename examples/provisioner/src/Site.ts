import { Columns, Kind } from "@berth/kube"
import { Manager } from "@berth/provisioners"
import { Schema } from "effect"

/** Fixed, and not a list of the spec's: what a list no longer names would be in no tree, and so would never be removed. */
export const regions = ["east", "west"] as const
export type Region = (typeof regions)[number]

const Place = Schema.Struct({
  kubeconfigSecret: Kind.ObjectName.pipe(Kind.described("The Secret beside the site that leads to this region.")),
  replicas: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 })).pipe(
    Kind.described("How many servers there are; none drains the region."),
    Kind.withDefault(2)
  )
})

/** A page that is served in two regions, each of which is a cluster of its own. */
export const Site = Kind.make({
  group: "example.com",
  version: "v1",
  kind: "Site",
  scope: "Namespaced",
  description: "A page that is served in two regions.",
  columns: [
    Columns.ready,
    { name: "Regions", path: ".status.regionsReady", type: "integer" },
    Columns.reason,
    Columns.age
  ],
  spec: Schema.Struct({
    page: Kind.Text(1, 50_000).pipe(Kind.described("HTML.")),
    listed: Schema.Boolean.pipe(
      Kind.described("Whether a ConfigMap beside the site says where it is served."),
      Kind.withDefault(false)
    ),
    regions: Schema.Struct({ east: Place, west: Place })
  }),
  status: Schema.Struct({
    ...Manager.statusFields,
    regionsReady: Kind.optional("In how many regions the page is as the site says.", Schema.Int)
  })
})
