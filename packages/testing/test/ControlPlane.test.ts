import { execFileSync } from "node:child_process"
import { X509Certificate } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import * as ControlPlane from "../src/ControlPlane.ts"
import * as pki from "../src/internal/pki.ts"

const without = ConfigProvider.layer(ConfigProvider.fromUnknown({}))

describe("ControlPlane", () => {
  it.effect("T1: without programs it says which are missing, and how to name a folder that has them", () =>
    Effect.gen(function* () {
      const unnamed = yield* Effect.flip(ControlPlane.make())
      const folder = mkdtempSync(join(tmpdir(), "berth-test-"))
      writeFileSync(join(folder, "etcd"), "", { mode: 0o755 })
      const incomplete = yield* Effect.flip(ControlPlane.make({ binaries: folder }))
      rmSync(folder, { recursive: true })

      assert.deepInclude(unnamed, { _tag: "BinariesMissing", folder: undefined })
      assert.deepInclude(incomplete, {
        _tag: "BinariesMissing",
        missing: ["kube-apiserver"]
      })
      assert.match(incomplete.message, /lacks kube-apiserver: set KUBEBUILDER_ASSETS/u)
    }).pipe(Effect.scoped, Effect.provide(without))
  )

  it.live("T1, T11: a part that does not start is reported with its last words, and nothing of it is left", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "berth-test-"))
      const marker = `berth-marker-${process.pid}`
      writeFileSync(join(folder, "etcd"), `#!/bin/sh\nexec sleep 1000 # ${marker}\n`, { mode: 0o755 })
      for (const name of ["kube-apiserver", "kube-controller-manager"]) {
        writeFileSync(join(folder, name), "#!/bin/sh\necho cannot bind\nexit 3\n", { mode: 0o755 })
      }
      const error = yield* Effect.flip(Effect.scoped(ControlPlane.make({ binaries: folder })))
      rmSync(folder, { recursive: true })

      assert.deepInclude(error, { _tag: "PartFailed", part: "kube-apiserver", problem: "ended with exit code 3" })
      assert.include(error.message, "cannot bind")
      const left = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })
      assert.notInclude(left, join(folder, "etcd"))
    })
  )

  it("T1: its certificates are what they say, by OpenSSL's word", () => {
    const authority = pki.authority("test-ca")
    const { cert, key } = authority.issue({ commonName: "somebody", organizations: ["a-group", "b"] }, [
      "127.0.0.1",
      "localhost"
    ])
    const issued = new X509Certificate(cert)
    const root = new X509Certificate(authority.cert)

    assert.isTrue(root.ca)
    assert.isFalse(issued.ca)
    assert.isTrue(issued.checkIssued(root))
    assert.isTrue(issued.verify(root.publicKey))
    assert.isFalse(issued.verify(new X509Certificate(pki.authority("other").cert).publicKey))
    assert.strictEqual(issued.subject, "O=a-group\nO=b\nCN=somebody")
    assert.strictEqual(issued.subjectAltName, "IP Address:127.0.0.1, DNS:localhost")
    assert.include(key, "BEGIN PRIVATE KEY")
  })
})
