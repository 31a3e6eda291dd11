/** The programs that are compared: Berth's, bundled as an image has it, and the same written with controller-runtime. */
import { execFileSync, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import type * as LocalProcess from "@berth/testing/LocalProcess"
import type { Effect, Scope } from "effect"
import { bundle } from "./bundle.ts"
import { launch, type Launched } from "./launch.ts"

export interface Flags {
  readonly cache: "none" | "widget" | "kinds" | "configmap" | "configmap-unstructured" | "configmap-metadata"
  readonly concurrency?: number | undefined
  readonly leader?: boolean | undefined
  readonly metrics?: boolean | undefined
  readonly resyncSeconds?: number | undefined
  /** Report each pass of so many reconciles. */
  readonly expect?: number | undefined
}

export interface Peer {
  readonly name: "berth" | "controller-runtime"
  readonly launch: (flags: Flags) => Effect.Effect<Launched, LocalProcess.SpawnFailed, Scope.Scope>
}

/**
 * What the image of a program sets. Node reads sockets into buffers of 64 KB that live until the next collection: given pages of their own,
 * they leave no holes in the system's heap.
 */
export const imageEnv = { MALLOC_MMAP_THRESHOLD_: "32768" }

/** Where a program finds the cluster. */
export interface Target {
  readonly kubeconfigFile: string
  /** The same as what `Connection.make` takes, in JSON. */
  readonly connectionFile: string
}

const here = import.meta.dirname

const cacheFolder = (): string => process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache")

const hasGo = (): boolean => spawnSync("go", ["version"]).status === 0

/** Builds once for each state of the sources; undefined where there is no Go. */
const goProgram = (): string | undefined => {
  const source = join(here, "..", "peers", "controller-runtime")
  const hash = createHash("sha256")
  for (const file of readdirSync(source).sort()) hash.update(readFileSync(join(source, file)))
  const folder = join(cacheFolder(), "berth", "bench")
  const program = join(folder, `controller-runtime-${hash.digest("hex").slice(0, 16)}`)
  if (existsSync(program)) return program
  if (!hasGo()) return undefined
  mkdirSync(folder, { recursive: true })
  console.error("building the peer with controller-runtime")
  execFileSync("go", ["build", "-trimpath", "-ldflags", "-s -w", "-o", program, "."], {
    cwd: source,
    env: { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-buildvcs=false", CGO_ENABLED: "0" },
    stdio: ["ignore", "inherit", "inherit"]
  })
  return program
}

const berth = (program: string, { connectionFile }: Target): Peer => ({
  name: "berth",
  launch: ({ cache, concurrency = 1, expect, leader, metrics, resyncSeconds }) =>
    launch(
      "berth",
      process.execPath,
      [
        program,
        `--connection=${connectionFile}`,
        `--cache=${cache}`,
        `--concurrency=${concurrency}`,
        ...(leader === true ? ["--leader"] : []),
        ...(metrics === true ? ["--metrics"] : []),
        ...(resyncSeconds === undefined ? [] : [`--resync=${resyncSeconds}`]),
        ...(expect === undefined ? [] : [`--expect=${expect}`])
      ],
      imageEnv
    )
})

const controllerRuntime = (program: string, { kubeconfigFile }: Target): Peer => ({
  name: "controller-runtime",
  launch: ({ cache, concurrency = 1, expect, leader, metrics, resyncSeconds }) =>
    launch("controller-runtime", program, [
      `-kubeconfig=${kubeconfigFile}`,
      `-cache=${cache}`,
      `-concurrency=${concurrency}`,
      ...(leader === true ? ["-leader"] : []),
      ...(metrics === true ? ["-metrics=127.0.0.1:0"] : []),
      ...(resyncSeconds === undefined ? [] : [`-resync=${resyncSeconds}s`]),
      ...(expect === undefined ? [] : [`-expect=${expect}`])
    ])
})

export interface Peers {
  readonly berth: Peer
  /** Undefined where there is no Go to build it with. */
  readonly other: Peer | undefined
}

export interface Programs {
  readonly berth: string
  readonly other: string | undefined
}

/** Builds what is not built yet. */
export const build = async (folder: string): Promise<Programs> => {
  const other = goProgram()
  if (other === undefined) {
    console.error("There is no Go on this machine (1.26 or later is needed): Berth is measured alone, without ratios.")
  }
  return { berth: await bundle(join(here, "..", "programs", "main.ts"), folder), other }
}

export const at = ({ berth: program, other }: Programs, target: Target): Peers => ({
  berth: berth(program, target),
  other: other === undefined ? undefined : controllerRuntime(other, target)
})
