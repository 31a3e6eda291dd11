/**
 * How to reach one API server: plain data, from a kubeconfig, from the Pod the program runs in, or given.
 *
 * **Guarantees**
 * - K6: a connection shows no secret when it is logged, printed or made into JSON; what is secret in it is `Redacted`. No
 *   error holds a part of a kubeconfig.
 *
 * - P29: a kubeconfig that came as text reads files, runs commands and uses auth-providers only where its reader allows them.
 *
 * **Caveats**
 * - `HTTPS_PROXY` and its kin are not looked at. Name a proxy in the kubeconfig (`proxy-url`) or in {@link make}.
 *
 * @since 0.1.0
 */
import { Effect, Redacted } from "effect"
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { delimiter, join } from "node:path"
import {
  ClusterNotFound,
  type ConnectionError,
  KubeconfigInvalid,
  KubeconfigUntrusted,
  type NotInCluster
} from "./ConnectionError.ts"
import { variable } from "./internal/environment.ts"
import { isWithin } from "./internal/folders.ts"
import * as InCluster from "./internal/inCluster.ts"
import * as Kubeconfig from "./internal/kubeconfig.ts"
import { refusedCode } from "./internal/networks.ts"

/**
 * A certificate, key or token: given, or in a file that is read again while the program runs.
 *
 * @category models
 * @since 0.1.0
 */
export type Material = Redacted.Redacted | { readonly file: string }

/**
 * A command that prints credentials (`client.authentication.k8s.io`). It is run again when they expire or are refused.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExecCommand {
  readonly apiVersion: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** Beside the program's own environment. */
  readonly env: Redacted.Redacted<Readonly<Record<string, string>>>
  readonly provideClusterInfo: boolean
}

/**
 * An `auth-provider` of a kubeconfig, such as `oidc`.
 *
 * @category models
 * @since 0.1.0
 */
export interface AuthProvider {
  readonly name: string
  readonly config: Redacted.Redacted<Readonly<Record<string, string>>>
}

/**
 * Whom the requests act for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Impersonation {
  readonly user: string
  readonly uid?: string | undefined
  readonly groups?: ReadonlyArray<string> | undefined
  readonly extra?: Readonly<Record<string, ReadonlyArray<string>>> | undefined
}

/**
 * How to reach one API server, and as whom.
 *
 * **Details**: of the ways to prove who one is, a client certificate goes with any of the others; of those the first that is
 * there counts: `token`, `basic`, `exec`, `authProvider`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Connection {
  /** `https://host:port`, and a path where the API is not at the root. */
  readonly server: string
  /** Where this was found, for people. */
  readonly source: string
  /** The namespace that a kubeconfig's context or the Pod names. */
  readonly namespace: string | undefined
  /** Whom to trust; the system's authorities when absent. */
  readonly ca: Material | undefined
  readonly clientCertificate: Material | undefined
  readonly clientKey: Material | undefined
  readonly token: Material | undefined
  readonly basic: { readonly username: string; readonly password: Redacted.Redacted } | undefined
  readonly exec: ExecCommand | undefined
  readonly authProvider: AuthProvider | undefined
  readonly impersonate: Impersonation | undefined
  /** Does not check whom it talks to: for experiments. */
  readonly insecureSkipTlsVerify: boolean
  /** The name in the server's certificate, where it is not the host's. */
  readonly tlsServerName: string | undefined
  /** `http:`, `https:` or `socks5:`. It may hold a password. */
  readonly proxyUrl: Redacted.Redacted | undefined
  /**
   * Networks such as `169.254.0.0/16`. No address in them is connected to, be it the server's or the proxy's, also where a name
   * leads there.
   */
  readonly refusedNetworks: ReadonlyArray<string>
}

/**
 * The `code` of the cause of an `Unreachable` for an address in a refused network.
 *
 * @category constants
 * @since 0.1.0
 */
export const refusedNetworkCode = refusedCode

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly server: string
  /** Default: `given`. */
  readonly source?: string | undefined
  readonly namespace?: string | undefined
  /** PEM. */
  readonly ca?: string | Material | undefined
  /** PEM. */
  readonly clientCertificate?: string | Material | undefined
  /** PEM. */
  readonly clientKey?: string | Material | undefined
  readonly token?: string | Material | undefined
  readonly basic?: Connection["basic"]
  readonly exec?: ExecCommand | undefined
  readonly authProvider?: AuthProvider | undefined
  readonly impersonate?: Impersonation | undefined
  readonly insecureSkipTlsVerify?: boolean | undefined
  readonly tlsServerName?: string | undefined
  readonly proxyUrl?: string | Redacted.Redacted | undefined
  /** Default: none. */
  readonly refusedNetworks?: ReadonlyArray<string> | undefined
}

const redacted = <A>(value: string | A): Redacted.Redacted | A =>
  typeof value === "string" ? Redacted.make(value) : value

/** A password in a URL would be shown wherever the URL is. */
const withoutUser = (server: string): string => {
  if (!URL.canParse(server)) return server
  const url = new URL(server)
  url.username = ""
  url.password = ""
  return url.href.replace(/\/+$/, "")
}

const userOf = (server: string): Connection["basic"] => {
  if (!URL.canParse(server)) return undefined
  const { password, username } = new URL(server)
  return username === ""
    ? undefined
    : { username: decodeURIComponent(username), password: Redacted.make(decodeURIComponent(password)) }
}

/**
 * A connection from its parts. Text becomes `Redacted`, and so does a password in the server's URL.
 *
 * **Example** (A test server)
 * ```ts
 * import * as Connection from "@berth/kube/Connection"
 *
 * export const connection = Connection.make({ server: "http://127.0.0.1:8080", token: "let-me-in" })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Connection => ({
  server: withoutUser(options.server),
  source: options.source ?? "given",
  namespace: options.namespace,
  ca: redacted(options.ca),
  clientCertificate: redacted(options.clientCertificate),
  clientKey: redacted(options.clientKey),
  token: redacted(options.token),
  basic: options.basic ?? userOf(options.server),
  exec: options.exec,
  authProvider: options.authProvider,
  impersonate: options.impersonate,
  insecureSkipTlsVerify: options.insecureSkipTlsVerify ?? false,
  tlsServerName: options.tlsServerName,
  proxyUrl: redacted(options.proxyUrl),
  refusedNetworks: options.refusedNetworks ?? []
})

/**
 * What a kubeconfig of somebody else may do on this machine, with the rights of this program. Nothing by default.
 *
 * **Details**: what a file holds is sent to a server that the kubeconfig names. Commands run in the environment of this program, and
 * the kubeconfig adds variables to it: judge the arguments and the variables, too.
 *
 * @category models
 * @since 0.1.0
 */
export interface Trust {
  /** Which commands may be run for credentials (`exec`). */
  readonly exec?: ((command: ExecCommand) => boolean) | undefined
  /** Folders, whose files it may name: certificates, keys and tokens. */
  readonly folders?: ReadonlyArray<string> | undefined
  /** Which `auth-provider`s may be used. Some run commands, read files, and talk to servers of their own. */
  readonly authProvider?: ((provider: AuthProvider) => boolean) | undefined
}

/**
 * A kubeconfig: as text, or by its path. Of several paths, which `KUBECONFIG` may hold, the first that names a thing counts.
 *
 * @category models
 * @since 0.1.0
 */
export type KubeconfigSource =
  | string
  | Redacted.Redacted
  | { readonly path: string | ReadonlyArray<string>; readonly context?: string | undefined }
  | {
      readonly text: string | Redacted.Redacted
      readonly context?: string | undefined
      /** Whether it may name files and commands of this machine, or which ones. Default false. */
      readonly trusted?: boolean | Trust | undefined
    }

/**
 * The connection of one context of a kubeconfig; the current one unless another is named.
 *
 * **Details**: a text is not trusted unless that is said: it must carry its certificates and token itself. So a kubeconfig
 * from a Secret can neither read files of the program that uses it nor run commands there. What is not trusted altogether may
 * have at most 262,144 characters, and no aliases.
 *
 * **Errors**: `KubeconfigUnreadable`, `KubeconfigInvalid`, `ContextMissing`, `KubeconfigUntrusted`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromKubeconfig = Effect.fn("Connection.fromKubeconfig")(function* (
  source: KubeconfigSource
): Effect.fn.Return<Connection, ConnectionError> {
  const asked = typeof source === "string" || Redacted.isRedacted(source) ? { text: source } : source
  if ("path" in asked) {
    return yield* fromEntry(yield* Kubeconfig.fromFiles([asked.path].flat(), asked.context))
  }
  const text = typeof asked.text === "string" ? asked.text : Redacted.value(asked.text)
  const { trusted = false } = asked
  const connection = yield* fromEntry(yield* Kubeconfig.fromText(text, asked.context, trusted === true))
  const field = trusted === true ? undefined : reachesFor(connection, trusted === false ? {} : trusted)
  if (field !== undefined) return yield* new KubeconfigUntrusted({ source: connection.source, field })
  return connection
})

/** The first thing of this machine that the connection uses and is not trusted with. */
const reachesFor = (connection: Connection, { authProvider, exec, folders = [] }: Trust): string | undefined => {
  const { ca, clientCertificate, clientKey, token } = connection
  const files: ReadonlyArray<readonly [string, Material | undefined]> = [
    ["cluster.certificate-authority", ca],
    ["user.client-certificate", clientCertificate],
    ["user.client-key", clientKey],
    ["user.tokenFile", token]
  ]
  const file = files.find(
    ([, material]) => material !== undefined && !Redacted.isRedacted(material) && !isWithin(folders, material.file)
  )
  if (file !== undefined) return file[0]
  if (connection.exec !== undefined && exec?.(connection.exec) !== true) return "user.exec"
  const provider = connection.authProvider
  return provider !== undefined && authProvider?.(provider) !== true ? "user.auth-provider" : undefined
}

/**
 * The API server of the cluster whose Pod the program runs in, with the Pod's service account.
 *
 * **Errors**: `NotInCluster`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const inCluster: Effect.Effect<Connection, NotInCluster> = Effect.map(
  InCluster.at(InCluster.accountFolder),
  (account) => make({ ...account, source: "the service account of this Pod" })
)

/**
 * The connection that a person would expect: of the kubeconfig that is named here, else of those that `KUBECONFIG` names, else
 * of `~/.kube/config` where there is one, else of the cluster that the program runs in.
 *
 * **Errors**: `ClusterNotFound` where there is none of these; else those of {@link fromKubeconfig}.
 *
 * @category constructors
 * @since 0.1.0
 */
export const detect = Effect.fn("Connection.detect")(function* (
  options: { readonly kubeconfig?: string | undefined; readonly context?: string | undefined } = {}
): Effect.fn.Return<Connection, ConnectionError> {
  const { context } = options
  if (options.kubeconfig !== undefined) return yield* fromKubeconfig({ path: options.kubeconfig, context })
  const named = ((yield* variable("KUBECONFIG")) ?? "").split(delimiter).filter((path) => path !== "")
  if (named.length > 0) return yield* fromKubeconfig({ path: named, context })
  const usual = join((yield* variable("HOME")) ?? homedir(), ".kube", "config")
  if (existsSync(usual)) return yield* fromKubeconfig({ path: usual, context })
  return yield* Effect.mapError(
    inCluster,
    ({ missing }) => new ClusterNotFound({ looked: ["KUBECONFIG", usual, missing] })
  )
})

const fromEntry = Effect.fnUntraced(function* ({ cluster, namespace, source, user }: Kubeconfig.Entry) {
  const invalid = (problem: string) => new KubeconfigInvalid({ source, problem })
  const server = (cluster.server ?? "").replace(/\/+$/, "")
  if (!URL.canParse(server) || !/^https?:/.test(server)) return yield* invalid("the cluster's server is not a URL")
  return make({
    server,
    source,
    namespace,
    ca: material(cluster["certificate-authority-data"], cluster["certificate-authority"]),
    clientCertificate: material(user["client-certificate-data"], user["client-certificate"]),
    clientKey: material(user["client-key-data"], user["client-key"]),
    token: filled(user.tokenFile) === undefined ? filled(user.token) : { file: user.tokenFile ?? "" },
    basic:
      filled(user.username) === undefined
        ? undefined
        : { username: user.username ?? "", password: Redacted.make(user.password ?? "") },
    exec: execOf(user.exec),
    authProvider:
      filled(user["auth-provider"]?.name) === undefined
        ? undefined
        : { name: user["auth-provider"]?.name ?? "", config: Redacted.make(user["auth-provider"]?.config ?? {}) },
    impersonate:
      filled(user.as) === undefined
        ? undefined
        : {
            user: user.as ?? "",
            uid: filled(user["as-uid"]),
            groups: user["as-groups"] ?? undefined,
            extra: user["as-user-extra"] ?? undefined
          },
    insecureSkipTlsVerify: cluster["insecure-skip-tls-verify"] ?? false,
    tlsServerName: filled(cluster["tls-server-name"]),
    proxyUrl: filled(cluster["proxy-url"])
  })
})

/** Kubeconfigs say "nothing" by leaving out, by null and by an empty text. */
const filled = (text: string | null | undefined): string | undefined =>
  text === null || text === "" ? undefined : text

const material = (data: string | null | undefined, file: string | null | undefined): string | Material | undefined => {
  const inline = filled(data)
  if (inline !== undefined) return Buffer.from(inline, "base64").toString("utf8")
  const path = filled(file)
  return path === undefined ? undefined : { file: path }
}

const execOf = (exec: Kubeconfig.User["exec"]): ExecCommand | undefined =>
  exec === undefined || exec === null
    ? undefined
    : {
        apiVersion: exec.apiVersion,
        command: exec.command,
        args: exec.args ?? [],
        env: Redacted.make(Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value]))),
        provideClusterInfo: exec.provideClusterInfo ?? false
      }
