import { Conditions, Kind } from "@berth/kube"
import { Schema } from "effect"

/** A team. It gets a namespace of its name, in which its members may edit, and run so many Pods. */
export const Tenant = Kind.make({
  group: "example.com",
  version: "v1",
  kind: "Tenant",
  scope: "Cluster",
  description: "A team with a namespace of its own.",
  columns: [{ name: "Ready", path: '.status.conditions[?(@.type=="Ready")].status' }],
  spec: Schema.Struct({
    members: Schema.Array(Kind.Text(1, 100)).check(Schema.isMaxLength(50)).pipe(Kind.listSet),
    podsMax: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })).pipe(Kind.withDefault(10))
  }),
  status: Schema.Struct({ conditions: Conditions.schema.pipe(Kind.withDefault([])) })
})
