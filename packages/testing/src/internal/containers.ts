/**
 * One container as one local process: what is run, where, with what, and what it leaves behind.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { Data, Effect, type Scope } from "effect"
import * as LogBuffer from "./logBuffer.ts"
import { ConfigMissing, environment, expand, type Lookup } from "./podEnvironment.ts"
import * as PodMounts from "./podMounts.ts"
import * as LocalProcess from "./process.ts"
import { type Container, type Pod, type Terminated, timestamp } from "./workloadTypes.ts"

/** What stands for an image on this machine. */
export interface Image {
  readonly match: string | RegExp
  readonly path?: ReadonlyArray<string> | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly command?: ReadonlyArray<string> | undefined
}

/** What containers run on. */
export interface Machine {
  /** How to enter a mount namespace; undefined where this machine lets nobody. */
  readonly unshare: ReadonlyArray<string> | undefined
  readonly images: ReadonlyArray<Image>
  readonly env: Readonly<Record<string, string>>
}

/** A container with all that it needs at hand. */
export interface Prepared {
  /** What the container runs, as it names it. */
  readonly program: string
  /** The process that becomes it. */
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: ReadonlyMap<string, string>
  readonly cwd: string
  readonly terminationLog: string
}

/** A folder is made where there is nothing. */
const existing = (path: string): string => {
  if (!existsSync(path)) {
    mkdirSync(path, { recursive: true })
  }
  return path
}

const defaultTerminationPath = "/dev/termination-log"

const imageOf = (machine: Machine, name: string): Image | undefined =>
  machine.images.find(({ match }) => (typeof match === "string" ? match === name : match.test(name)))

const sources = (
  container: Container,
  places: ReadonlyMap<string, string>
): Effect.Effect<ReadonlyArray<PodMounts.Mount>, ConfigMissing> =>
  Effect.forEach(container.volumeMounts ?? [], ({ mountPath, name, subPath = "" }) => {
    const place = places.get(name)
    return place === undefined
      ? Effect.fail(new ConfigMissing({ why: `volume ${JSON.stringify(name)} is not in the Pod` }))
      : Effect.sync(() => ({ source: existing(join(place, subPath)), target: mountPath }))
  })

/** Folders under /tmp that a process must go on seeing, so that it cannot have a /tmp of its own. */
const usesTmp = (paths: ReadonlyArray<string>): boolean => paths.some((path) => path.startsWith("/tmp/"))

/** How the process finds its volumes, and what the texts of the Pod become for that. */
const place = (machine: Machine, mounts: ReadonlyArray<PodMounts.Mount>, root: string): PodMounts.Placed =>
  machine.unshare === undefined ? PodMounts.link(mounts, root) : PodMounts.exact

/** What the container would have from its image, and where its folders are. */
const baseEnvironment = (machine: Machine, image: Image | undefined, pod: Pod, root: string) => ({
  PATH: [...(image?.path ?? []), process.env["PATH"] ?? "/usr/bin:/bin"].join(delimiter),
  HOME: root === "" ? "/" : root,
  HOSTNAME: pod.metadata.name,
  BERTH_POD_ROOT: root,
  ...machine.env,
  ...image?.env
})

/** Fails while something that the container refers to is missing. `folder` is its own. */
export const prepare = Effect.fnUntraced(function* <E>(options: {
  readonly machine: Machine
  readonly pod: Pod
  readonly container: Container
  readonly places: ReadonlyMap<string, string>
  readonly folder: string
  readonly lookup: Lookup<E>
}): Effect.fn.Return<Prepared, E | ConfigMissing> {
  const { container, folder, lookup, machine, places, pod } = options
  const image = imageOf(machine, container.image ?? "")
  const terminationLog = join(folder, "termination-log")
  const logMount = { source: terminationLog, target: container.terminationMessagePath ?? defaultTerminationPath }
  const mounts = [...(yield* sources(container, places)), logMount]
  const root = existing(join(folder, "root"))
  const tmp = existing(join(folder, "tmp"))
  writeFileSync(terminationLog, "")
  const placed = place(machine, mounts, root)
  const base = baseEnvironment(machine, image, pod, placed.root)
  const ownTmp = machine.unshare !== undefined && !usesTmp([...base.PATH.split(delimiter), ...(image?.command ?? [])])
  const env = yield* environment({
    pod,
    container,
    base: ownTmp ? base : { ...base, TMPDIR: tmp },
    lookup,
    literal: placed.literal
  })
  const command = container.command ?? []
  const words = [...(command.length > 0 ? command : (image?.command ?? [])), ...(container.args ?? [])]
  const [program = "", ...args] = words.map((text) => expand(placed.literal(text), env))
  if (machine.unshare === undefined) {
    const wanted = placed.literal(container.workingDir ?? root)
    const cwd = existsSync(wanted) ? wanted : existing(join(root, wanted))
    return { program, command: program, args, env, cwd, terminationLog }
  }
  const script = join(folder, "enter.sh")
  const all = ownTmp ? [{ source: tmp, target: "/tmp" }, ...mounts] : mounts
  writeFileSync(script, PodMounts.namespaceScript(all, root, container.workingDir ?? "/"))
  const [unshare = "", ...flags] = machine.unshare
  return {
    program,
    command: unshare,
    args: [...flags, "/bin/sh", script, program, ...args],
    env,
    cwd: "/",
    terminationLog
  }
})

/** The container's program is not there: what a container runtime calls a StartError. */
export class NotStarted extends Data.TaggedError("NotStarted")<{ readonly why: string }> {
  override get message() {
    return this.why
  }
}

const onPath = (program: string, path: string): boolean =>
  program.includes("/") || path.split(delimiter).some((folder) => existsSync(join(folder, program)))

/** Starts the process; the end of the scope is its end. */
export const start = Effect.fnUntraced(function* (
  { args, command, cwd, env, program }: Prepared,
  log: LogBuffer.LogBuffer
): Effect.fn.Return<LocalProcess.Running, NotStarted, Scope.Scope> {
  if (program === "") {
    return yield* new NotStarted({ why: "no command specified" })
  }
  if (!onPath(program, env.get("PATH") ?? "")) {
    return yield* new NotStarted({ why: `exec: ${JSON.stringify(program)}: executable file not found in $PATH` })
  }
  return yield* LocalProcess.spawn({ command, args, env: Object.fromEntries(env), cwd, onOutput: log.add }).pipe(
    Effect.mapError(({ why }) => new NotStarted({ why }))
  )
})

const messageBytesMax = 4_096
const fallbackBytesMax = 2_048
const fallbackLinesMax = 80

/** The container's last words: what it wrote for the purpose or, if it asks for that and failed, the end of its log. */
const message = (container: Container, prepared: Prepared, exitCode: number, log: LogBuffer.LogBuffer): string => {
  const written = readFileSync(prepared.terminationLog)
  return written.length > 0 || exitCode === 0 || container.terminationMessagePolicy !== "FallbackToLogsOnError"
    ? written.subarray(-messageBytesMax).toString()
    : LogBuffer.tail(log.text(), fallbackLinesMax, fallbackBytesMax)
}

/** What the status says of a container that has ended. */
export const terminated = (options: {
  readonly container: Container
  readonly prepared: Prepared
  readonly exitCode: number
  readonly log: LogBuffer.LogBuffer
  readonly startedAtMs: number
  readonly finishedAtMs: number
}): Terminated => {
  const { container, exitCode, finishedAtMs, log, prepared, startedAtMs } = options
  const text = message(container, prepared, exitCode, log)
  return {
    exitCode,
    reason: exitCode === 0 ? "Completed" : "Error",
    ...(text === "" ? {} : { message: text }),
    startedAt: timestamp(startedAtMs),
    finishedAt: timestamp(finishedAtMs)
  }
}
