/**
 * What the operator can be told, by flags or by environment variables. A flag goes over its variable.
 *
 * **Details**
 * | flag | variable | default | meaning |
 * |---|---|---|---|
 * | `--management-namespace` | `BERTH_MANAGEMENT_NAMESPACE` | `berth-system` | where the kinds, Leases, ledgers and kept bindings are |
 * | `--shared-namespace` | `BERTH_SHARED_NAMESPACE` | `berth-shared` | where instances' Secrets are and Jobs run |
 * | `--deployment` | `BERTH_DEPLOYMENT` | `berth-operator` | the same for every replica of this installation |
 * | `--instance` | `BERTH_INSTANCE` | the host's name | of this process alone; in a Pod, the Pod's name |
 * | `--kubeconfig` | `BERTH_KUBECONFIG` | in-cluster, else as kubectl finds it | the cluster |
 * | `--context` | `BERTH_CONTEXT` | the current one | which context of the kubeconfig |
 * | `--listen` | `BERTH_LISTEN` | `0.0.0.0:8080` | address and port of health and metrics; port 0 takes a free one |
 * | `--grace` | `BERTH_GRACE` | `20 seconds` | how long running reconciles may go on after SIGTERM |
 * | `--leader-elect` | `BERTH_LEADER_ELECT` | `true` | of several replicas one acts; `false` only where there is never a second one |
 * | `--leader-elect-resource-name` | `BERTH_LEADER_ELECT_RESOURCE_NAME` | `berth-operator` | the Lease in the management namespace that says which |
 * | `--leader-elect-lease-duration` | `BERTH_LEADER_ELECT_LEASE_DURATION` | `15 seconds` | how long the others wait for a leader that is silent, 5 minutes at most |
 * | `--leader-elect-renew-deadline` | `BERTH_LEADER_ELECT_RENEW_DEADLINE` | `10 seconds` | how long after its last renewal a leader acts; shorter than the lease duration |
 * | `--leader-elect-retry-period` | `BERTH_LEADER_ELECT_RETRY_PERIOD` | `2 seconds` | the time between renewals; half of the renew deadline at most |
 * | `--log-level` | | `info` | what is logged: `debug`, `info`, `warn`, `error` and others; every `berth` command has it |
 * | `--log-format` | `BERTH_LOG_FORMAT` | `json` | `json`, or `text` for people |
 *
 * @since 0.1.0
 */
import * as Flags from "@berth/kube/Flags"

/**
 * @category models
 * @since 0.1.0
 */
export interface Configuration extends Flags.Chosen {
  readonly managementNamespace: string
  readonly sharedNamespace: string
  readonly deployment: string
}

const make = Flags.withPrefix("BERTH")

/**
 * The flags of `berth run`.
 *
 * @category flags
 * @since 0.1.0
 */
export const flags = {
  managementNamespace: make.label("management-namespace", {
    fallback: "berth-system",
    description: "Where the kinds, Leases, ledgers and kept bindings are."
  }),
  sharedNamespace: make.label("shared-namespace", {
    fallback: "berth-shared",
    description: "Where instances' Secrets are and Jobs run."
  }),
  deployment: make.label("deployment", {
    fallback: "berth-operator",
    description: "The same for every replica and restart of this installation."
  }),
  ...make.program("berth-operator")
}
