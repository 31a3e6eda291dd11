/** What a newcomer does and sees: the first command, its claims, its errors, and that nothing is left of it. */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Terminal from "../../examples/quickstart/test/support/terminal.ts"
import * as Quickstart from "./support/quickstart.ts"

/** Slow machines, and the other tests beside it, need their time. */
const patience = 300_000
/** What ends by itself has ended when npm has; only shells that wait for a pipe's end need a moment. */
const moment = "5 seconds"

/** The lines that have to be there, in this order; others may stand between them. */
const inOrder = (output: string, wanted: ReadonlyArray<string | RegExp>): void => {
  let rest = output.split("\n")
  for (const each of wanted) {
    const at = rest.findIndex((line) => (typeof each === "string" ? line.includes(each) : each.test(line)))
    assert.isAtLeast(at, 0, `${String(each)} is not in:\n${output}`)
    rest = rest.slice(at)
  }
}

const operatorLog = fileURLToPath(new URL("../../examples/quickstart/operator.log", import.meta.url))

/** The acts of the story, as plain lines. */
const acts = [
  "Berth quickstart: environments that share one PostgreSQL",
  "done: start an embedded Kubernetes API and a PostgreSQL",
  "done: apply the kinds, the namespaces and the admin's Secret",
  "done: start the operator",
  "done: apply the provider, its instance, the template and two environments",
  "done: each environment gets a database and a login, made by a Job",
  "done: each binding logs in and writes",
  "PostgreSQL says 42501: permission denied for database",
  "done: the login of feature-a is refused at the database of feature-b",
  "slice of feature-c: number 1 in line",
  "done: a third environment waits, since maxConsumers is 2",
  "slice of feature-c: Bound",
  "done: feature-a is deleted, and feature-c gets its place",
  "done: the database and the login of feature-a are gone from the server",
  "done: the binding of feature-c logs in and writes",
  "done: a database provider gets a server, and the operator a token for it",
  "done: the template gets orders: a database of the provider each, without a Job",
  "done: each new binding logs in and writes, and is refused at the other's",
  /^All of it took \d+\.\d seconds: two places, three environments, one PostgreSQL\.$/u,
  `The operator's log is ${operatorLog}`,
  "npm run quickstart -- --keep"
]

const stopped = { code: 130, signal: null }

describe("npm run quickstart", () => {
  it.live(
    "T11: tells its story in plain lines, proves what it claims and leaves nothing",
    () =>
      Effect.gen(function* () {
        const quickstart = yield* Quickstart.start()
        yield* quickstart.says("PostgreSQL is on port")
        const during = yield* quickstart.left

        const { code } = yield* quickstart.ended

        assert.strictEqual(code, 0, quickstart.output() + quickstart.errors())
        inOrder(quickstart.output(), acts)
        for (const name of ["feature-a", "feature-b"]) {
          inOrder(quickstart.output(), [`slice of ${name}: Bound`, `environment ${name}: Ready`])
        }
        inOrder(quickstart.output(), [
          "environment feature-a: Terminating",
          "slice of feature-a: gone",
          "environment feature-a: gone"
        ])
        assert.notInclude(quickstart.output(), "\u001b")
        assert.notMatch(quickstart.output(), /failed|stopped/u)
        inOrder(readFileSync(operatorLog, "utf8"), [
          "started: ",
          "patch environments.berth.dev berth-system/feature-c",
          "stopping"
        ])
        // What is looked for afterwards was there: the processes, the folders and the port.
        inOrder(during.join("\n"), [/^process /u])
        inOrder(during.join("\n"), [/^file berth-postgres/u])
        inOrder(during.join("\n"), [/^port /u])
        yield* quickstart.gone(moment)
      }),
    patience
  )

  it.live(
    "T11: Ctrl-C while PostgreSQL starts leaves nothing",
    () =>
      Effect.gen(function* () {
        const quickstart = yield* Quickstart.start()
        yield* Quickstart.makes(quickstart, "berth-postgres")

        yield* quickstart.signal("SIGINT", "group")

        assert.deepStrictEqual(yield* quickstart.ended, stopped)
        inOrder(quickstart.output(), [
          "stopped: start an embedded Kubernetes API and a PostgreSQL",
          /^Stopped\. Everything is removed\.$/u
        ])
        yield* quickstart.gone(moment)
      }),
    patience
  )

  it.live(
    "T11: an end that npm is asked for while the Jobs run leaves nothing",
    () =>
      Effect.gen(function* () {
        const quickstart = yield* Quickstart.start()
        yield* quickstart.says(/slice of feature-[ab]: Provisioning/u)

        yield* quickstart.signal("SIGTERM", "npm")

        assert.deepStrictEqual(yield* quickstart.ended, stopped)
        inOrder(quickstart.output(), ["stopped: each environment gets a database and a login, made by a Job"])
        yield* quickstart.gone(moment)
      }),
    patience
  )

  it.live(
    "T11: killed while the Jobs run, by a signal that nobody can catch, it leaves nothing for long",
    () =>
      Effect.gen(function* () {
        const quickstart = yield* Quickstart.start()
        yield* quickstart.says(/slice of feature-[ab]: Provisioning/u)

        yield* quickstart.signal("SIGKILL", "group")

        yield* quickstart.ended
        yield* quickstart.gone("20 seconds")
      }),
    patience
  )

  it.live(
    "T11: when the operator dies, it says so and where the log is, and leaves nothing",
    () =>
      Effect.gen(function* () {
        const quickstart = yield* Quickstart.start()
        yield* quickstart.says("done: start the operator")

        yield* quickstart.killOperator

        assert.strictEqual((yield* quickstart.ended).code, 1)
        inOrder(quickstart.errors(), [
          "The quickstart failed: The operator was killed by signal 9. Its last words:",
          "Run it again. If it ends again, see its last words above, or who sent it the signal.",
          `The operator's log is ${operatorLog}`
        ])
        yield* quickstart.gone(moment)
      }),
    patience
  )

  it.live(
    "T11: when npm is killed, it ends as well",
    () =>
      Effect.gen(function* () {
        const quickstart = yield* Quickstart.start()
        yield* quickstart.says("done: start an embedded Kubernetes API")

        yield* quickstart.signal("SIGKILL", "npm")

        yield* quickstart.gone("20 seconds")
        assert.notInclude(quickstart.output(), "All of it took")
      }),
    patience
  )

  it.live(
    "T11: when nobody reads what it says any more, it ends and leaves nothing",
    () =>
      Effect.gen(function* () {
        const quickstart = yield* Quickstart.start({
          command: ["/bin/sh", "-c", "npm run quickstart | head -n 6"]
        })

        yield* quickstart.ended

        inOrder(quickstart.output(), ["Berth quickstart"])
        yield* quickstart.gone("20 seconds")
      }),
    patience
  )
})

const script = ["/usr/bin/script", "/bin/script"].find((path) => existsSync(path))
if (script === undefined) console.warn("There is no `script` here: the timeline is not tried on a pseudo-terminal.")

describe.runIf(script !== undefined)("npm run quickstart, on a terminal", () => {
  it.live(
    "T11: draws the story within 80 columns; Ctrl-C in the third act gives the cursor back and leaves nothing",
    () =>
      Effect.gen(function* () {
        const line = "stty cols 80 rows 24; exec npm run quickstart"
        const quickstart = yield* Quickstart.start({ command: [script ?? "", "-qec", line, "/dev/null"] })
        yield* quickstart.says("environment feature-a  Terminating")

        yield* quickstart.type("\u0003")

        assert.deepStrictEqual(yield* quickstart.ended, stopped)
        const { isCursorVisible, isStyled, lines, unknown, widest } = Terminal.show(quickstart.output())
        assert.deepStrictEqual(unknown, [])
        assert.isTrue(isCursorVisible)
        assert.isTrue(isStyled)
        assert.isAtMost(widest, 80)
        const text = lines.join("\n")
        inOrder(text, [
          "✔ start an embedded Kubernetes API and a PostgreSQL",
          "✔ start the operator",
          "✔ each environment gets a database and a login, made by a Job",
          // Where it had to stand in line, too, this takes two lines.
          /^ {4}slice of feature-a +\S/u,
          /→ Bound$/u,
          "✔ a third environment waits, since maxConsumers is 2",
          "■ feature-a is deleted, and feature-c gets its place"
        ])
        assert.notMatch(text, /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/u)
        yield* quickstart.gone(moment)
      }),
    patience
  )
})

const unreachable = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "a", cluster: { server: "http://127.0.0.1:1" } }],
  users: [{ name: "a", user: {} }],
  contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
  "current-context": "a"
})

describe.concurrent("npm run quickstart, when something is wrong", () => {
  const failing = (name: string, options: Quickstart.Options, says: ReadonlyArray<string | RegExp>) =>
    it.live(
      `says what failed and what to do: ${name}`,
      () =>
        Effect.gen(function* () {
          const quickstart = yield* Quickstart.start(options)

          assert.deepStrictEqual(yield* quickstart.ended, { code: 1, signal: null })

          inOrder(quickstart.errors(), says)
          // Places in the code are for its authors.
          assert.notMatch(quickstart.errors(), /\n\s+at /u)
          yield* quickstart.gone(moment)
        }),
      patience
    )

  failing("a URL that is none of PostgreSQL's", { env: { BERTH_TEST_POSTGRES_URL: "localhost:5432" } }, [
    "The quickstart failed: BERTH_TEST_POSTGRES_URL must look like postgres://superuser:password@host:port/database."
  ])
  failing("a PostgreSQL that is not there", { env: { BERTH_TEST_POSTGRES_URL: "postgres://a:b@127.0.0.1:1/c" } }, [
    /^The quickstart failed: PostgreSQL at 127\.0\.0\.1:1 .*ECONNREFUSED.*check BERTH_TEST_POSTGRES_URL/u
  ])
  failing("a kubeconfig that is not there", { args: ["--kubeconfig", "/nonexistent/kubeconfig"] }, [
    "The quickstart failed: There is no kubeconfig at /nonexistent/kubeconfig: check the path"
  ])
  failing("nothing to remove from", { args: ["--remove"] }, ["name its kubeconfig with --kubeconfig"])
  failing("a flag that it does not know", { args: ["--kepe"] }, ["Unrecognized flag: --kepe"])

  it.live(
    "says what failed and what to do: a cluster that does not answer",
    () =>
      Effect.gen(function* () {
        const kubeconfig = yield* Quickstart.file("kubeconfig", unreachable)
        const quickstart = yield* Quickstart.start({ args: ["--kubeconfig", kubeconfig] })

        assert.strictEqual((yield* quickstart.ended).code, 1)

        inOrder(quickstart.errors(), [
          /^The quickstart failed: .*the server cannot be reached \(.*ECONNREFUSED.*\)$/u,
          `See whether the cluster runs, and whether the kubeconfig is of this cluster: kubectl --kubeconfig ${kubeconfig}`
        ])
        yield* quickstart.gone(moment)
      }),
    patience
  )
})
