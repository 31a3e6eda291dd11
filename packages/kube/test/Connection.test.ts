import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { inspect } from "node:util"
import * as Builtin from "../src/Builtin.ts"
import * as Client from "../src/Client.ts"
import * as Connection from "../src/Connection.ts"
import * as InCluster from "../src/internal/inCluster.ts"
import { makeAuthority } from "./support/certificates.ts"
import { serve } from "./support/server.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "berth-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const base64 = (text: string) => Buffer.from(text).toString("base64")

const variables = (values: Readonly<Record<string, string>>) =>
  Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(values)))

const kubeconfig = `---
# As people write them.
apiVersion: v1
kind: Config
preferences: {}
current-context: one
clusters:
- name: first
  cluster:
    server: https://one.example.com:6443/
    certificate-authority: ca.crt
    extensions:
    - name: anything
      extension: {deep: [1, 2]}
- name: second
  cluster:
    server: https://two.example.com/k8s/clusters/c-1
    certificate-authority-data: ${base64("CA")}
    tls-server-name: other.example.com
    proxy-url: http://user:geheim@proxy.example.com:3128
users:
- name: anna
  user:
    client-certificate: pki/anna.crt
    client-key: pki/anna.key
- name: bob
  user:
    client-certificate-data: ${base64("CERT")}
    client-key-data: ${base64("KEY")}
    token: geheim
    as: carol
    as-groups: [dev]
- name: exec
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/login
      args: null
      env:
      - name: PASSWORD
        value: geheim
      interactiveMode: IfAvailable
      provideClusterInfo: true
- name: nobody
  user: {}
contexts:
- name: one
  context: {cluster: first, user: anna, namespace: shop}
- name: two
  context: {cluster: second, user: bob}
- name: exec
  context: {cluster: first, user: exec}
- name: nobody
  context: {cluster: first, user: ""}
- name: no-cluster
  context: {cluster: missing, user: anna}
- name: no-user
  context: {cluster: first, user: missing}
`

const written = Effect.map(folder, (path) => {
  const file = join(path, "config")
  writeFileSync(file, kubeconfig)
  return { path, file }
})

const reveal = (material: Connection.Material | undefined) =>
  Redacted.isRedacted(material) ? Redacted.value(material) : material

describe("Connection: kubeconfigs", () => {
  it.effect("a kubeconfig's current context is taken, with files beside it", () =>
    Effect.gen(function* () {
      const { file, path } = yield* written

      const connection = yield* Connection.fromKubeconfig({ path: file })

      assert.deepInclude(connection, {
        server: "https://one.example.com:6443",
        source: `${file}, context one`,
        namespace: "shop",
        ca: { file: join(path, "ca.crt") },
        clientCertificate: { file: join(path, "pki/anna.crt") },
        clientKey: { file: join(path, "pki/anna.key") },
        token: undefined,
        insecureSkipTlsVerify: false
      })
    })
  )

  it.effect("another context can be named, whose data are in the kubeconfig", () =>
    Effect.gen(function* () {
      const { file } = yield* written

      const connection = yield* Connection.fromKubeconfig({ path: file, context: "two" })

      assert.deepInclude(connection, {
        server: "https://two.example.com/k8s/clusters/c-1",
        tlsServerName: "other.example.com",
        impersonate: { user: "carol", uid: undefined, groups: ["dev"], extra: undefined }
      })
      assert.deepStrictEqual(
        [connection.ca, connection.clientCertificate, connection.clientKey, connection.token].map(reveal),
        ["CA", "CERT", "KEY", "geheim"]
      )
    })
  )

  it.effect("a command is found beside the kubeconfig, or in PATH when it is a bare name", () =>
    Effect.gen(function* () {
      const { file, path } = yield* written

      const { exec } = yield* Connection.fromKubeconfig({ path: file, context: "exec" })

      assert.deepInclude(exec, { command: join(path, "bin/login"), args: [], provideClusterInfo: true })
      assert.deepStrictEqual(exec === undefined ? {} : Redacted.value(exec.env), { PASSWORD: "geheim" })
    })
  )

  it.effect("a context without a user is anonymous", () =>
    Effect.gen(function* () {
      const { file } = yield* written

      const connection = yield* Connection.fromKubeconfig({ path: file, context: "nobody" })

      assert.deepInclude(connection, { token: undefined, clientCertificate: undefined, basic: undefined })
    })
  )

  it.effect("of several files the first that names a thing counts, and missing ones are passed over", () =>
    Effect.gen(function* () {
      const { file, path } = yield* written
      const other = join(path, "other")
      writeFileSync(
        other,
        JSON.stringify({
          "current-context": "two",
          clusters: [{ name: "first", cluster: { server: "https://shadow.example.com" } }],
          users: null,
          contexts: []
        })
      )

      const connection = yield* Connection.fromKubeconfig({ path: [join(path, "missing"), other, file] })
      const shadowed = yield* Connection.fromKubeconfig({ path: [other, file], context: "one" })

      assert.strictEqual(connection.server, "https://two.example.com/k8s/clusters/c-1")
      assert.strictEqual(shadowed.server, "https://shadow.example.com")
    })
  )

  it.effect("a token file wins over a token, and auth-provider is kept", () =>
    Effect.gen(function* () {
      const text = JSON.stringify({
        "current-context": "c",
        clusters: [{ name: "c", cluster: { server: "http://one.example.com", "insecure-skip-tls-verify": true } }],
        users: [
          {
            name: "u",
            user: {
              token: "geheim",
              tokenFile: "/var/token",
              "auth-provider": { name: "oidc", config: { "id-token": "x" } }
            }
          }
        ],
        contexts: [{ name: "c", context: { cluster: "c", user: "u" } }]
      })

      const connection = yield* Connection.fromKubeconfig({ text, trusted: true })

      assert.deepInclude(connection, { token: { file: "/var/token" }, insecureSkipTlsVerify: true })
      assert.strictEqual(connection.authProvider?.name, "oidc")
    })
  )

  it.effect.each([
    { context: "nine", message: "has no context named nine: it has one, two, exec, nobody, no-cluster, no-user." },
    { context: "no-cluster", message: "has no cluster named missing: it has first, second." },
    { context: "no-user", message: "has no user named missing: it has anna, bob, exec, nobody." }
  ])("a kubeconfig without $context says what it has", ({ context, message }) =>
    Effect.gen(function* () {
      const { file } = yield* written

      const error = yield* Effect.flip(Connection.fromKubeconfig({ path: file, context }))

      assert.strictEqual(error.message, `${file} ${message}`)
    })
  )

  it.effect.each([
    { text: "a: [geheim", problem: "it is not YAML" },
    { text: "geheim", problem: "it is not a map" },
    { text: "", problem: "it is not YAML" },
    {
      text: `{"users": [{"name": "u", "user": {"token": ["geheim"]}}]}`,
      problem: "users.0.user.token is missing or of the wrong type"
    },
    { text: `{"contexts": [{"context": {}}]}`, problem: "contexts.0.name is missing or of the wrong type" },
    {
      text: `{"current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "geheim"}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}]}`,
      problem: "the cluster's server is not a URL"
    }
  ])("K6: a kubeconfig that is wrong is refused without its text: $problem", ({ problem, text }) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Connection.fromKubeconfig(text))

      assert.deepInclude(error, { _tag: "KubeconfigInvalid", problem })
      assert.notInclude(inspect(error, { depth: null, showHidden: true }), "geheim")
    })
  )

  it.effect.each([
    { user: { exec: { apiVersion: "v1", command: "sh" } }, field: "user.exec" },
    { user: { tokenFile: "/etc/shadow" }, field: "user.tokenFile" },
    { user: { "client-key": "/etc/shadow" }, field: "user.client-key" },
    { user: { "client-certificate": "/etc/shadow" }, field: "user.client-certificate" },
    { user: { "auth-provider": { name: "gcp", config: { "cmd-path": "sh" } } }, field: "user.auth-provider" },
    { cluster: { "certificate-authority": "/etc/shadow" }, field: "cluster.certificate-authority" }
  ])("K6: a kubeconfig that came as text may not use $field of this machine", ({ cluster = {}, field, user = {} }) =>
    Effect.gen(function* () {
      const text = JSON.stringify({
        "current-context": "c",
        clusters: [{ name: "c", cluster: { server: "https://one.example.com", ...cluster } }],
        users: [{ name: "u", user }],
        contexts: [{ name: "c", context: { cluster: "c", user: "u" } }]
      })

      const error = yield* Effect.flip(Connection.fromKubeconfig(text))
      const trusted = yield* Connection.fromKubeconfig({ text: Redacted.make(text), trusted: true })

      assert.deepInclude(error, { _tag: "KubeconfigUntrusted", field })
      assert.strictEqual(trusted.server, "https://one.example.com")
    })
  )

  it.effect("K6: a connection shows nothing that is secret", () =>
    Effect.gen(function* () {
      const { file } = yield* written
      const connections = [
        yield* Connection.fromKubeconfig({ path: file, context: "two" }),
        yield* Connection.fromKubeconfig({ path: file, context: "exec" }),
        Connection.make({ server: "https://anna:geheim@one.example.com", token: "geheim", clientKey: "geheim" })
      ]

      for (const connection of connections) {
        assert.notInclude(inspect(connection, { depth: null }), "geheim")
        assert.notInclude(JSON.stringify(connection), "geheim")
      }
      assert.deepInclude(connections[2], { server: "https://one.example.com" })
      assert.strictEqual(connections[2]?.basic?.username, "anna")
    })
  )
})

describe("Connection: detection", () => {
  const rows: ReadonlyArray<{
    readonly given?: boolean
    readonly variable?: boolean
    readonly home?: boolean
    readonly found: string
    readonly reason: string
  }> = [
    { given: true, variable: true, home: true, found: "given", reason: "what is asked for comes first" },
    { variable: true, home: true, found: "variable", reason: "KUBECONFIG comes next" },
    { home: true, found: "home", reason: "then the file that kubectl writes" }
  ]
  it.effect.each(rows)("detect takes $found, since $reason", ({ found, given, home, variable }) =>
    Effect.gen(function* () {
      const path = yield* folder
      mkdirSync(join(path, ".kube"))
      const write = (file: string, server: string) => {
        const context = { cluster: "c", user: "" }
        writeFileSync(
          join(path, file),
          JSON.stringify({
            "current-context": "c",
            clusters: [{ name: "c", cluster: { server: `https://${server}` } }],
            contexts: [{ name: "c", context }]
          })
        )
        return join(path, file)
      }
      const options = given === true ? { kubeconfig: write("given", "given") } : {}
      if (home === true) write(".kube/config", "home")
      const env = {
        HOME: path,
        ...(variable === true ? { KUBECONFIG: [write("variable", "variable"), "/nowhere"].join(delimiter) } : {})
      }

      const connection = yield* Connection.detect(options).pipe(variables(env))

      assert.strictEqual(connection.server, `https://${found}`)
    })
  )

  it.effect("detect says where it looked when there is nothing", () =>
    Effect.gen(function* () {
      const path = yield* folder

      const error = yield* Connection.detect().pipe(variables({ HOME: path }), Effect.flip)

      assert.strictEqual(error._tag, "ClusterNotFound")
      assert.strictEqual(
        error.message,
        `No cluster was found (looked at KUBECONFIG, ${path}/.kube/config, the variable KUBERNETES_SERVICE_HOST): ` +
          "set KUBECONFIG to the path of a kubeconfig, or run in a Pod with a service account."
      )
    })
  )

  it.effect("a KUBECONFIG that names nothing is an error, and not a reason to take another cluster", () =>
    Effect.gen(function* () {
      const path = yield* folder

      const error = yield* Connection.detect().pipe(
        variables({ HOME: path, KUBECONFIG: join(path, "no") }),
        Effect.flip
      )

      assert.deepInclude(error, { _tag: "KubeconfigUnreadable", code: "ENOENT", path: join(path, "no") })
    })
  )
})

describe("Connection: in a Pod", () => {
  it.effect("K2: a Pod's service account is used by its files, over TLS", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const authority = makeAuthority("cluster")
      const own = authority.issue("server")
      const server = yield* serve((_, index) => (index === 0 ? { status: 401 } : { body: { kind: "Namespace" } }), {
        cert: own.certificate,
        key: own.key
      })
      writeFileSync(join(path, "token"), "first")
      writeFileSync(join(path, "ca.crt"), authority.certificate)
      writeFileSync(join(path, "namespace"), "shop\n")
      const env = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: new URL(server.url).port }

      const account = yield* InCluster.at(path).pipe(variables(env))
      const connection = Connection.make(account)
      const answers = yield* Effect.gen(function* () {
        const client = yield* Client.Client
        const refused = yield* Effect.flip(client.get(Builtin.Namespace, { name: "shop" }))
        writeFileSync(join(path, "token"), "second")
        // The token of the first request is still fresh: the 401 is what has the file read again.
        return [refused._tag, (yield* client.get(Builtin.Namespace, { name: "shop" })).kind]
      }).pipe(Effect.provide(Layer.fresh(Client.layerFromConnection(connection))))

      assert.deepInclude(connection, { server: server.url, namespace: "shop", ca: { file: join(path, "ca.crt") } })
      assert.deepStrictEqual(answers, ["Unauthorized", "Namespace"])
    })
  )

  it.effect("an address of IPv6 is written as URLs want it", () =>
    Effect.gen(function* () {
      const path = yield* folder
      writeFileSync(join(path, "token"), "t")

      const account = yield* InCluster.at(path).pipe(variables({ KUBERNETES_SERVICE_HOST: "fd00::1" }))

      assert.deepInclude(account, { server: "https://[fd00::1]:443", ca: undefined, namespace: undefined })
    })
  )

  it.effect("elsewhere, what is missing is named", () =>
    Effect.gen(function* () {
      const path = yield* folder

      const outside = yield* InCluster.at(path).pipe(variables({}), Effect.flip)
      const noToken = yield* InCluster.at(path).pipe(variables({ KUBERNETES_SERVICE_HOST: "10.0.0.1" }), Effect.flip)

      assert.strictEqual(outside.missing, "the variable KUBERNETES_SERVICE_HOST")
      assert.strictEqual(noToken.missing, `the file ${join(path, "token")}`)
    })
  )
})
