/**
 * What the operator can be told, by flags or by environment variables. A flag goes over its variable.
 *
 * **Details**
 * | flag | variable | default | meaning |
 * |---|---|---|---|
 * | `--management-namespace` | `BERTH_MANAGEMENT_NAMESPACE` | `berth-system` | where the kinds, Leases, ledgers and kept bindings are |
 * | `--shared-namespace` | `BERTH_SHARED_NAMESPACE` | `berth-shared` | where instances' Secrets are and Jobs run |
 * | `--deployment` | `BERTH_DEPLOYMENT` | `berth-operator` | the same for every replica of this installation |
 * | `--cd-driver` | `BERTH_CD_DRIVER` | `helm` | what deploys charts: `helm`, `flux` or `argocd` |
 * | `--helm` | `BERTH_HELM` | `helm` | the program helm, 3.18 or newer: its name or path |
 * | `--flux-namespace` | `BERTH_FLUX_NAMESPACE` | `flux-system` | where HelmReleases and their sources are |
 * | `--argocd-namespace` | `BERTH_ARGOCD_NAMESPACE` | `argocd` | Argo CD's own namespace |
 * | `--argocd-inline-secrets` | `BERTH_ARGOCD_INLINE_SECRETS` | `false` | puts secret values into Applications, where whoever may read those reads them; without it charts that have any are refused |
 * | `--deployer-role` | `BERTH_DEPLOYER_ROLE` | `berth-deployer` | the ClusterRole that charts have in their namespace |
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
import * as Deployer from "@berth/shared-components/Deployer"

/**
 * @category models
 * @since 0.1.0
 */
export interface Configuration extends Flags.Chosen {
  readonly managementNamespace: string
  readonly sharedNamespace: string
  readonly deployment: string
  readonly cdDriver: CdDriverName
  readonly helm: string
  readonly fluxNamespace: string
  readonly argocdNamespace: string
  readonly argocdInlineSecrets: boolean
  readonly deployerRole: string
}

const cdDrivers = ["helm", "flux", "argocd"] as const
/**
 * @category models
 * @since 0.1.0
 */
export type CdDriverName = (typeof cdDrivers)[number]

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
  cdDriver: make.choice("cd-driver", cdDrivers, "helm"),
  helm: make.text("helm", { fallback: "helm", description: "The program helm: its name or path." }),
  fluxNamespace: make.label("flux-namespace", {
    fallback: "flux-system",
    description: "Where HelmReleases and their sources are."
  }),
  argocdNamespace: make.label("argocd-namespace", { fallback: "argocd", description: "Argo CD's own namespace." }),
  argocdInlineSecrets: make.boolean("argocd-inline-secrets", {
    fallback: false,
    description: "Puts secret values into Applications, where whoever may read those reads them."
  }),
  deployerRole: make.text("deployer-role", {
    fallback: Deployer.role,
    description: "The ClusterRole that charts have in their namespace."
  }),
  ...make.program("berth-operator")
}

const { context, kubeconfig, managementNamespace, sharedNamespace } = flags
/**
 * The flags of commands that look at what the operator does: which cluster, and where there.
 *
 * @category flags
 * @since 0.1.0
 */
export const cluster = { managementNamespace, sharedNamespace, kubeconfig, context }
