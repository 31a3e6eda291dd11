/**
 * What the provider can be told, by flags or by environment variables. A flag goes over its variable.
 *
 * **Details**
 * | flag | variable | default | meaning |
 * |---|---|---|---|
 * | `--namespace` | `BERTH_DB_NAMESPACE` | `berth-db` | the release namespace: records, Secrets, ledgers and the Lease |
 * | `--api-listen` | `BERTH_DB_API_LISTEN` | `0.0.0.0:8443` | address and port of the API, by TLS; port 0 takes a free one |
 * | `--tls-certificate` | `BERTH_DB_TLS_CERTIFICATE` | `/etc/berth-db-provider/tls/tls.crt` | the API's certificate chain, as PEM; read again when it changes |
 * | `--tls-key` | `BERTH_DB_TLS_KEY` | `/etc/berth-db-provider/tls/tls.key` | its key, as PEM |
 * | `--drain` | `BERTH_DB_DRAIN` | `5 seconds` | how long the API goes on taking requests after SIGTERM, until nobody is sent here any more |
 * | `--audit-file` | `BERTH_DB_AUDIT_FILE` | standard output | where audit events go to, a line of JSON each |
 * | `--instance` | `BERTH_DB_INSTANCE` | the host's name | of this process alone; in a Pod, the Pod's name |
 * | `--kubeconfig` | `BERTH_DB_KUBECONFIG` | in-cluster, else as kubectl finds it | the cluster |
 * | `--context` | `BERTH_DB_CONTEXT` | the current one | which context of the kubeconfig |
 * | `--listen` | `BERTH_DB_LISTEN` | `0.0.0.0:8080` | address and port of health and metrics; port 0 takes a free one |
 * | `--grace` | `BERTH_DB_GRACE` | `20 seconds` | how long running reconciles may go on after SIGTERM |
 * | `--leader-elect` | `BERTH_DB_LEADER_ELECT` | `true` | of several replicas one acts; `false` only where there is never a second one |
 * | `--leader-elect-resource-name` | `BERTH_DB_LEADER_ELECT_RESOURCE_NAME` | `berth-db-provider` | the Lease in the release namespace that says which |
 * | `--leader-elect-lease-duration` | `BERTH_DB_LEADER_ELECT_LEASE_DURATION` | `15 seconds` | how long the others wait for a leader that is silent, 5 minutes at most |
 * | `--leader-elect-renew-deadline` | `BERTH_DB_LEADER_ELECT_RENEW_DEADLINE` | `10 seconds` | how long after its last renewal a leader acts; shorter than the lease duration |
 * | `--leader-elect-retry-period` | `BERTH_DB_LEADER_ELECT_RETRY_PERIOD` | `2 seconds` | the time between renewals; half of the renew deadline at most |
 * | `--log-level` | | `info` | what is logged: `debug`, `info`, `warn`, `error` and others; every `berth-db-provider` command has it |
 * | `--log-format` | `BERTH_DB_LOG_FORMAT` | `json` | `json`, or `text` for people |
 *
 * @since 0.1.0
 */
import * as Flags from "@berth/kube/Flags"
import type { Listen } from "@berth/kube/HealthServer"
import type { Duration } from "effect"

/**
 * @category models
 * @since 0.1.0
 */
export interface Configuration extends Flags.Chosen {
  readonly namespace: string
  readonly apiListen: Listen
  readonly tlsCertificate: string
  readonly tlsKey: string
  readonly drain: Duration.Duration
  readonly auditFile: string | undefined
}

const make = Flags.withPrefix("BERTH_DB")
const { context, kubeconfig, ...program } = make.program("berth-db-provider")

/**
 * Which cluster, and where in it: those of every command.
 *
 * @category flags
 * @since 0.1.0
 */
export const place = {
  namespace: make.label("namespace", {
    fallback: "berth-db",
    description: "The release namespace: records, Secrets, ledgers and the Lease."
  }),
  kubeconfig,
  context
}

/**
 * The flags of `berth-db-provider run`.
 *
 * @category flags
 * @since 0.1.0
 */
export const flags = {
  ...place,
  apiListen: make.listen("api-listen", {
    fallback: "0.0.0.0:8443",
    description: "Address and port of the API, by TLS; port 0 takes a free one."
  }),
  tlsCertificate: make.text("tls-certificate", {
    fallback: "/etc/berth-db-provider/tls/tls.crt",
    description: "The API's certificate chain, as PEM; read again when it changes."
  }),
  tlsKey: make.text("tls-key", {
    fallback: "/etc/berth-db-provider/tls/tls.key",
    description: "Its key, as PEM."
  }),
  drain: make.duration("drain", {
    fallback: "5 seconds",
    description: "How long the API goes on taking requests after SIGTERM, until nobody is sent here any more."
  }),
  auditFile: make.optional("audit-file", {
    description: "Where audit events go to, a line of JSON each. Default: standard output."
  }),
  ...program
}
