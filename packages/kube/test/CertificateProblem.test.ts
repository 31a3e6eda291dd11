import { connect, createServer } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as CertificateProblem from "../src/CertificateProblem.ts"
import { makeAuthority } from "./support/certificates.ts"

const settings = { authority: "trust its authority by caBundle", name: "say another host" }

/** What Node says of a server that is not trusted, or not asked for by its name. */
const refused = (options: { readonly ca?: string; readonly servername?: string }) =>
  Effect.acquireUseRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const { certificate, key } = authority.issue("server")
      const server = createServer({ cert: certificate, key })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<Error>((resume) => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        connect({ host: "127.0.0.1", port, ...options }).once("error", (error) => resume(Effect.succeed(error)))
      }),
    (server) => Effect.sync(() => server.close())
  )

const authority = makeAuthority("the right one")

describe("CertificateProblem", () => {
  it.live("an authority that is not trusted is said with the program's own setting, and none of Node's", () =>
    Effect.gen(function* () {
      const error = yield* refused({})

      // What this is for: newer versions of Node say so.
      assert.match(error.message, /--use-system-ca/u)
      assert.match(
        CertificateProblem.explain(error, settings),
        /^unable to verify the first certificate: trust its authority by caBundle$/u
      )
    })
  )

  it.live("a certificate for another name is said with the setting of the name", () =>
    Effect.gen(function* () {
      const error = yield* refused({ ca: authority.certificate, servername: "elsewhere.example.com" })

      const words = CertificateProblem.explain(error, settings)

      assert.match(words, /elsewhere\.example\.com.*: say another host$/u)
    })
  )

  const others: ReadonlyArray<readonly [string, Error, string]> = [
    [
      "an expired one",
      Object.assign(new Error("certificate has expired"), { code: "CERT_HAS_EXPIRED" }),
      "certificate has expired"
    ],
    [
      "another failure",
      Object.assign(new Error("connect ECONNREFUSED ::1:1"), { code: "ECONNREFUSED" }),
      "connect ECONNREFUSED ::1:1"
    ],
    ["one without words", Object.assign(new Error(""), { code: "ECONNREFUSED" }), "ECONNREFUSED"]
  ]
  it.each(others)("%s is said as it is", (_, error, expected) => {
    assert.strictEqual(CertificateProblem.explain(error, settings), expected)
  })
})
