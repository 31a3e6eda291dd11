/**
 * Flags of a program's commands, each with a variable of the same name: those that every operator has, and makers of its own.
 *
 * **Details**: of a flag `--shared-namespace` and the prefix `SHOP` the variable is `SHOP_SHARED_NAMESPACE`. A flag goes over its
 * variable, and that over the default. These are in {@link Flags.program}:
 *
 * | flag | default | meaning |
 * |---|---|---|
 * | `--instance` | the host's name | of this process alone; in a Pod, the Pod's name |
 * | `--kubeconfig` | in-cluster, else as kubectl finds it | the cluster |
 * | `--context` | the current one | which context of the kubeconfig |
 * | `--listen` | `0.0.0.0:8080` | address and port of health and metrics; port 0 takes a free one |
 * | `--grace` | `20 seconds` | how long running reconciles may go on after SIGTERM |
 * | `--leader-elect` | `true` | of several replicas one acts; `false` only where there is never a second one |
 * | `--leader-elect-resource-name` | the program's name | the Lease that says which |
 * | `--leader-elect-lease-duration` | `15 seconds` | how long the others wait for a leader that is silent, 5 minutes at most |
 * | `--leader-elect-renew-deadline` | `10 seconds` | how long after its last renewal a leader acts; shorter than the lease duration |
 * | `--leader-elect-retry-period` | `2 seconds` | the time between renewals; half of the renew deadline at most |
 * | `--log-format` | `json` | `json`, or `text` for people |
 *
 * `effect/cli` adds `--log-level`.
 *
 * @since 0.1.0
 */
import { hostname } from "node:os"
import { Config, type Duration, Option, Schema } from "effect"
import * as Flag from "effect/cli/Flag"
import type { Listen } from "./HealthServer.ts"
import type { Settings } from "./Program.ts"

/**
 * Settings of a program, each of which has its value or its default.
 *
 * @category models
 * @since 0.1.0
 */
export interface Chosen extends Settings {
  readonly instance: string
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly listen: Listen
  readonly grace: Duration.Duration
  readonly leaderElect: boolean
  readonly leaderElectResourceName: string
  readonly leaderElectLeaseDuration: Duration.Duration
  readonly leaderElectRenewDeadline: Duration.Duration
  readonly leaderElectRetryPeriod: Duration.Duration
  readonly logFormat: "json" | "text"
}

/**
 * What to say of a flag in a command's help.
 *
 * @category models
 * @since 0.1.0
 */
export interface About {
  readonly fallback: string
  readonly description: string
}

/**
 * Flags whose variables have one prefix.
 *
 * @category models
 * @since 0.1.0
 */
export interface Flags {
  readonly text: (name: string, about: About) => Flag.Flag<string>
  /** What may be a label's value and an object's name: 63 lower-case letters, digits and hyphens at most. */
  readonly label: (name: string, about: About) => Flag.Flag<string>
  /** Such as `20 seconds`. */
  readonly duration: (name: string, about: About) => Flag.Flag<Duration.Duration>
  /** Such as `0.0.0.0:8080`, or `[::]:8080`. */
  readonly listen: (name: string, about: About) => Flag.Flag<Listen>
  /** Undefined where nothing is said; an empty variable says nothing. */
  readonly optional: (name: string, about: Pick<About, "description">) => Flag.Flag<string | undefined>
  readonly boolean: (
    name: string,
    about: { readonly fallback: boolean; readonly description: string }
  ) => Flag.Flag<boolean>
  /** One of several words. */
  readonly choice: <const Choices extends ReadonlyArray<string>>(
    name: string,
    choices: Choices,
    fallback: Choices[number]
  ) => Flag.Flag<Choices[number]>
  /** Those of every operator: what `Program.layer` takes as its settings. `name` is the program's. */
  readonly program: (name: string) => { readonly [K in keyof Chosen]: Flag.Flag<Chosen[K]> }
}

const label = Schema.String.check(
  Schema.isMaxLength(63),
  Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u, { message: "expected lower-case letters, digits and hyphens" })
)

/** None where the text is no address: an IPv6 host stands in brackets. */
const listenFrom = (text: string): Option.Option<Listen> => {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/u.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  return host === undefined || port > 65_535 ? Option.none() : Option.some({ host, port })
}

const makers = (prefix: string): Omit<Flags, "program"> => {
  const variableOf = (name: string): string => `${prefix}_${name.toUpperCase().replaceAll("-", "_")}`
  const text: Flags["text"] = (name, { description, fallback }) =>
    Flag.String(name).pipe(
      Flag.withDescription(`${description} Variable: ${variableOf(name)}. Default: ${fallback}.`),
      Flag.withFallbackConfig(Config.String(variableOf(name)).pipe(Config.withDefault(fallback)))
    )
  return {
    text,
    label: (name, about) => text(name, about).pipe(Flag.withSchema(label)),
    duration: (name, about) => text(name, about).pipe(Flag.withSchema(Schema.DurationFromString)),
    listen: (name, about) =>
      text(name, about).pipe(Flag.filterMap(listenFrom, () => "host:port, such as 0.0.0.0:8080 or [::]:8080")),
    optional: (name, { description }) =>
      Flag.String(name).pipe(
        Flag.withDescription(`${description} Variable: ${variableOf(name)}.`),
        Flag.withFallbackConfig(Config.String(variableOf(name))),
        Flag.optional,
        // A chart that has nothing to say sets an empty variable.
        Flag.map((given) => Option.getOrUndefined(Option.filter(given, (text) => text !== "")))
      ),
    boolean: (name, { description, fallback }) =>
      Flag.Boolean(name).pipe(
        Flag.withDescription(`${description} Variable: ${variableOf(name)}. Default: ${fallback}.`),
        Flag.withFallbackConfig(Config.Boolean(variableOf(name)).pipe(Config.withDefault(fallback)))
      ),
    choice: (name, choices, fallback) =>
      Flag.Literals(name, choices).pipe(
        Flag.withDescription(`One of ${choices.join(", ")}. Variable: ${variableOf(name)}. Default: ${fallback}.`),
        Flag.withFallbackConfig(
          Config.schema(Schema.Literals(choices), variableOf(name)).pipe(Config.withDefault(fallback))
        )
      )
  }
}

const program =
  ({ boolean, choice, duration, label, listen, optional, text }: Omit<Flags, "program">): Flags["program"] =>
  (name) => ({
    instance: text("instance", {
      fallback: hostname(),
      description: "Of this process alone, such as the Pod's name."
    }),
    kubeconfig: optional("kubeconfig", {
      description: "The cluster. In a Pod: this cluster. Elsewhere: as kubectl finds it."
    }),
    context: optional("context", { description: "Which context of the kubeconfig; its current one by default." }),
    listen: listen("listen", {
      fallback: "0.0.0.0:8080",
      description: "Address and port of /livez, /readyz and /metrics; port 0 takes a free one."
    }),
    grace: duration("grace", {
      fallback: "20 seconds",
      description: "How long running reconciles may go on after SIGTERM."
    }),
    leaderElect: boolean("leader-elect", { fallback: true, description: "Of several replicas one acts." }),
    leaderElectResourceName: label("leader-elect-resource-name", {
      fallback: name,
      description: "The Lease that says which replica acts."
    }),
    leaderElectLeaseDuration: duration("leader-elect-lease-duration", {
      fallback: "15 seconds",
      description: "How long the others wait for a leader that is silent."
    }),
    leaderElectRenewDeadline: duration("leader-elect-renew-deadline", {
      fallback: "10 seconds",
      description: "How long after its last renewal a leader acts."
    }),
    leaderElectRetryPeriod: duration("leader-elect-retry-period", {
      fallback: "2 seconds",
      description: "The time between renewals."
    }),
    logFormat: choice("log-format", ["json", "text"], "json")
  })

/**
 * Makes flags whose variables begin with this.
 *
 * **Example** (The command of an operator)
 * ```ts
 * import type { Controller } from "@berth/kube/Controller"
 * import * as CommandLine from "@berth/kube/CommandLine"
 * import * as Flags from "@berth/kube/Flags"
 * import * as Program from "@berth/kube/Program"
 * import { Effect } from "effect"
 * import { Command } from "effect/cli"
 *
 * const make = Flags.withPrefix("SHOP")
 * const flags = {
 *   namespace: make.label("namespace", { fallback: "shop", description: "Where the operator runs." }),
 *   ...make.program("shop-operator")
 * }
 *
 * export const command = (controllers: ReadonlyArray<Controller>) =>
 *   Command.make("run", flags, ({ namespace, ...settings }) =>
 *     Program.run({ leader: Program.controllers(controllers) }).pipe(
 *       Effect.provide(Program.layer({ name: "shop-operator", version: "1.0.0", namespace, settings })),
 *       CommandLine.toExit("shop")
 *     )
 *   )
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const withPrefix = (prefix: string): Flags => {
  const own = makers(prefix)
  return { ...own, program: program(own) }
}
