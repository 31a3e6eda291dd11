import { readFileSync } from "node:fs"
import { hostname } from "node:os"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect } from "effect"
import { CliOutput, Command } from "effect/cli"
import { type Configuration, flags } from "../src/Configuration.ts"

/** What `berth-db-provider run` would make of these arguments and variables. */
const read = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>> = {}
) {
  let configuration: Configuration | undefined
  const command = Command.make("run", flags, (given) => Effect.sync(() => void (configuration = given)))
  yield* Command.runWith(command, { version: "0" })(args).pipe(
    Effect.provideService(CliOutput.Presenter, { present: () => Effect.void }),
    Effect.provide([NodeServices.layer, ConfigProvider.layer(ConfigProvider.fromUnknown(variables))])
  )
  return configuration
})

/** The rows of the table in the module's comment. */
const documented = readFileSync(new URL("../src/Configuration.ts", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line.startsWith(" * | `--"))
  .map((line) => line.split("|").map((cell) => cell.replaceAll("`", "").trim()))
  .map(([, flag = "", variable = "", fallback = ""]) => ({ flag, variable, fallback }))

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
  namespace: ["databases", "other"],
  kubeconfig: ["/etc/kubeconfig", "/other"],
  context: ["staging", "other"],
  apiListen: ["127.0.0.1:9443", "127.0.0.1:0"],
  tlsCertificate: ["/tls/crt", "/other/crt"],
  tlsKey: ["/tls/key", "/other/key"],
  drain: ["1 seconds", "0 seconds"],
  auditFile: ["/var/log/audit", "/other"],
  instance: ["provider-0", "provider-1"],
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
const defaults: Partial<Record<Key, string>> = {
  instance: hostname(),
  kubeconfig: "none",
  context: "none",
  auditFile: "none"
}

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

      assert.strictEqual(shown(absent?.[key]), defaults[key] ?? row?.fallback)
      assert.strictEqual(shown(byVariable?.[key]), one)
      assert.strictEqual(shown(byFlag?.[key]), other)
    })
  )
})
