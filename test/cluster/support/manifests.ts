/** Objects as they stand in YAML, of the kinds that the charts and the quickstart have. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { Consumer } from "@berth/db-provider/Consumer"
import { Shard } from "@berth/db-provider/Shard"
import { Environment } from "@berth/shared-components/Environment"
import { EnvironmentTemplate } from "@berth/shared-components/EnvironmentTemplate"
import { SharedComponent } from "@berth/shared-components/SharedComponent"
import { SharedComponentProvider } from "@berth/shared-components/SharedComponentProvider"
import { Effect, Option } from "effect"
import { parseAllDocuments } from "yaml"

const admission = (kind: string, plural: string) =>
  ResourceType.make({ group: "admissionregistration.k8s.io", version: "v1", kind, plural, scope: "Cluster" })

const types: ReadonlyArray<ResourceType.ResourceType> = [
  Builtin.CustomResourceDefinition,
  Builtin.Namespace,
  Builtin.ServiceAccount,
  Builtin.ClusterRole,
  Builtin.ClusterRoleBinding,
  Builtin.Role,
  Builtin.RoleBinding,
  Builtin.Deployment,
  Builtin.Service,
  Builtin.NetworkPolicy,
  admission("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
  admission("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
  ResourceType.make({
    group: "policy",
    version: "v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    scope: "Namespaced"
  }),
  Environment,
  EnvironmentTemplate,
  SharedComponent,
  SharedComponentProvider,
  Consumer,
  Shard
]

export interface Manifest extends KubeObject {
  readonly apiVersion: string
  readonly kind: string
}

export const objectsOf = (yaml: string): ReadonlyArray<Manifest> =>
  parseAllDocuments(yaml)
    .map((document): Manifest | null => document.toJSON())
    .filter((object) => object !== null)

/** None: of a kind that no API server has by itself. */
export const typeOf = (object: Manifest): Option.Option<ResourceType.ResourceType> =>
  Option.fromUndefinedOr(types.find((type) => ResourceType.matches(type, object)))

/** Each in its turn, as `kubectl apply --server-side` does. An unknown kind is a defect. */
export const apply = (objects: ReadonlyArray<Manifest>, options: { readonly dryRun?: boolean } = {}) =>
  Effect.forEach(
    objects,
    (object) => {
      const type = Option.getOrThrow(typeOf(object))
      return Client.use((client) => client.apply<KubeObject>(type, object, { force: true, ...options }))
    },
    { discard: true }
  )
