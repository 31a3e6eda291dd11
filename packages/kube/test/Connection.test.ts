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
import { httpProxy, socksProxy } from "./support/proxies.ts"
import { type Received, serve } from "./support/server.ts"

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

/** A kubeconfig with one cluster and one user, as text. */
const textOf = (parts: { readonly cluster: object; readonly user?: object }): string =>
  JSON.stringify({
    "current-context": "c",
    clusters: [{ name: "c", cluster: parts.cluster }],
    users: [{ name: "u", user: parts.user ?? {} }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }]
  })

/** Reads a namespace by the kubeconfig. */
const ask = (
  source: Connection.KubeconfigSource,
  options: Partial<Pick<Connection.Connection, "refusedNetworks">> = {}
) =>
  Effect.flatMap(Connection.fromKubeconfig(source), (connection) =>
    Client.Client.use((client) => client.get(Builtin.Namespace, { name: "shop" })).pipe(
      Effect.provide(Layer.fresh(Client.layerFromConnection({ ...connection, ...options })))
    )
  )

describe("Connection: ways to authenticate", () => {
  /** A server over TLS that asks for certificates of its authority. */
  const tlsServer = Effect.gen(function* () {
    const authority = makeAuthority("cluster")
    const own = authority.issue("server")
    const server = yield* serve(() => ({ body: { kind: "Namespace" } }), {
      cert: own.certificate,
      key: own.key,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: false
    })
    return {
      ...server,
      authority,
      cluster: { server: server.url, "certificate-authority-data": base64(authority.certificate) }
    }
  })
  const lastOf = ({ received }: { readonly received: ReadonlyArray<Received> }) => received.at(-1)
  const credential = (token: string) =>
    JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: { token } })
  const login = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: process.execPath,
    args: ["-e", `console.log(${JSON.stringify(credential("printed"))})`]
  }

  it.effect("P29: the certificate and key of a kubeconfig are shown to a server that its authority vouches for", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer
      const anna = server.authority.issue("anna")
      const user = {
        "client-certificate-data": base64(anna.certificate),
        "client-key-data": base64(anna.key)
      }

      yield* ask(textOf({ cluster: server.cluster, user }))
      const other = { ...server.cluster, "certificate-authority-data": base64(makeAuthority("other").certificate) }
      const distrusted = yield* Effect.flip(ask(textOf({ cluster: other, user })))

      assert.strictEqual(lastOf(server)?.client, "anna")
      assert.strictEqual(distrusted._tag, "Unreachable")
      // In the words of a kubeconfig, and not in those of Node's own flags.
      assert.match(
        distrusted.message,
        /cannot be reached \(.*certificate-authority-data of the cluster in the kubeconfig\)$/u
      )
      assert.notInclude(distrusted.message, "--use-system-ca")
    })
  )

  it.effect("P29: the token of a kubeconfig is sent", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer

      yield* ask(textOf({ cluster: server.cluster, user: { token: "given" } }))

      assert.strictEqual(lastOf(server)?.headers.authorization, "Bearer given")
    })
  )

  it.effect("P29: the server is asked for by the name that the kubeconfig gives, and not by its host's", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer
      const cluster = { ...server.cluster, "tls-server-name": "api.example.com" }

      const error = yield* Effect.flip(ask(textOf({ cluster })))

      // The certificate is good for 127.0.0.1, where the server is, and for no other name.
      assert.strictEqual(error._tag, "Unreachable")
      assert.include(inspect(error), "ERR_TLS_CERT_ALTNAME_INVALID")
      assert.include(inspect(error), "api.example.com")
    })
  )

  it.effect("P29: the proxy of a kubeconfig is used", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer
      const proxy = yield* httpProxy
      const socks = yield* socksProxy
      const urls = [`http://127.0.0.1:${proxy.port}`, `socks5://127.0.0.1:${socks.port}`]

      yield* Effect.forEach(urls, (url) => ask(textOf({ cluster: { ...server.cluster, "proxy-url": url } })))

      const { host } = new URL(server.url)
      assert.deepStrictEqual([proxy.asked.map(({ target }) => target), socks.asked], [[host], [host]])
    })
  )

  it.effect("P29: a command is run where the program allows that very command, and nowhere else", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer
      const text = textOf({ cluster: server.cluster, user: { exec: { ...login, env: [{ name: "A", value: "1" }] } } })
      const seen: Array<string> = []
      const trusted = {
        exec: ({ args, command, env }: Connection.ExecCommand) => {
          seen.push(command, ...args, JSON.stringify(Redacted.value(env)))
          return true
        }
      }

      yield* ask({ text, trusted })
      const refused = yield* Effect.flip(ask({ text, trusted: { exec: () => false } }))
      const others = yield* Effect.flip(ask({ text, trusted: { folders: ["/"], authProvider: () => true } }))

      assert.strictEqual(lastOf(server)?.headers.authorization, "Bearer printed")
      assert.deepStrictEqual(seen, [login.command, ...login.args, `{"A":"1"}`])
      for (const error of [refused, others])
        assert.deepInclude(error, { _tag: "KubeconfigUntrusted", field: "user.exec" })
      assert.strictEqual(server.received.length, 1)
    })
  )

  it.effect("P29: a token is read from a file of the folders that the program allows, and from no other", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer
      const path = yield* folder
      mkdirSync(join(path, "tenants"))
      writeFileSync(join(path, "tenants", "token"), "filed")
      writeFileSync(join(path, "secret"), "geheim")
      const trusted = { folders: [join(path, "tenants")] }
      const with_ = (tokenFile: string) =>
        ask({ text: textOf({ cluster: server.cluster, user: { tokenFile } }), trusted })

      yield* with_(join(path, "tenants", "token"))
      const outside = [
        join(path, "secret"),
        `${path}/tenants/../secret`,
        `${path}/tenants-of-others`,
        join(path, "tenants"),
        "tenants/token"
      ]
      const errors = yield* Effect.forEach(outside, (file) => Effect.flip(with_(file)))

      assert.strictEqual(lastOf(server)?.headers.authorization, "Bearer filed")
      for (const error of errors) assert.deepInclude(error, { _tag: "KubeconfigUntrusted", field: "user.tokenFile" })
      assert.strictEqual(server.received.length, 1)
    })
  )

  it.effect("P29: certificates too are read only from allowed folders, and auth-providers are asked about", () =>
    Effect.gen(function* () {
      const trusted = { folders: ["/pki/"], authProvider: ({ name }: Connection.AuthProvider) => name === "oidc" }
      const cluster = { server: "https://one.example.com" }
      const read = (parts: { readonly cluster: object; readonly user?: object }) =>
        Effect.match(Connection.fromKubeconfig({ text: textOf(parts), trusted }), {
          onFailure: (error) => ("field" in error ? error.field : error.message),
          onSuccess: () => "taken"
        })

      const answers = [
        yield* read({ cluster: { ...cluster, "certificate-authority": "/pki/ca.crt" } }),
        yield* read({ cluster: { ...cluster, "certificate-authority": "/etc/ca.crt" } }),
        yield* read({ cluster, user: { "client-certificate": "/pki/a.crt", "client-key": "/pki/a.key" } }),
        yield* read({ cluster, user: { "client-certificate": "/pki/a.crt", "client-key": "/etc/a.key" } }),
        yield* read({ cluster, user: { "auth-provider": { name: "oidc" } } }),
        yield* read({ cluster, user: { "auth-provider": { name: "gcp" } } })
      ]

      assert.deepStrictEqual(answers, [
        "taken",
        "cluster.certificate-authority",
        "taken",
        "user.client-key",
        "taken",
        "user.auth-provider"
      ])
    })
  )
})

describe("Connection: hostile kubeconfigs", () => {
  const cluster = { server: "https://one.example.com" }

  it.effect("P29: what is longer than any kubeconfig is refused before it is read", () =>
    Effect.gen(function* () {
      const long = textOf({ cluster, user: { token: "x".repeat(262_144) } })

      const error = yield* Effect.flip(Connection.fromKubeconfig(long))
      const trusted = yield* Connection.fromKubeconfig({ text: long, trusted: true })

      assert.deepInclude(error, { _tag: "KubeconfigInvalid", problem: "it has more than 262144 characters" })
      assert.strictEqual(trusted.server, cluster.server)
    })
  )

  it.effect("P29: aliases are refused, since a few lines of them stand for more than any machine holds", () =>
    Effect.gen(function* () {
      const nested = Array.from({ length: 12 }, (_, level) => {
        const properties = "abcdefgh".split("").map((name) => `${name}: *p${level}`)
        return `p${level + 1}: &p${level + 1} {properties: {${properties.join(", ")}}}`
      })
      // The parser that is used unfolds the objects of kinds that it knows.
      const bomb = [
        "apiVersion: apiextensions.k8s.io/v1",
        "kind: CustomResourceDefinition",
        "p0: &p0 {properties: {}}",
        ...nested,
        "spec: {versions: [{schema: {openAPIV3Schema: *p12}}]}"
      ].join("\n")

      const error = yield* Effect.flip(Connection.fromKubeconfig(bomb))

      assert.deepInclude(error, { _tag: "KubeconfigInvalid", problem: "it is not YAML" })
    })
  )

  it.effect("P29: fields that nobody knows change nothing", () =>
    Effect.gen(function* () {
      const text = `{"__proto__": {"a": 1}, "constructor": {}, "current-context": "c", "clusters": [{"name": "c", "cluster":
        {"server": "https://one.example.com", "insecure": true, "exec": {"command": "sh"}}}], "users": [{"name": "u", "user":
        {"token-file": "/etc/shadow"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`

      const connection = yield* Connection.fromKubeconfig(text)

      const expected = Connection.make({ server: cluster.server, source: "the given kubeconfig, context c" })
      assert.deepStrictEqual(connection, expected)
    })
  )

  it.effect.each([
    { cluster: { server: "http://169.254.169.254/" }, reason: "an address of a metadata service" },
    { cluster: { server: "https://2852039166" }, reason: "the same as a number" },
    { cluster: { server: "https://[::ffff:169.254.169.254]" }, reason: "the same in IPv6" },
    { cluster: { server: "https://[fe80::1]:6443" }, reason: "a link-local address" },
    { cluster: { server: "https://localhost:1" }, reason: "a name that leads to this machine" },
    { cluster: { ...cluster, "proxy-url": "http://169.254.169.254:80" }, reason: "a proxy there" },
    { cluster: { ...cluster, "proxy-url": "http://localhost:1" }, reason: "a proxy by its name" },
    { cluster: { ...cluster, "proxy-url": "socks5://localhost:1" }, reason: "a proxy of SOCKS" }
  ])("P29: refused networks are not connected to: $reason", ({ cluster }) =>
    Effect.gen(function* () {
      const refusedNetworks = ["169.254.0.0/16", "fe80::/10", "127.0.0.0/8", "::1/128"]

      const error = yield* Effect.flip(ask(textOf({ cluster }), { refusedNetworks }))

      assert.strictEqual(error._tag, "Unreachable")
      assert.propertyVal("cause" in error ? error.cause : {}, "code", Connection.refusedNetworkCode)
    })
  )

  it.effect("P29: what is not in a refused network is connected to, by address and by name", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => ({ body: { kind: "Namespace" } }))
      const servers = [server.url, server.url.replace("127.0.0.1", "localhost")]

      for (const url of servers) {
        yield* ask(textOf({ cluster: { server: url } }), { refusedNetworks: ["169.254.0.0/16"] })
      }

      assert.strictEqual(server.received.length, 2)
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
        ...(variable === true
          ? { KUBECONFIG: [write("variable", "variable"), join(path, "none")].join(delimiter) }
          : {})
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
