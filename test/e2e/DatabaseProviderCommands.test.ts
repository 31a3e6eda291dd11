/** The commands of the database provider for whoever runs it, bundled, with a real PostgreSQL. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Database } from "@berth/db-provider/Database"
import * as Crds from "@berth/db-provider/Crds"
import { Shard } from "@berth/db-provider/Shard"
import { Client } from "@berth/kube/Client"
import * as Finalizers from "@berth/kube/Finalizers"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { parseAllDocuments, stringify } from "yaml"
import * as Provider from "./support/provider.ts"

/** A manifest, and the file with the password of its provisioner. */
const manifest = Effect.fnUntraced(function* (name: string, password: string) {
  const folder = yield* LocalProcess.temporaryFolder("berth-commands")
  const { host, port } = yield* Postgres.Postgres
  const address = { host, port, sslmode: "disable" }
  const spec = { primary: address, endpoint: address, provisionerSecretRef: { name, key: "password" } }
  const [file, passwordFile] = [join(folder, "shard.yaml"), join(folder, "password")]
  writeFileSync(file, stringify({ apiVersion: Shard.apiVersion, kind: "Shard", metadata: { name }, spec }))
  writeFileSync(passwordFile, `${password}\n`)
  return ["--file", file, "--password-file", passwordFile]
})

describe("The commands of the database provider", () => {
  it.live("D5, D7: preflight says what a server lacks, as SQL; bootstrap-sql has it all, and no password", () =>
    Effect.gen(function* () {
      const postgres = yield* Postgres.Postgres
      const shard = yield* manifest("shard-a", "hunter2")

      const nobody = yield* Provider.run("preflight", ...shard)
      const { stdout: sql } = yield* Provider.run("bootstrap-sql", ...shard)
      yield* postgres.query(sql)
      const prepared = yield* Provider.run("preflight", ...shard)
      yield* postgres.query("alter role berth_provisioner nocreatedb")
      const lacking = yield* Provider.run("preflight", ...shard)
      // All of it is SQL or a comment.
      yield* postgres.query(lacking.stdout)
      const mended = yield* Provider.run("preflight", ...shard)

      assert.deepStrictEqual(
        [nobody, prepared, lacking, mended].map(({ code }) => code),
        [1, 0, 1, 0]
      )
      assert.match(nobody.stdout, /^-- PROBLEM login: .*SQLSTATE 28/mu)
      assert.match(prepared.stdout, /^-- 0 problems, 0 warnings: the shard can serve$/mu)
      assert.match(lacking.stdout, /^-- PROBLEM createdb: .*\nALTER ROLE "berth_provisioner" CREATEDB;$/mu)
      assert.notInclude(
        [sql, ...[nobody, prepared, lacking].map(({ stderr, stdout }) => stderr + stdout)].join(),
        "hunter2"
      )
    }).pipe(Effect.scoped, Effect.provide(Provider.stage))
  )

  it.live("says in a sentence what it cannot do, and exits with 2", () =>
    Effect.gen(function* () {
      const folder = yield* LocalProcess.temporaryFolder("berth-commands")
      const wrong = join(folder, "wrong.yaml")
      writeFileSync(wrong, "kind: Shard")
      yield* Provider.installed({ primary: { host: "127.0.0.1", port: 1, sslmode: "disable" } })

      const runs = [
        ["preflight"],
        ["preflight", "--shard", "nowhere"],
        ["preflight", "--shard", "shard-a"],
        ["preflight", "--file", wrong, "--password-env", "HOME"],
        ["bootstrap-sql", "--file", join(folder, "missing")],
        ["inventory", "--from", "elsewhere"],
        ["inventory"]
      ]
      const ended = yield* Effect.forEach(runs, (args) => Provider.run(...args), { concurrency: 2 })

      const sentences = [
        /give --shard NAME, or --file FILE$/u,
        /nowhere/u,
        /127\.0\.0\.1:1: cannot connect: /u,
        /wrong\.yaml is not the manifest of a Shard: /u,
        /the file .*missing cannot be read$/u,
        /--from and --reset-passwords go with --adopt$/u,
        /shard-a: cannot connect: /u
      ]
      for (const [index, { code, stderr, stdout }] of ended.entries()) {
        assert.match(stderr.trimEnd(), sentences[index] ?? /never/u)
        assert.match(stderr, /^berth-db-provider: [^\n]*\n/u)
        assert.deepStrictEqual([code, stdout], [2, ""], stderr)
      }
    }).pipe(Effect.scoped, Effect.provide(Provider.stage))
  )

  it.live(
    "D14: inventory finds a tenant whose record is lost, and --adopt gives it one, for the provider to go on with",
    () =>
      Effect.gen(function* () {
        yield* Provider.installed()
        const client = yield* Client
        const replica = yield* Provider.start("--drain", "0 seconds")
        yield* Provider.shardReady
        const api = yield* Provider.client(replica.api)
        const put = yield* api.put("branch-1", { wait: "30 seconds" })
        if (put._tag !== "Ready") return assert.fail(`not ready: ${put.database.phase}`)
        const { database, password } = put.database.connection
        const fits = yield* Provider.run("inventory")
        yield* replica.process.signal("SIGTERM")
        yield* replica.process.ended

        const [record] = (yield* client.list(Database, { namespace: Provider.namespace })).items
        if (record === undefined) return assert.fail("there is no record")
        yield* client.delete(Database, Provider.released(record.metadata.name))
        yield* Finalizers.remove(Database, record, "db.berth.dev/database")
        const lost = yield* Provider.run("inventory", "--shard", "shard-a")
        const adopted = yield* Provider.run("inventory", "--adopt")
        const next = yield* Provider.start()
        const again = yield* Effect.flatMap(Provider.client(next.api), (it) =>
          it.put("branch-1", { wait: "30 seconds" })
        )

        assert.deepStrictEqual(
          [fits, lost, adopted].map(({ code }) => code),
          [0, 1, 0]
        )
        assert.match(fits.stdout, /^shard-a: 1 databases, 1 registered, 1 recorded, all of which fits$/mu)
        assert.match(
          lost.stdout,
          new RegExp(`^ {2}${database} \\(ci/branch-1\\) has no record: --adopt makes one$`, "mu")
        )
        assert.match(adopted.stdout, new RegExp(`^ {2}${database} \\(ci/branch-1\\) adopted$`, "mu"))
        assert.strictEqual(again._tag, "Ready")
        if (again._tag !== "Ready") return
        assert.deepStrictEqual(
          [again.isNew, again.database.connection.database, Redacted.value(again.database.connection.password)],
          [false, database, Redacted.value(password)]
        )
      }).pipe(Effect.scoped, Effect.provide(Provider.stage))
  )

  it.live("crds prints every definition", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* Provider.runAlone("crds")

      assert.strictEqual(code, 0)
      assert.deepStrictEqual(
        parseAllDocuments(stdout).map((document): unknown => document.toJS()),
        JSON.parse(JSON.stringify(Crds.all))
      )
    })
  )
})
