import { readFileSync } from "node:fs"
import { hostname } from "node:os"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect } from "effect"
import { CliOutput, Command } from "effect/cli"
import { type Configuration, flags } from "../src/Configuration.ts"

/** What `berth run` would make of these arguments and variables; or the sentences that it refuses them with. */
const read = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>> = {}
) {
  let configuration: Configuration | undefined
  const command = Command.make("run", flags, (given) => Effect.sync(() => void (configuration = given)))
  const refused = yield* Command.runWith(command, { version: "0" })(args).pipe(
    Effect.as(""),
    Effect.catch((error) => Effect.succeed(sentences(error))),
    Effect.provideService(CliOutput.Presenter, silent),
    Effect.provide([NodeServices.layer, ConfigProvider.layer(ConfigProvider.fromUnknown(variables))])
  )
  return { configuration, refused }
})

const silent = { present: () => Effect.void }

const sentences = (error: { readonly message: string }): string =>
  "errors" in error && Array.isArray(error.errors) ? error.errors.map(String).join("\n") : error.message

/** The rows of the table in the module's comment. */
const documented = readFileSync(new URL("../src/Configuration.ts", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line.startsWith(" * | `--"))
  .map((line) => line.split("|").map((cell) => cell.replaceAll("`", "").trim()))
  .map(([, flag = "", variable = "", fallback = "", meaning = ""]) => ({ flag, variable, fallback, meaning }))

type Key = keyof Configuration
const kebab = (key: string): string => `--${key.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`
const plain = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))
const shown = (value: unknown): string => {
  if (value === undefined) return "none"
  if (Duration.isDuration(value)) return `${Duration.toSeconds(value)} seconds`
  if (typeof value === "object" && value !== null && "port" in value && "host" in value)
    return `${plain(value.host)}:${plain(value.port)}`
  return plain(value)
}

/** For each setting another value than its default, and a third. */
const samples: Record<Key, readonly [string, string]> = {
  managementNamespace: ["platform", "other"],
  sharedNamespace: ["pool", "other"],
  deployment: ["berth-blue", "other"],
  cdDriver: ["flux", "argocd"],
  helm: ["/opt/helm", "helm4"],
  fluxNamespace: ["flux", "other"],
  argocdNamespace: ["cd", "other"],
  argocdInlineSecrets: ["true", "false"],
  deployerRole: ["small", "admin"],
  instance: ["berth-0", "berth-1"],
  kubeconfig: ["/etc/kubeconfig", "/other"],
  context: ["staging", "other"],
  listen: ["127.0.0.1:9090", "127.0.0.1:0"],
  grace: ["5 seconds", "0 seconds"],
  leaderElect: ["false", "true"],
  leaderElectResourceName: ["blue", "green"],
  leaderElectLeaseDuration: ["60 seconds", "30 seconds"],
  leaderElectRenewDeadline: ["40 seconds", "20 seconds"],
  leaderElectRetryPeriod: ["5 seconds", "1 seconds"],
  logFormat: ["text", "json"]
}
const isKey = (key: string): key is Key => key in samples
const settings = Object.keys(flags).filter(isKey)
/** Said in words in the table. */
const defaults: Partial<Record<Key, string>> = { instance: hostname(), kubeconfig: "none", context: "none" }

describe("Configuration", () => {
  it("documents every flag, and no other", () => {
    assert.deepStrictEqual(
      documented.map(({ flag }) => flag).toSorted(),
      [...settings.map(kebab), "--log-level"].toSorted()
    )
  })

  it.effect.each(settings)("takes %s from its flag, its variable, its default, in this order", (key) =>
    Effect.gen(function* () {
      const row = documented.find(({ flag }) => flag === kebab(key))
      const [one, other] = samples[key]
      const variables = { [row?.variable ?? ""]: one }

      const absent = yield* read([])
      const byVariable = yield* read([], variables)
      const byFlag = yield* read([`${kebab(key)}=${other}`], variables)

      assert.strictEqual(shown(absent.configuration?.[key]), defaults[key] ?? row?.fallback)
      assert.strictEqual(shown(byVariable.configuration?.[key]), one)
      assert.strictEqual(shown(byFlag.configuration?.[key]), other)
    })
  )

  const wrong: ReadonlyArray<readonly [Key, string, RegExp]> = [
    ["managementNamespace", "Not_A_Name", /lower-case letters, digits and hyphens/u],
    ["sharedNamespace", "a".repeat(64), /63/u],
    ["deployment", "-x", /lower-case letters, digits and hyphens/u],
    ["cdDriver", "kubectl", /helm|flux|argocd/u],
    ["fluxNamespace", "Flux", /lower-case letters, digits and hyphens/u],
    ["listen", "8080", /host:port, such as 0\.0\.0\.0:8080/u],
    ["listen", "0.0.0.0:65536", /host:port/u],
    ["listen", "::1:8080", /host:port/u],
    ["grace", "soon", /soon/u],
    ["leaderElect", "maybe", /"true" \| "yes"/u],
    ["leaderElectResourceName", "A_B", /lower-case letters, digits and hyphens/u],
    ["leaderElectLeaseDuration", "long", /long/u],
    ["logFormat", "xml", /"json" \| "text"|json, text/u]
  ]
  it.effect.each(wrong)("refuses a %s of %s in a sentence, by flag and by variable", ([key, value, expected]) =>
    Effect.gen(function* () {
      const variable = documented.find(({ flag }) => flag === kebab(key))?.variable ?? ""

      const byFlag = yield* read([`${kebab(key)}=${value}`])
      const byVariable = yield* read([], { [variable]: value })

      for (const { configuration, refused } of [byFlag, byVariable]) {
        assert.isUndefined(configuration)
        assert.match(refused, expected)
        assert.include(refused, kebab(key))
      }
    })
  )

  it.effect("knows no flag that is not in the table", () =>
    Effect.gen(function* () {
      const { refused } = yield* read(["--namespace=x"])

      assert.match(refused, /--namespace/u)
    })
  )
})
