import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, vi } from "@effect/vitest"
import { Cause, Data, Effect, Exit, Layer, Runtime, Stdio } from "effect"
import { Command, Flag } from "effect/cli"
import * as CommandLine from "../src/CommandLine.ts"

class Broken extends Data.TaggedError("Broken")<{}> {
  override get message() {
    return "it broke"
  }
}

const count = Command.make("count", { to: Flag.Int("to") }, ({ to }) => CommandLine.print(String(to)))
const fail = Command.make("fail", {}, () => CommandLine.toExit("shop")(Effect.fail(new Broken())))
const look = Command.make("look", { wrong: Flag.Boolean("wrong").pipe(Flag.withDefault(false)) }, ({ wrong }) =>
  Effect.fail(wrong ? new CommandLine.UsageError({ problem: "not like this" }) : new Broken()).pipe(
    CommandLine.toExit("shop", () => 3)
  )
)
const shop = Command.make("shop").pipe(Command.withSubcommands([count, fail, look]))

/** What the process would say, and its exit code. */
const called = (...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const said = { stdout: "", stderr: "" }
    const caught = (stream: keyof typeof said) => (text: string | Uint8Array, done?: unknown) => {
      said[stream] += String(text)
      if (typeof done === "function") done()
      return true
    }
    const spies = [
      vi.spyOn(process.stdout, "write").mockImplementation(caught("stdout")),
      vi.spyOn(process.stderr, "write").mockImplementation(caught("stderr")),
      vi.spyOn(console, "log").mockImplementation((text) => void caught("stdout")(`${text}\n`))
    ]
    yield* Effect.addFinalizer(() => Effect.sync(() => spies.forEach((spy) => spy.mockRestore())))
    const services = Layer.merge(NodeServices.layer, Stdio.layerTest({ args: Effect.succeed(args) }))
    const exit = yield* Effect.exit(
      Effect.provide(CommandLine.run(shop, { version: "1.0.0", exitCodes: { 3: "Nobody could look." } }), services)
    )
    return { ...said, code: Exit.isSuccess(exit) ? 0 : Runtime.getErrorExitCode(Cause.squash(exit.cause)) }
  }).pipe(Effect.scoped)

describe("CommandLine", () => {
  const wrong: ReadonlyArray<readonly [string, ReadonlyArray<string>, RegExp]> = [
    ["a flag that there is not", ["count", "--too", "1"], /^shop: [^\n]*--too[^\n]*; see shop count --help\n$/u],
    ["a value of another type", ["count", "--to", "one"], /^shop: [^\n]*--to[^\n]*; see shop count --help\n$/u],
    ["a flag that is missing", ["count"], /^shop: [^\n]*--to[^\n]*; see shop count --help\n$/u],
    ["a command that there is not", ["coutn"], /^shop: [^\n]*coutn[^\n]*; see shop --help\n$/u],
    ["what the command itself refuses", ["look", "--wrong"], /^shop: not like this\n$/u]
  ]
  it.live.each(wrong)("%s is a wrong call: one line on standard error, nothing on the other, and 2", ([, args, said]) =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* called(...args)

      assert.deepStrictEqual([code, stdout], [2, ""])
      assert.match(stderr, said)
    })
  )

  const ended: ReadonlyArray<readonly [string, ReadonlyArray<string>, number, string, string]> = [
    ["what is done ends with 0", ["count", "--to", "3"], 0, "3\n", ""],
    ["what failed ends with 1", ["fail"], 1, "", "shop: it broke\n"],
    ["a command may have a code of its own for that", ["look"], 3, "", "shop: it broke\n"],
    ["--version is no failure", ["--version"], 0, "shop v1.0.0\n", ""]
  ]
  it.live.each(ended)("%s", ([, args, code, stdout, stderr]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* called(...args), { code, stdout, stderr })
    })
  )

  it.live.each([{ args: ["--help"] }, { args: ["count", "--help"] }])(
    "the help of $args lists the exit codes",
    ({ args }) =>
      Effect.gen(function* () {
        const { code, stderr, stdout } = yield* called(...args)

        assert.deepStrictEqual([code, stderr], [0, ""])
        assert.match(stdout, /\n\nEXIT CODES\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}3 +Nobody could look\.\n {2}130 .*\n$/u)
      })
  )
})
