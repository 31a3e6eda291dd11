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
import { hostname } from "node:os"
import { Config, type Duration, Option, Schema } from "effect"
import { Flag } from "effect/cli"

/**
 * @category models
 * @since 0.1.0
 */
export interface Configuration {
  readonly managementNamespace: string
  readonly sharedNamespace: string
  readonly deployment: string
  readonly instance: string
  readonly kubeconfig: Option.Option<string>
  readonly context: Option.Option<string>
  readonly listen: Listen
  readonly grace: Duration.Duration
  readonly leaderElect: boolean
  readonly leaderElectResourceName: string
  readonly leaderElectLeaseDuration: Duration.Duration
  readonly leaderElectRenewDeadline: Duration.Duration
  readonly leaderElectRetryPeriod: Duration.Duration
  readonly logFormat: LogFormat
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Listen {
  readonly host: string
  readonly port: number
}

const formats = ["json", "text"] as const
/**
 * @category models
 * @since 0.1.0
 */
export type LogFormat = (typeof formats)[number]

const label = Schema.String.check(
  Schema.isMaxLength(63),
  Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u, { message: "expected lower-case letters, digits and hyphens" })
)

const flag = (name: string, variable: string, fallback: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(`${description} Variable: ${variable}. Default: ${fallback}.`),
    Flag.withFallbackConfig(Config.String(variable).pipe(Config.withDefault(fallback)))
  )

const duration = (name: string, variable: string, fallback: string, description: string) =>
  flag(name, variable, fallback, description).pipe(Flag.withSchema(Schema.DurationFromString))

const optional = (name: string, variable: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(`${description} Variable: ${variable}.`),
    Flag.withFallbackConfig(Config.String(variable)),
    Flag.optional,
    // A chart that has nothing to say sets an empty variable.
    Flag.map(Option.filter((text) => text !== ""))
  )

const choice = <const Choices extends ReadonlyArray<string>>(
  name: string,
  variable: string,
  choices: Choices,
  fallback: Choices[number]
) =>
  Flag.Literals(name, choices).pipe(
    Flag.withDescription(`One of ${choices.join(", ")}. Variable: ${variable}. Default: ${fallback}.`),
    Flag.withFallbackConfig(Config.schema(Schema.Literals(choices), variable).pipe(Config.withDefault(fallback)))
  )

/** Undefined where the text is no address: an IPv6 host stands in brackets. */
const listenFrom = (text: string): Option.Option<Listen> => {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/u.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  return host === undefined || port > 65_535 ? Option.none() : Option.some({ host, port })
}

/**
 * The flags of `berth run`.
 *
 * @category flags
 * @since 0.1.0
 */
export const flags = {
  managementNamespace: flag(
    "management-namespace",
    "BERTH_MANAGEMENT_NAMESPACE",
    "berth-system",
    "Where the kinds, Leases, ledgers and kept bindings are."
  ).pipe(Flag.withSchema(label)),
  sharedNamespace: flag(
    "shared-namespace",
    "BERTH_SHARED_NAMESPACE",
    "berth-shared",
    "Where instances' Secrets are and Jobs run."
  ).pipe(Flag.withSchema(label)),
  deployment: flag(
    "deployment",
    "BERTH_DEPLOYMENT",
    "berth-operator",
    "The same for every replica and restart of this installation."
  ).pipe(Flag.withSchema(label)),
  instance: flag("instance", "BERTH_INSTANCE", hostname(), "Of this process alone, such as the Pod's name."),
  kubeconfig: optional(
    "kubeconfig",
    "BERTH_KUBECONFIG",
    "The cluster. In a Pod: this cluster. Elsewhere: as kubectl finds it."
  ),
  context: optional("context", "BERTH_CONTEXT", "Which context of the kubeconfig; its current one by default."),
  listen: flag(
    "listen",
    "BERTH_LISTEN",
    "0.0.0.0:8080",
    "Address and port of /livez, /readyz and /metrics; port 0 takes a free one."
  ).pipe(Flag.filterMap(listenFrom, () => "host:port, such as 0.0.0.0:8080 or [::]:8080")),
  grace: duration("grace", "BERTH_GRACE", "20 seconds", "How long running reconciles may go on after SIGTERM."),
  leaderElect: Flag.Boolean("leader-elect").pipe(
    Flag.withDescription("Of several replicas one acts. Variable: BERTH_LEADER_ELECT. Default: true."),
    Flag.withFallbackConfig(Config.Boolean("BERTH_LEADER_ELECT").pipe(Config.withDefault(true)))
  ),
  leaderElectResourceName: flag(
    "leader-elect-resource-name",
    "BERTH_LEADER_ELECT_RESOURCE_NAME",
    "berth-operator",
    "The Lease in the management namespace that says which replica acts."
  ).pipe(Flag.withSchema(label)),
  leaderElectLeaseDuration: duration(
    "leader-elect-lease-duration",
    "BERTH_LEADER_ELECT_LEASE_DURATION",
    "15 seconds",
    "How long the others wait for a leader that is silent."
  ),
  leaderElectRenewDeadline: duration(
    "leader-elect-renew-deadline",
    "BERTH_LEADER_ELECT_RENEW_DEADLINE",
    "10 seconds",
    "How long after its last renewal a leader acts."
  ),
  leaderElectRetryPeriod: duration(
    "leader-elect-retry-period",
    "BERTH_LEADER_ELECT_RETRY_PERIOD",
    "2 seconds",
    "The time between renewals."
  ),
  logFormat: choice("log-format", "BERTH_LOG_FORMAT", formats, "json")
}
