/**
 * A real Kubernetes control plane for tests: etcd, the API server and the controller manager, from programs of this machine.
 * Where there is no controller manager, as in the folder of envtest, it is an API server alone.
 *
 * **Guarantees**
 * - T1: it serves the same interface, `Cluster`, as the embedded API.
 * - T11: when the scope closes, or the program is killed, the processes, ports and files are gone.
 *
 * **Details**
 * - Everything listens on 127.0.0.1, on free ports. RBAC is on.
 * - No node, no scheduler: `PodRunner` takes the Pods. The controller manager makes Pods of Jobs and collects garbage.
 *
 * **Caveats**
 * - Without a controller manager nobody collects garbage, empties namespaces, makes ServiceAccounts or runs Jobs.
 * - The garbage collector learns of a kind that is defined later only after up to 30 seconds; `definitions` are there before it starts.
 * - A namespace takes 5 seconds to go.
 * - etcd does not sync to disk.
 *
 * @since 0.1.0
 */
import { generateKeyPairSync } from "node:crypto"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import * as Transport from "@berth/kube/Transport"
import type { Draft } from "@berth/kube/KubeObject"
import { Context, Data, Effect, Scope } from "effect"
import { BinariesMissing as Missing, find } from "./internal/controlPlane/binaries.ts"
import * as etcd from "./internal/controlPlane/etcd.ts"
import * as flags from "./internal/controlPlane/flags.ts"
import * as pki from "./internal/pki.ts"
import { kubeconfigOf } from "./internal/controlPlane/kubeconfig.ts"
import { freePorts } from "./internal/freePorts.ts"
import * as LocalProcess from "./internal/process.ts"
import { pause } from "./internal/realTime.ts"

/**
 * The programs of a control plane are not on this machine.
 *
 * @category errors
 * @since 0.1.0
 */
export const BinariesMissing = Missing
/**
 * @category errors
 * @since 0.1.0
 */
export type BinariesMissing = Missing

/**
 * A part of the control plane ended, or was not ready in time.
 *
 * @category errors
 * @since 0.1.0
 */
export class PartFailed extends Data.TaggedError("PartFailed")<{
  readonly part: string
  readonly problem: string
  /** The end of its log. */
  readonly output: string
}> {
  override get message() {
    return `${this.part} ${this.problem}. Its last words:\n${this.output}`
  }
}

/**
 * Why there is no control plane.
 *
 * @category errors
 * @since 0.1.0
 */
export type ControlPlaneError = BinariesMissing | PartFailed | LocalProcess.SpawnFailed

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The folder with the programs. Default: what KUBEBUILDER_ASSETS names. */
  readonly binaries?: string | undefined
  /** CustomResourceDefinitions that are there before the controller manager starts. */
  readonly definitions?: ReadonlyArray<Draft<Builtin.CustomResourceDefinition>> | undefined
  /** Further flags of the API server. */
  readonly apiServerFlags?: ReadonlyArray<string> | undefined
}

/**
 * Who asks: the user and its groups, as RBAC knows them.
 *
 * @category models
 * @since 0.1.0
 */
export interface User {
  readonly name: string
  readonly groups?: ReadonlyArray<string> | undefined
}

/**
 * What only a control plane can do, beside what every cluster does.
 *
 * @category services
 * @since 0.1.0
 */
export class ControlPlane extends Context.Service<
  ControlPlane,
  {
    readonly url: string
    /** For an administrator, whom RBAC does not bind. */
    readonly connection: Connection.Connection
    /** The same, as YAML. */
    readonly kubeconfig: string
    /** For anybody: RBAC says what they may do. */
    readonly connectionFor: (user: User) => Connection.Connection
    /**
     * Makes etcd forget every version but the newest, which the API server does by itself every five minutes. What the API
     * server remembers on its own is not touched: give it `--watch-cache-sizes=configmaps#0` for a kind that is to meet 410.
     */
    readonly compact: Effect.Effect<void>
    /** Ends the API server at once and starts it again on the same port. */
    readonly restartApiServer: Effect.Effect<void, ControlPlaneError>
  }
>()("@berth/testing/ControlPlane") {}

/** A part of the control plane that runs, with the end of its log. */
interface Part {
  readonly running: LocalProcess.Running
  readonly output: () => string
  readonly failed: (problem: string) => PartFailed
}

const outputMax = 2_048

const startPart = Effect.fnUntraced(function* (
  name: string,
  folder: string,
  args: ReadonlyArray<string>
): Effect.fn.Return<Part, LocalProcess.SpawnFailed, Scope.Scope> {
  let output = ""
  const running = yield* LocalProcess.spawn({
    command: join(folder, name),
    args,
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    onOutput: (chunk) => {
      output = (output + chunk.toString()).slice(-outputMax)
    }
  })
  return { running, output: () => output, failed: (problem) => new PartFailed({ part: name, problem, output }) }
})

const looksMax = 1_200
const lookEveryMs = 50

/** Looks again and again for a minute, in real time, until it is so; fails at once when the part ends. */
const until = <R>(part: Part, look: Effect.Effect<boolean, unknown, R>): Effect.Effect<void, PartFailed, R> => {
  const looking = (left: number): Effect.Effect<void, PartFailed, R> =>
    Effect.flatMap(
      Effect.orElseSucceed(look, () => false),
      (yes) => {
        if (yes) return Effect.void
        if (left === 0) return Effect.fail(part.failed("was not ready in time"))
        return Effect.andThen(pause(lookEveryMs), looking(left - 1))
      }
    )
  const ended = Effect.flatMap(part.running.ended, ({ code }) =>
    Effect.fail(part.failed(`ended with exit code ${code}`))
  )
  return Effect.raceFirst(looking(looksMax), ended)
}

const write = (path: string, text: string) => Effect.promise(() => writeFile(path, text, { mode: 0o600 }))

const hosts = ["127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]

const writeCredentials = Effect.fnUntraced(function* (folder: string, authority: pki.Authority) {
  const pkiFolder = join(folder, "pki")
  yield* Effect.promise(() => mkdir(pkiFolder))
  const server = authority.issue({ commonName: "kube-apiserver" }, hosts)
  // Service accounts' tokens are signed with RSA, which every version takes.
  const tokens = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const files = {
    "ca.crt": authority.cert,
    "apiserver.crt": server.cert,
    "apiserver.key": server.key,
    "sa.pub": tokens.publicKey.export({ type: "spki", format: "pem" }),
    "sa.key": tokens.privateKey.export({ type: "pkcs1", format: "pem" })
  }
  yield* Effect.forEach(Object.entries(files), ([name, text]) => write(join(pkiFolder, name), text), { discard: true })
})

const answers = (connection: Connection.Connection, path: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const transport = yield* Transport.Transport
      const about = { verb: "get", resource: path, namespace: undefined, name: undefined }
      const { status } = yield* transport.request({ about, method: "GET", path, headers: {} })
      return status === 200
    })
  ).pipe(Effect.provide(Transport.layer(connection)))

const hasDefaultAccount = (connection: Connection.Connection) =>
  Client.Client.use((client) => client.get(Builtin.ServiceAccount, { namespace: "default", name: "default" })).pipe(
    Effect.as(true),
    Effect.provide(Client.layerFromConnection(connection))
  )

/**
 * Starts a control plane that lives as long as the scope; it takes about four seconds.
 *
 * **Errors**: BinariesMissing says what to install, PartFailed has the last words of the part that did not start.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fn("ControlPlane.make")(function* (
  options: Options = {}
): Effect.fn.Return<ControlPlane["Service"], ControlPlaneError, Scope.Scope> {
  const { folder: binaries, hasManager } = yield* find(options.binaries)
  const folder = yield* LocalProcess.temporaryFolder("berth-control-plane")
  const [etcdPort = 0, peer = 0, api = 0, controllers = 0] = yield* freePorts(4)
  const places = { folder, etcd: etcdPort, peer, api, controllers }
  const authority = pki.authority("berth-control-plane")
  yield* writeCredentials(folder, authority)

  const url = flags.apiUrl(places)
  const connectionFor = ({ groups, name }: User) => {
    const { cert, key } = authority.issue({ commonName: name, organizations: groups })
    return Connection.make({
      server: url,
      ca: authority.cert,
      clientCertificate: cert,
      clientKey: key,
      source: "control plane"
    })
  }
  const kubeconfigFor = ({ groups, name }: User) =>
    kubeconfigOf({ server: url, ca: authority.cert, ...authority.issue({ commonName: name, organizations: groups }) })
  const admin = { name: "admin", groups: ["system:masters"] }
  const connection = connectionFor(admin)

  yield* startPart("etcd", binaries, flags.etcd(places))
  const further = [...(hasManager ? [] : flags.withoutControllers), ...(options.apiServerFlags ?? [])]
  const startApiServer = Effect.gen(function* () {
    const part = yield* startPart("kube-apiserver", binaries, flags.apiServer(places, further))
    yield* until(part, answers(connection, "/readyz"))
    return part
  })
  const scope = yield* Effect.scope
  let current = yield* startApiServer
  yield* define(connection, options.definitions ?? [])

  if (hasManager) {
    const managerFile = join(folder, "controller-manager.kubeconfig")
    yield* write(managerFile, kubeconfigFor({ name: "system:kube-controller-manager" }))
    const manager = yield* startPart("kube-controller-manager", binaries, flags.controllerManager(places, managerFile))
    yield* until(manager, hasDefaultAccount(connection))
  }

  const restartApiServer = Effect.gen(function* () {
    // It would wait for the watches of others to end, for up to a minute.
    yield* current.running.signal("SIGKILL")
    yield* current.running.ended
    current = yield* Scope.provide(startApiServer, scope)
  })
  const compact = etcd.compact(flags.etcdUrl(places))
  return { url, connection, kubeconfig: kubeconfigFor(admin), connectionFor, compact, restartApiServer }
})

const define = (connection: Connection.Connection, definitions: NonNullable<Options["definitions"]>) =>
  Effect.forEach(
    definitions,
    (definition) =>
      Client.Client.use((client) => client.apply(Builtin.CustomResourceDefinition, definition, { force: true })),
    { discard: true }
  ).pipe(Effect.orDie, Effect.provide(Client.layerFromConnection(connection)))
