import { readFileSync } from "node:fs"
import { hostname } from "node:os"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect } from "effect"
import { CliOutput, Command } from "effect/cli"
import * as Flags from "../src/Flags.ts"
import type { Settings } from "../src/Program.ts"

const flags = Flags.withPrefix("SHOP").program("shop-operator")

/** What a command would make of these arguments and variables. */
const read = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>> = {}
) {
  let settings: Settings = {}
  const command = Command.make("run", flags, (given) => Effect.sync(() => void (settings = given)))
  yield* Command.runWith(command, { version: "0" })(args).pipe(
    Effect.provideService(CliOutput.Presenter, { present: () => Effect.void }),
    Effect.provide([NodeServices.layer, ConfigProvider.layer(ConfigProvider.fromUnknown(variables))])
  )
  return settings
})

/** The flags and defaults of the table in the module's comment. */
const documented = readFileSync(new URL("../src/Flags.ts", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line.startsWith(" * | `--"))
  .map((line) => line.split("|").map((cell) => cell.replaceAll("`", "").trim()))
  .map(([, flag = "", fallback = ""]) => ({ flag, fallback }))

const kebab = (key: string): string => `--${key.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`

const plain = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

const shown = (key: string, value: unknown): string => {
  if (key === "instance") return value === hostname() ? "the host's name" : plain(value)
  if (key === "kubeconfig") return value === undefined ? "in-cluster, else as kubectl finds it" : plain(value)
  if (key === "context") return value === undefined ? "the current one" : plain(value)
  if (key === "leaderElectResourceName") return value === "shop-operator" ? "the program's name" : plain(value)
  if (Duration.isDuration(value)) return `${Duration.toSeconds(value)} seconds`
  if (typeof value === "object" && value !== null && "port" in value && "host" in value)
    return `${plain(value.host)}:${plain(value.port)}`
  return plain(value)
}

describe("Flags", () => {
  it.effect("are those of the table, with its defaults", () =>
    Effect.gen(function* () {
      const settings = yield* read([])

      assert.deepStrictEqual(
        Object.entries(settings).map(([key, value]) => ({ flag: kebab(key), fallback: shown(key, value) })),
        documented
      )
    })
  )

  it.effect("have variables of the prefix and their name, which a flag goes over", () =>
    Effect.gen(function* () {
      const variables = {
        SHOP_LEADER_ELECT: "false",
        SHOP_LEADER_ELECT_RETRY_PERIOD: "3 seconds",
        SHOP_CONTEXT: "blue"
      }

      const byVariable = yield* read([], variables)
      const byFlag = yield* read(["--leader-elect", "--context", "green"], variables)

      assert.deepInclude(byVariable, { leaderElect: false, context: "blue" })
      assert.deepInclude(byFlag, { leaderElect: true, context: "green" })
      assert.strictEqual(Duration.toSeconds(byVariable.leaderElectRetryPeriod ?? 0), 3)
    })
  )

  it.effect("take an IPv6 address in brackets", () =>
    Effect.gen(function* () {
      const { listen } = yield* read(["--listen=[::1]:8080"])

      assert.deepStrictEqual(listen, { host: "::1", port: 8080 })
    })
  )

  it.effect("take an empty variable of what is optional for none", () =>
    Effect.gen(function* () {
      const settings = yield* read([], { SHOP_KUBECONFIG: "", SHOP_CONTEXT: "" })

      assert.deepInclude(settings, { kubeconfig: undefined, context: undefined })
    })
  )
})
