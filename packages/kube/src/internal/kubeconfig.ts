/** Reads and merges kubeconfigs. What is found is handed on as it stands, with paths made absolute. */
import { Effect, Result, Schema, SchemaIssue } from "effect"
import { readFile } from "node:fs/promises"
import { delimiter, dirname, isAbsolute, resolve } from "node:path"
import * as ConnectionError from "../ConnectionError.ts"

const maybe = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
const text = maybe(Schema.String)
const flag = maybe(Schema.Boolean)
const texts = maybe(Schema.Array(Schema.String))

const Cluster = Schema.Struct({
  server: text,
  "certificate-authority": text,
  "certificate-authority-data": text,
  "insecure-skip-tls-verify": flag,
  "tls-server-name": text,
  "proxy-url": text
})

const Exec = Schema.Struct({
  apiVersion: Schema.String,
  command: Schema.String,
  args: texts,
  env: maybe(Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String }))),
  provideClusterInfo: flag
})

const User = Schema.Struct({
  "client-certificate": text,
  "client-certificate-data": text,
  "client-key": text,
  "client-key-data": text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  as: text,
  "as-uid": text,
  "as-groups": texts,
  "as-user-extra": maybe(Schema.Record(Schema.String, Schema.Array(Schema.String))),
  exec: maybe(Exec),
  "auth-provider": maybe(
    Schema.Struct({ name: Schema.String, config: maybe(Schema.Record(Schema.String, Schema.String)) })
  )
})

const Context = Schema.Struct({ cluster: Schema.String, user: text, namespace: text })

const Config = Schema.Struct({
  "current-context": text,
  clusters: maybe(Schema.Array(Schema.Struct({ name: Schema.String, cluster: maybe(Cluster) }))),
  users: maybe(Schema.Array(Schema.Struct({ name: Schema.String, user: maybe(User) }))),
  contexts: maybe(Schema.Array(Schema.Struct({ name: Schema.String, context: maybe(Context) })))
})
type Config = typeof Config.Type

export type Cluster = typeof Cluster.Type
export type User = typeof User.Type

/** What one context of a kubeconfig comes to. */
export interface Entry {
  readonly source: string
  readonly context: string
  readonly namespace: string | undefined
  readonly cluster: Cluster
  readonly user: User
}

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

/** Where a kubeconfig is wrong. The messages of the issues are left out, since they quote what they found. */
const place = (issue: SchemaIssue.Issue): string => {
  const path = issuesOf(issue).issues[0]?.path ?? []
  const words = path.map((part) => String(typeof part === "object" ? part.key : part))
  return words.length === 0 ? "it is not a map" : `${words.join(".")} is missing or of the wrong type`
}

/** Of whoever is not trusted. A kubeconfig with embedded certificates has a hundredth of that. */
const untrusted = { charsMax: 262_144, aliases: { maxAliases: 0 } }

const parse = Effect.fnUntraced(function* (source: string, yaml: string, trusted: boolean) {
  const invalid = (problem: string) => new ConnectionError.KubeconfigInvalid({ source, problem })
  if (!trusted && yaml.length > untrusted.charsMax) {
    return yield* invalid(`it has more than ${untrusted.charsMax} characters`)
  }
  // The official client costs half a second to load, which only programs with a kubeconfig pay.
  const { loadYaml } = yield* Effect.promise(() => import("@kubernetes/client-node"))
  const value = yield* Effect.try({
    // A few lines of aliases stand for more than any machine holds.
    try: () => loadYaml<unknown>(yaml, trusted ? {} : untrusted.aliases),
    // The parser's message quotes the text.
    catch: () => invalid("it is not YAML")
  })
  const decoded = Schema.decodeUnknownResult(Config)(value)
  return Result.isSuccess(decoded) ? decoded.success : yield* invalid(place(decoded.failure.issue))
})

const absolute = (folder: string, path: string | null | undefined): string | null =>
  path === undefined || path === null || path === "" || isAbsolute(path) ? (path ?? null) : resolve(folder, path)

/** Relative paths in a kubeconfig are relative to its folder. */
const rooted = (folder: string, config: Config): Config => ({
  ...config,
  clusters: (config.clusters ?? []).map(({ cluster, name }) => ({
    name,
    cluster: { ...cluster, "certificate-authority": absolute(folder, cluster?.["certificate-authority"]) }
  })),
  users: (config.users ?? []).map(({ name, user }) => ({
    name,
    user: {
      ...user,
      "client-certificate": absolute(folder, user?.["client-certificate"]),
      "client-key": absolute(folder, user?.["client-key"]),
      tokenFile: absolute(folder, user?.tokenFile),
      exec:
        user?.exec === undefined || user.exec === null
          ? null
          : {
              ...user.exec,
              // A bare name is looked up in PATH.
              command: user.exec.command.includes("/") ? resolve(folder, user.exec.command) : user.exec.command
            }
    }
  }))
})

/** Of entries with the same name, the first file's count. */
const merge = (configs: ReadonlyArray<Config>): Config => ({
  "current-context": configs.map((config) => config["current-context"] ?? "").find((name) => name !== "") ?? "",
  clusters: configs.flatMap(({ clusters }) => clusters ?? []),
  users: configs.flatMap(({ users }) => users ?? []),
  contexts: configs.flatMap(({ contexts }) => contexts ?? [])
})

const select = Effect.fnUntraced(function* (source: string, config: Config, wanted: string | undefined) {
  const find = Effect.fnUntraced(function* <T extends { readonly name: string }>(
    what: "context" | "cluster" | "user",
    entries: ReadonlyArray<T>,
    name: string
  ) {
    const found = entries.find((entry) => entry.name === name)
    if (found !== undefined) return found
    const known = entries.map((entry) => entry.name)
    return yield* new ConnectionError.ContextMissing({ source, what, name, known })
  })
  const name = wanted ?? config["current-context"] ?? ""
  const { context } = yield* find("context", config.contexts ?? [], name)
  const { cluster } = yield* find("cluster", config.clusters ?? [], context?.cluster ?? "")
  const userName = context?.user ?? ""
  const { user } = userName === "" ? { user: undefined } : yield* find("user", config.users ?? [], userName)
  return {
    source: `${source}, context ${name}`,
    context: name,
    namespace: context?.namespace ?? undefined,
    cluster: cluster ?? {},
    user: user ?? {}
  } satisfies Entry
})

const readConfig = Effect.fnUntraced(function* (path: string) {
  const yaml = yield* Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (error) =>
      new ConnectionError.KubeconfigUnreadable({
        path,
        code: error instanceof Error && "code" in error ? String(error.code) : "unknown"
      })
  })
  return rooted(dirname(resolve(path)), yield* parse(path, yaml, true))
})

const isMissing = (error: ConnectionError.ConnectionError): boolean =>
  error._tag === "KubeconfigUnreadable" && error.code === "ENOENT"

/** One context of the files together. Files that do not exist are passed over, unless none does. */
export const fromFiles = Effect.fnUntraced(function* (
  paths: ReadonlyArray<string>,
  context: string | undefined
): Effect.fn.Return<Entry, ConnectionError.ConnectionError> {
  const results = yield* Effect.forEach(paths, (path) => Effect.result(readConfig(path)))
  const failures = results.filter(Result.isFailure).map(({ failure }) => failure)
  const configs = results.filter(Result.isSuccess).map(({ success }) => success)
  const failure = failures.find((error) => !isMissing(error)) ?? (configs.length === 0 ? failures[0] : undefined)
  if (failure !== undefined) return yield* failure
  return yield* select(paths.join(delimiter), merge(configs), context)
})

/** One context of a kubeconfig that came as text. */
export const fromText = Effect.fnUntraced(function* (
  yaml: string,
  context: string | undefined,
  trusted: boolean
): Effect.fn.Return<Entry, ConnectionError.ConnectionError> {
  const source = "the given kubeconfig"
  return yield* select(source, yield* parse(source, yaml, trusted), context)
})
