/** What kubeconfigs of others may use, and what becomes of hostile ones. */
import { generateKeyPairSync } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import * as Transport from "@berth/kube/Transport"
import * as EmbeddedCluster from "@berth/testing/EmbeddedCluster"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Stream } from "effect"
import type * as RemoteCluster from "../src/RemoteCluster.ts"
import * as remotes from "./support/remote.ts"

beforeAll(remotes.loadParser, 60_000)

const admin = { username: "anna", groups: ["system:masters"] }
const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64")

/** Provisions with this kubeconfig, and says how that went: `done`, or why not. */
const attempt = Effect.fnUntraced(function* (
  text: (remote: remotes.TestCluster) => string,
  options: Partial<RemoteCluster.Options> = {},
  cluster: EmbeddedCluster.Options = { rbac: true, users: { filed: admin, printed: admin, given: admin } }
) {
  const site = yield* remotes.makeHome
  const remote = yield* remotes.makeCluster(cluster)
  const program = yield* site.makeProgram(options)
  yield* site.point(text(remote))
  const outcome = yield* Effect.result(program.provision(remotes.remoteSettings(remotes.ownerOf("web"))))
  const made = yield* remotes.settingsOn(remote)
  if (outcome._tag === "Success") return { text: "done", shown: "", made, asked: program.connections.requests }
  const { failure } = outcome
  return {
    text: `${failure._tag} ${failure.reason} ${failure.message}`,
    shown: inspect(failure, { depth: null }),
    made,
    asked: program.connections.requests
  }
})

const refusedFor = (part: string) =>
  `UserActionRequired kubeconfig_refused The kubeconfig in default/site uses ${part}, which this operator does not allow.`
const invalidIn = (part: string) =>
  `UserActionRequired kubeconfig_invalid The kubeconfig in default/site is not valid; see its ${part}.`

describe("RemoteCluster: what kubeconfigs may use", () => {
  const credential = JSON.stringify({
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    status: { token: "printed" }
  })
  const login = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: process.execPath,
    args: ["-e", `console.log(${JSON.stringify(credential)})`]
  }

  it.effect("P29: commands only where the operator allows them", () =>
    Effect.gen(function* () {
      const text = (remote: remotes.TestCluster) => remotes.kubeconfigFor(remote, { user: { exec: login } })

      const refused = yield* attempt(text)
      const allowed = yield* attempt(text, { trust: { exec: ({ command }) => command === process.execPath } })

      assert.deepStrictEqual([refused.text, refused.asked], [refusedFor("user.exec"), []])
      assert.deepStrictEqual([allowed.text, allowed.made], ["done", ["settings"]])
    })
  )

  it.effect("P29: files only of the folders that the operator allows", () =>
    Effect.gen(function* () {
      const folder = yield* LocalProcess.temporaryFolder("berth-remote")
      writeFileSync(join(folder, "token"), "filed")
      const text = (remote: remotes.TestCluster) =>
        remotes.kubeconfigFor(remote, { user: { tokenFile: join(folder, "token") } })

      const refused = yield* attempt(text)
      const others = yield* attempt(text, { trust: { folders: [join(folder, "elsewhere")] } })
      const allowed = yield* attempt(text, { trust: { folders: [folder] } })

      assert.deepStrictEqual([refused.text, others.text], [refusedFor("user.tokenFile"), refusedFor("user.tokenFile")])
      assert.deepStrictEqual([allowed.text, allowed.made], ["done", ["settings"]])
    })
  )

  it.effect("P29: connections that anybody can read or answer only where the operator allows them", () =>
    Effect.gen(function* () {
      const unchecked = (remote: remotes.TestCluster) =>
        remotes.kubeconfigFor(remote, {
          token: "given",
          cluster: { "certificate-authority-data": null, "insecure-skip-tls-verify": true }
        })
      const plain = (remote: remotes.TestCluster) =>
        remotes.kubeconfigFor(remote, { cluster: { "certificate-authority-data": null } })
      const open = { tls: false }

      const refused = [yield* attempt(unchecked), yield* attempt(plain, {}, open)]
      const allowed = [yield* attempt(unchecked, { insecure: true }), yield* attempt(plain, { insecure: true }, open)]

      assert.deepStrictEqual(
        [...refused, ...allowed].map(({ text }) => text),
        [refusedFor("insecure-skip-tls-verify"), refusedFor("http"), "done", "done"]
      )
      assert.deepStrictEqual(
        refused.flatMap(({ asked }) => asked),
        []
      )
    })
  )

  it.effect.each([
    { server: "https://127.0.0.1:6443", host: "127.0.0.1:6443" },
    { server: "https://localhost:6443", host: "localhost:6443" },
    { server: "https://169.254.169.254", host: "169.254.169.254" },
    { server: "https://[fd00:ec2::254]", host: "unnamed" },
    { server: "https://0.0.0.0:6443", host: "0.0.0.0:6443" }
  ])("P29: no addresses of this machine, its links, and metadata services: $server", ({ host, server }) =>
    Effect.gen(function* () {
      const outcome = yield* attempt(
        (remote) => remotes.kubeconfigFor(remote, { token: "given", cluster: { server } }),
        {
          refusedNetworks: undefined
        }
      )

      assert.strictEqual(outcome.text, refusedFor(host))
    })
  )
})

describe("RemoteCluster: kubeconfigs that nothing can come of", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const key = privateKey.export({ type: "pkcs8", format: "pem" })
  const pem = (label: string) => base64(`-----BEGIN ${label}-----\nZ2VoZWlt\n-----END ${label}-----\n`)
  const caOf = ({ connection }: remotes.TestCluster) =>
    base64(Redacted.isRedacted(connection.ca) ? Redacted.value(connection.ca) : "")

  const broken: ReadonlyArray<{
    readonly part: string
    readonly user?: (remote: remotes.TestCluster) => object
    readonly cluster?: object
  }> = [
    { part: "certificate-authority-data", cluster: { "certificate-authority-data": pem("CERTIFICATE") } },
    { part: "client-certificate-data", user: () => ({ "client-certificate-data": pem("CERTIFICATE") }) },
    { part: "client-certificate-data", user: () => ({ "client-key-data": base64(key) }) },
    { part: "client-key-data", user: (remote) => ({ "client-certificate-data": caOf(remote) }) },
    {
      part: "client-key-data",
      user: (remote) => ({ "client-certificate-data": caOf(remote), "client-key-data": pem("PRIVATE KEY") })
    },
    {
      part: "client-key-data",
      user: (remote) => ({ "client-certificate-data": caOf(remote), "client-key-data": base64(key) })
    },
    { part: "token", user: () => ({ token: "geheim\r\nimpersonate-user: root" }) },
    { part: "proxy-url", cluster: { "proxy-url": "ftp://user:geheim@example.com" } }
  ]
  it.effect.each(broken)(
    "P29: are the user's to mend, and show nothing that is secret: $part",
    ({ cluster, part, user }) =>
      Effect.gen(function* () {
        const outcome = yield* attempt((remote) =>
          remotes.kubeconfigFor(remote, { user: user?.(remote) ?? {}, cluster: cluster ?? {} })
        )

        assert.deepStrictEqual([outcome.text, outcome.made, outcome.asked], [invalidIn(part), [], []])
        for (const secret of ["geheim", "Z2VoZWlt", base64(key)]) assert.notInclude(outcome.shown, secret)
      })
  )

  it.effect("P29: what a cluster answers has an end, also where its author does not want that", () =>
    Effect.gen(function* () {
      const chunk = new Uint8Array(1_024 * 1_024)
      let sent = 0
      const endless = Stream.forever(Stream.fromEffect(Effect.sync(() => (sent++, chunk))))
      const transport = () =>
        Layer.succeed(Transport.Transport, { request: () => Effect.succeed(Transport.response(200, endless)) })

      const outcome = yield* attempt((remote) => remotes.kubeconfigFor(remote, { token: "given" }), { transport })

      assert.match(outcome.text, /^Transient unreachable /u)
      assert.include(outcome.shown, "the answer has more than 33554432 bytes")
      assert.isAtMost(sent, 64)
    })
  )

  it.effect("P29: an answer without the identity of a cluster is none", () =>
    Effect.gen(function* () {
      const forged = JSON.stringify({ kind: "Namespace", metadata: { name: "kube-system", uid: "../../etc" } })
      const transport = () =>
        Layer.succeed(Transport.Transport, { request: () => Effect.succeed(Transport.response(200, forged)) })

      const outcome = yield* attempt((remote) => remotes.kubeconfigFor(remote, { token: "given" }), { transport })

      assert.match(outcome.text, /^Transient unreachable /u)
    })
  )
})
