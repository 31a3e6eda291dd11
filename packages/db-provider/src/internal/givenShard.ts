/** The shard that a command is about: of the cluster, or of a manifest that is in no cluster yet. */
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as CommandLine from "@berth/kube/CommandLine"
import type { ConnectionError } from "@berth/kube/ConnectionError"
import type { KubeError } from "@berth/kube/KubeError"
import * as Manifest from "@berth/kube/Manifest"
import { Data, Effect, Option, Redacted } from "effect"
import { Flag } from "effect/cli"
import { parse } from "yaml"
import { place } from "../Configuration.ts"
import { Shard } from "../Shard.ts"
import * as ShardServer from "../ShardServer.ts"
import * as providedPassword from "./providedPassword.ts"

export const flags = {
  shard: Flag.String("shard").pipe(
    Flag.withDescription("A Shard of the cluster, by its name. Its password is in the Secret that it names."),
    Flag.optional
  ),
  file: Flag.String("file").pipe(
    Flag.withAlias("f"),
    Flag.withDescription("The manifest of a Shard, in no cluster yet; - is standard input."),
    Flag.optional
  ),
  passwordEnv: Flag.String("password-env").pipe(
    Flag.withMetavar("VARIABLE"),
    Flag.withDescription("With --file: the provisioner's password is in this environment variable."),
    Flag.optional
  ),
  passwordFile: Flag.String("password-file").pipe(
    Flag.withDescription("With --file: the provisioner's password is in this file."),
    Flag.optional
  ),
  ...place
}

export interface Given {
  readonly shard: Option.Option<string>
  readonly file: Option.Option<string>
  readonly passwordEnv: Option.Option<string>
  readonly passwordFile: Option.Option<string>
  readonly namespace: string
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
}

const ofManifest = Effect.fnUntraced(function* (path: string) {
  const text = yield* CommandLine.read(path)
  const document = yield* Effect.try({
    try: (): unknown => parse(text),
    catch: () => new CommandLine.UsageError({ problem: `${path} is not YAML` })
  })
  return yield* Effect.mapError(
    Manifest.decode(Shard, document),
    ({ message }) => new CommandLine.UsageError({ problem: `${path} is not the manifest of a Shard: ${message}` })
  )
})

const passwordGiven = Effect.fnUntraced(function* ({ passwordEnv, passwordFile }: Given) {
  if (Option.isSome(passwordFile))
    return Redacted.make(providedPassword.withoutEnd(yield* CommandLine.read(passwordFile.value)))
  const variable = Option.getOrElse(passwordEnv, () => "")
  if (variable === "")
    return yield* new CommandLine.UsageError({
      problem: "give the password with --file: by --password-env or --password-file"
    })
  const password = process.env[variable] ?? ""
  if (password === "") return yield* new CommandLine.UsageError({ problem: `the variable ${variable} is not set` })
  return Redacted.make(password)
})

/** The call is right, and what it means in the cluster is not. */
export class ShardUnusable extends Data.TaggedError("ShardUnusable")<{ readonly problem: string }> {
  override get message() {
    return this.problem
  }
}

/** The password of a Shard of the cluster. */
export const passwordOf = Effect.fnUntraced(function* (
  { metadata, spec }: Shard,
  namespace: string
): Effect.fn.Return<Redacted.Redacted, KubeError | ShardUnusable, Client.Client> {
  const { key, name } = spec.provisionerSecretRef
  const problem = `the Secret ${namespace}/${name}, which Shard ${metadata.name} names, is not there or has no key ${key}`
  const secret = yield* Client.Client.use((client) => client.get(Builtin.Secret, { name, namespace })).pipe(
    Effect.catchTag("NotFound", () => Effect.fail(new ShardUnusable({ problem })))
  )
  const password = providedPassword.of(secret, key)
  return password === "" ? yield* new ShardUnusable({ problem }) : Redacted.make(password)
})

/** A Shard of the cluster. */
export const named = Effect.fnUntraced(function* (name: string) {
  const raw = yield* Client.Client.use((client) => client.get(Shard, { name }))
  return yield* Effect.mapError(
    Shard.decode(raw),
    ({ message }) => new ShardUnusable({ problem: `Shard ${name} cannot be read: ${message}` })
  )
})

export const settings = Effect.fnUntraced(function* (
  given: Given
): Effect.fn.Return<ShardServer.Settings, ConnectionError | KubeError | CommandLine.UsageError | ShardUnusable> {
  const { file, namespace, shard } = given
  if (Option.isSome(file)) {
    if (Option.isSome(shard))
      return yield* new CommandLine.UsageError({ problem: "give either --shard or --file, not both" })
    const manifest = yield* ofManifest(file.value)
    return ShardServer.settingsOf(manifest, yield* passwordGiven(given))
  }
  if (Option.isNone(shard)) return yield* new CommandLine.UsageError({ problem: "give --shard NAME, or --file FILE" })
  const found = Effect.flatMap(named(shard.value), (it) =>
    Effect.map(passwordOf(it, namespace), (password) => ShardServer.settingsOf(it, password))
  )
  return yield* Effect.provide(found, Client.layerDetected(given))
})
