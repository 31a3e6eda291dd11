/** Where the programs of a control plane are. */
import { accessSync, constants } from "node:fs"
import { join } from "node:path"
import { Config, Data, Effect, Option } from "effect"

/** What an API is made of, in the order in which it starts. */
const needed = ["etcd", "kube-apiserver"]
/** Kubernetes' own controllers, which the folder of envtest does not have. */
const manager = "kube-controller-manager"

/** A control plane was asked for, and its programs are not on this machine. */
export class BinariesMissing extends Data.TaggedError("BinariesMissing")<{
  /** Where they were looked for; undefined where no place was named. */
  readonly folder: string | undefined
  readonly missing: ReadonlyArray<string>
}> {
  override get message() {
    const where = this.folder === undefined ? "No folder was named" : `${this.folder} lacks ${this.missing.join(", ")}`
    return `${where}: set KUBEBUILDER_ASSETS to a folder that has ${needed.join(" and ")} as executables, and ${manager} where Kubernetes' own controllers are to be at work.`
  }
}

const isThere = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface Binaries {
  readonly folder: string
  readonly hasManager: boolean
}

/** The folder that was given, or the one that KUBEBUILDER_ASSETS names, as envtest reads it. */
export const find = Effect.fnUntraced(function* (
  given: string | undefined
): Effect.fn.Return<Binaries, BinariesMissing> {
  const named = yield* Effect.orDie(
    Effect.map(Config.option(Config.String("KUBEBUILDER_ASSETS")), Option.getOrUndefined)
  )
  const folder = given ?? named
  const missing = needed.filter((program) => folder === undefined || !isThere(join(folder, program)))
  if (folder === undefined || missing.length > 0) return yield* new BinariesMissing({ folder, missing })
  return { folder, hasManager: isThere(join(folder, manager)) }
})
