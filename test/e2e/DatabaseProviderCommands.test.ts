/** The commands of the database provider for whoever runs it, bundled, with a real PostgreSQL. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { ProviderClient } from "@berth/db-provider/client"
import { Database } from "@berth/db-provider/Database"
import * as Crds from "@berth/db-provider/Crds"
import { Shard } from "@berth/db-provider/Shard"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Finalizers from "@berth/kube/Finalizers"
import * as Await from "@berth/testing/Await"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { parseAllDocuments, stringify } from "yaml"
import * as Provider from "./support/provider.ts"

/** A manifest, and the file with the password of its provisioner. */
const manifest = Effect.fnUntraced(function* (
  name: string,
  password: string,
  endpoint: { readonly port?: number } = {}
) {
  const folder = yield* LocalProcess.temporaryFolder("berth-commands")
  const { host, port } = yield* Postgres.Postgres
  const address = { host, port, sslmode: "disable" }
  const spec = {
    primary: address,
    endpoint: { ...address, ...endpoint },
    provisionerSecretRef: { name, key: "password" }
  }
  const [file, passwordFile] = [join(folder, "shard.yaml"), join(folder, "password")]
  writeFileSync(file, stringify({ apiVersion: Shard.apiVersion, kind: "Shard", metadata: { name }, spec }))
  writeFileSync(passwordFile, `${password}\n`)
  return ["--file", file, "--password-file", passwordFile]
})

/** What a tenant is given. */
const given = Effect.fnUntraced(function* (api: ProviderClient, id: string) {
  const put = yield* api.put(id, { wait: "30 seconds" })
  if (put._tag !== "Ready") return assert.fail(`not ready: ${put.database.phase}`)
  const { database, password } = put.database.connection
  return [database, Redacted.value(password)] as const
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
      const behind = yield* Provider.run("preflight", ...(yield* manifest("shard-a", "hunter2", { port: 1 })))

      assert.deepStrictEqual(
        [nobody, prepared, lacking, mended, behind].map(({ code }) => code),
        [1, 0, 1, 0, 1]
      )
      assert.match(behind.stdout, /^-- PROBLEM endpoint_unreachable: From here nobody gets to the endpoint .*:1 /mu)
      assert.match(nobody.stdout, /^-- PROBLEM login: .*SQLSTATE 28/mu)
      assert.match(prepared.stdout, /^-- 0 problems, 0 warnings: the shard can serve$/mu)
      assert.match(lacking.stdout, /^-- PROBLEM createdb: .*\nALTER ROLE "berth_provisioner" CREATEDB;$/mu)
      assert.notInclude(
        [sql, ...[nobody, prepared, lacking].map(({ stderr, stdout }) => stderr + stdout)].join(),
        "hunter2"
      )
    }).pipe(Effect.scoped, Effect.provide(Provider.stage))
  )

  it.live("says in a sentence what it cannot do: with 2 where the call is wrong, and with 3 where it cannot look", () =>
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
        ["inventory", "--bogus"],
        ["inventory"]
      ]
      const ended = yield* Effect.forEach(runs, (args) => Provider.run(...args), { concurrency: 2 })

      const sentences: ReadonlyArray<readonly [number, RegExp]> = [
        [2, /give --shard NAME, or --file FILE$/u],
        [3, /nowhere/u],
        [3, /127\.0\.0\.1:1: cannot connect: /u],
        [2, /wrong\.yaml is not the manifest of a Shard: /u],
        [2, /the file .*missing cannot be read$/u],
        [2, /--from and --reset-passwords go with --adopt$/u],
        [2, /--bogus.*; see berth-db-provider inventory --help$/u],
        [3, /shard-a: cannot connect: /u]
      ]
      for (const [index, { code, stderr, stdout }] of ended.entries()) {
        const [expected, sentence] = sentences[index] ?? [0, /never/u]
        assert.match(stderr.trimEnd(), sentence)
        assert.match(stderr, /^berth-db-provider: [^\n]*\n/u)
        assert.deepStrictEqual([code, stdout], [expected, ""], stderr)
      }
    }).pipe(Effect.scoped, Effect.provide(Provider.stage))
  )

  it.live(
    "D14: inventory finds a tenant whose record is lost; --adopt gives it one, for the provider to go on with",
    () =>
      Effect.gen(function* () {
        yield* Provider.installed()
        const client = yield* Client
        const replica = yield* Provider.start("--drain", "0 seconds")
        yield* Provider.shardReady
        const api = yield* Provider.client(replica.api)
        const before = yield* given(api, "branch-1")
        const [database] = before
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
        const after = yield* Effect.flatMap(Provider.client(next.api), (it) => given(it, "branch-1"))

        const codes = [fits, lost, adopted].map(({ code }) => code)
        assert.deepStrictEqual(codes, [0, 1, 0])
        assert.match(fits.stdout, /^shard-a: 1 databases, 1 registered, 1 recorded, all of which fits$/mu)
        assert.match(
          lost.stdout,
          new RegExp(`^ {2}${database} \\(ci/branch-1\\) has no record: --adopt makes one$`, "mu")
        )
        assert.match(adopted.stdout, new RegExp(`^ {2}${database} \\(ci/branch-1\\) adopted$`, "mu"))
        assert.deepStrictEqual(after, before)
      }).pipe(Effect.scoped, Effect.provide(Provider.stage))
  )

  it.live("D14: a kind that somebody deleted comes back, and every tenant with it", () =>
    Effect.gen(function* () {
      yield* Provider.installed()
      const client = yield* Client
      const replica = yield* Provider.start("--drain", "0 seconds")
      yield* Provider.shardReady
      const api = yield* Provider.client(replica.api)
      const ids = ["branch-1", "branch-2"]
      const before = yield* Effect.forEach(ids, (id) => given(api, id), { concurrency: "unbounded" })
      const definition = Crds.all.find(({ spec }) => spec.names.kind === "Database")
      if (definition === undefined) return assert.fail("there is no such kind")
      const { name } = definition.metadata

      yield* client.delete(Builtin.CustomResourceDefinition, { name })
      yield* Effect.forEach(ids, (id) => Effect.repeat(api.get(id), { until: ({ phase }) => phase === "Held" }))
      yield* replica.process.signal("SIGTERM")
      yield* replica.process.ended
      const first = yield* Provider.run("inventory", "--adopt")
      yield* Await.gone(Builtin.CustomResourceDefinition, { name })
      yield* client.create(Builtin.CustomResourceDefinition, definition)
      const second = yield* Provider.run("inventory", "--adopt")
      const next = yield* Provider.start()
      const again = yield* Provider.client(next.api)
      const after = yield* Effect.forEach(ids, (id) => given(again, id), { concurrency: "unbounded" })

      assert.deepStrictEqual([first.code, second.code], [1, 0], first.stdout + second.stdout)
      assert.deepStrictEqual(after, before)
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
