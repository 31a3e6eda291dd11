/** What the controllers ask of the API server beside their caches, by who asks. Where there is `apply`, there is `create`. */
import * as Access from "@berth/kube/Access"
import * as Builtin from "@berth/kube/Builtin"
import * as Application from "@berth/provisioners/Application"
import * as Manager from "@berth/provisioners/Manager"
import * as ObjectProvisioner from "@berth/provisioners/ObjectProvisioner"
import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
import * as Deployer from "../Deployer.ts"
import { Environment } from "../Environment.ts"
import { EnvironmentTemplate } from "../EnvironmentTemplate.ts"
import type { Settings } from "../Settings.ts"
import { SharedComponent } from "../SharedComponent.ts"
import { SharedComponentProvider } from "../SharedComponentProvider.ts"
import { Slice } from "../Slice.ts"

/** Everything about the kinds, and what is known of each shared component. */
const ofManagement = (namespace: string): ReadonlyArray<Access.Access> => {
  const managed = [Environment, EnvironmentTemplate, SharedComponent, SharedComponentProvider, Slice]
  return [
    ...managed.flatMap((kind) => Manager.access(kind, { namespace })),
    ...RemoteCluster.access({ namespace, kubeconfigs: namespace }),
    // EnvironmentExpiry.
    Access.to(Environment, ["delete"], { namespace }),
    // Reservations writes records, gives them up, and lists them where a cache may not know one yet.
    Access.to(Slice, ["list", "create", "delete"], { namespace }),
    // Ledger.
    Access.to(Builtin.ConfigMap, ["get", "create", "update", "delete"], { namespace }),
    // ProvisionLease; SharedComponents removes it.
    Access.to(Builtin.Lease, ["get", "create", "update", "delete"], { namespace }),
    // SliceSecrets keeps bindings, with a finalizer; Instance keeps backups.
    Access.to(Builtin.Secret, ["get", "list", "create", "update", "patch", "delete"], { namespace })
  ]
}

/** The Jobs, what they are told, and what they said last. */
const ofShared = (namespace: string): ReadonlyArray<Access.Access> => [
  Access.to(Builtin.Job, ["get", "list", "create", "delete"], { namespace }),
  Access.to(Builtin.Pod, ["list"], { namespace }),
  Access.to(Builtin.Secret, ["get", "list", "create", "delete"], { namespace })
]

/** The environments' namespaces, whose names nobody knows beforehand, the Secrets in them, and the charts. */
const ofEnvironments = (role: string): ReadonlyArray<Access.Access> => [
  ...ObjectProvisioner.access(Builtin.Namespace),
  Access.to(Builtin.Secret, ["get", "create", "update", "delete"]),
  ...Application.access({ account: { name: Deployer.name, role } })
]

export const all = ({
  deployerRole = Deployer.role,
  managementNamespace,
  sharedNamespace
}: Pick<
  Settings["Service"],
  "deployerRole" | "managementNamespace" | "sharedNamespace"
>): ReadonlyArray<Access.Access> => [
  ...ofManagement(managementNamespace),
  ...ofShared(sharedNamespace),
  ...ofEnvironments(deployerRole)
]
