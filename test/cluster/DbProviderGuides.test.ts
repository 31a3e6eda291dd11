/** The guides of the database provider, followed from the first line to the last: on a real API server, with the real helm and a real PostgreSQL. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema, Scope } from "effect"
import * as Markdown from "../support/markdown.ts"
import * as Guide from "./support/guide.ts"
import * as Helm from "./support/helm.ts"
import * as Installation from "./support/installation.ts"
import * as ProviderRemains from "./support/providerRemains.ts"

/** What a reader is told to have. */
const tools = ["kubectl", "psql", "openssl", "curl", "jq"]
const missing = tools.filter((name) => {
  try {
    execFileSync("which", [name], { stdio: "ignore" })
    return false
  } catch {
    return true
  }
})
const candidate = Clusters.each().find(({ kind }) => kind === "existing")
const helm = candidate === undefined || missing.length > 0 ? undefined : Helm.find()
if (helm === undefined) {
  const lacking = [...missing, ...(candidate === undefined ? [Clusters.variable] : [])].join(", ")
  console.warn(`the guides of the database provider are not followed: there is no ${lacking === "" ? "helm" : lacking}`)
}
const cluster = candidate?.layer ?? Cluster.embeddedWithClient()

const namespace = "berth-db"
const release = { name: "berth-db-provider", namespace }

/** Runs the provider for as long as its Deployment has replicas: what a node would do. */
const kubelet = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
  const scope = yield* Effect.scope
  let running: { readonly output: () => string; readonly scope: Scope.Closeable } | undefined
  let output = ""
  const wanted = Client.use((client) => client.get(Builtin.Deployment, release)).pipe(
    Effect.map(({ spec }) => (spec?.replicas ?? 0) > 0),
    Effect.catchTag("NotFound", () => Effect.succeed(false))
  )
  const follow = Effect.gen(function* () {
    const isWanted = yield* wanted
    if (isWanted && running === undefined) {
      const own = yield* Scope.fork(scope)
      const started = yield* Scope.provide(Installation.start(release, { command: Installation.provider, args }), own)
      yield* started.ready(({ isOk }) => isOk)
      running = { output: started.output, scope: own }
    }
    if (!isWanted && running !== undefined) {
      output += running.output()
      yield* Scope.close(running.scope, Exit.void)
      running = undefined
    }
  })
  return { follow, output: () => output + (running?.output() ?? "") }
})

const contentOf = (path: string) => Effect.sync(() => readFileSync(path, "utf8").trim())

const Answer = Schema.Struct({
  connection: Schema.Struct({ user: Schema.String, password: Schema.String, database: Schema.String })
})

/** What the API has answered to the first PUT of the guides. */
const readConnection = Effect.fnUntraced(function* (folder: string) {
  const text = yield* contentOf(join(folder, "branch-1.json"))
  return (yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Answer))(text)).connection
})

describe.skipIf(helm === undefined)("The guides of the database provider", () => {
  it.live(
    "D5, D16: work as they stand, and no password or token shows in what the provider says",
    () =>
      Effect.gen(function* () {
        const [first, second] = yield* Effect.all([Postgres.make(), Postgres.make()])
        const [port] = yield* LocalProcess.freePorts(1)
        const { folder, follow } = yield* Guide.reader({
          path: [dirname(helm ?? "")],
          commands: { "berth-db-provider": Installation.provider },
          env: { PGPASSWORD: first.superuser.password, PGUSER: first.superuser.user, PGHOST: first.host }
        })
        const node = yield* kubelet([
          "--api-listen",
          `127.0.0.1:${port}`,
          "--tls-certificate",
          join(folder, "tls.crt"),
          "--tls-key",
          join(folder, "tls.key")
        ])
        yield* Effect.addFinalizer(() => ProviderRemains.removed(namespace).pipe(Effect.ignore))
        /** What a reader would put in place of the example's addresses. */
        const here = (text: string, postgres: Postgres.Server) =>
          text
            .replaceAll("https://localhost:8443", `https://localhost:${port}`)
            .replaceAll(
              /db(?:-b)?\.example\.com, port: 5432, sslmode: verify-full/gu,
              `${postgres.host}, port: ${postgres.port}, sslmode: disable`
            )
        const read = Effect.fnUntraced(function* (
          guide: string,
          postgres: Postgres.Server,
          isWanted: (block: Markdown.Block) => boolean = () => true
        ) {
          const said: Array<string> = []
          for (const block of Markdown.blocks(`docs/guides/db-provider-${guide}.md`).filter(isWanted)) {
            if (block.language !== "sh" && block.language !== "yaml") continue
            const own = { PGPORT: String(postgres.port), PGPASSWORD: postgres.superuser.password }
            said.push(yield* follow({ ...block, text: here(block.text, postgres) }, own))
            yield* node.follow
          }
          return said.join("")
        })

        yield* read("install", first)
        const connection = yield* readConnection(folder)
        const recovered = yield* read(
          "recover",
          first,
          ({ heading }) => heading.startsWith("Recover") || heading === "A database that was deleted"
        )
        yield* first.query(`ALTER ROLE "${connection.user}" PASSWORD 'another'`)
        yield* read("recover", first, ({ heading }) => heading === "A password that a tenant changed")
        const asTenant = { user: connection.user, password: connection.password, database: connection.database }
        const still = yield* first.query("SELECT text FROM greetings", [], asTenant)
        const held = yield* read("recover", first, ({ heading }) => heading === "A record that is held")
        const letGo = yield* read("recover", first, ({ heading }) => heading === "A tenant that is let go")
        yield* read("recover", first, ({ heading }) => heading === "Records that were lost")
        const said = yield* read("api", first)
        const uses = yield* read("rotate-token", first)
        const status = (file: string) =>
          follow({
            at: file,
            language: "sh",
            heading: "",
            text: `curl --silent --output answer --write-out '%{http_code}' --cacert tls.crt --header "Authorization: Bearer $(cat ${file})" https://localhost:${port}/v1/databases`
          })
        const statuses = [yield* status("ci.token"), yield* status("ci.next.token")]
        yield* read("add-shard", second)
        yield* read("configure", first)

        assert.include(recovered, "hello")
        assert.deepStrictEqual(still, [{ text: "hello" }])
        assert.include(held, "adopted")
        assert.include(letGo, "hello")
        assert.include(said, '"phase":"SoftDeleted"')
        assert.deepStrictEqual(statuses, ["401", "200"])
        assert.match(uses, /^next \d{4}-\d\d-\d\dT/mu)
        for (const file of ["ci.token", "ci.next.token", "shard-a.password", "shard-b.password"]) {
          const secret = yield* contentOf(join(folder, file))
          assert.isAbove(secret.length, 40)
          assert.isFalse(node.output().includes(secret), file)
        }
        assert.isFalse(node.output().includes(connection.password), "a tenant's password")
        assert.notMatch(node.output(), /forbidden/iu)
      }).pipe(Effect.scoped, Effect.provide(cluster)),
    600_000
  )
})
