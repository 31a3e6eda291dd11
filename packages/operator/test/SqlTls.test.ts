import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeAuthority } from "../../kube/test/support/certificates.ts"
import * as Sql from "../src/Sql.ts"
import * as TlsFront from "./support/tlsFront.ts"

const authority = makeAuthority("the right one")
const other = makeAuthority("another one")

/** The server's certificate is for 127.0.0.1, by the right authority. */
const select = Effect.fnUntraced(function* (mode: string, host: string, root: "right" | "other" | "none") {
  const server = yield* Postgres.Postgres
  const port = yield* TlsFront.serve(authority.issue("server"), server)
  const folder = yield* LocalProcess.temporaryFolder("berth-sql-tls")
  const file = join(folder, "root.crt")
  writeFileSync(file, root === "right" ? authority.certificate : other.certificate)
  return yield* Sql.run({
    text: "select 1",
    environment: {
      PGHOST: host,
      PGPORT: String(port),
      PGUSER: server.provisioner.user,
      PGPASSWORD: server.provisioner.password,
      PGDATABASE: "postgres",
      PGSSLMODE: mode,
      ...(root === "none" ? {} : { PGSSLROOTCERT: file })
    }
  })
}, Effect.scoped)

describe("Sql by TLS", () => {
  layer(Postgres.layer(), { timeout: 60_000 })((it) => {
    const accepted = [
      ["verify-full", "127.0.0.1", "right", "authority and name are right"],
      ["verify-ca", "localhost", "right", "the name does not count"],
      ["require", "localhost", "right", "with a root certificate it is as verify-ca"],
      ["require", "localhost", "none", "whoever answers will do"],
      ["prefer", "localhost", "none", "whoever answers will do"]
    ] as const
    it.effect.each(accepted)("connects by %s to %s with the %s root certificate: %s", ([mode, host, root]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* select(mode, host, root), [["1"]])
      })
    )

    const refused = [
      ["verify-full", "localhost", "right", /does not match certificate's altnames/u],
      ["verify-full", "127.0.0.1", "other", /signature|issuer|verify/u],
      ["verify-full", "127.0.0.1", "none", /signature|issuer|verify/u],
      ["verify-ca", "127.0.0.1", "other", /signature|issuer|verify/u],
      ["require", "127.0.0.1", "other", /signature|issuer|verify/u]
    ] as const
    it.effect.each(refused)("refuses by %s %s with the %s root certificate", ([mode, host, root, expected]) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(select(mode, host, root))

        assert.strictEqual(error._tag, "ConnectFailed")
        assert.match(error.message, expected)
      })
    )

    it.effect("asks for no TLS by disable, and is turned away by a server that insists", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(select("disable", "127.0.0.1", "none"))

        assert.strictEqual(error._tag, "ConnectFailed")
      })
    )
  })
})
