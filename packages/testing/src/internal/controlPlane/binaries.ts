/** Where the programs of a control plane are. */
import { accessSync, constants } from "node:fs"
import { join } from "node:path"
import { Config, Data, Effect, Option } from "effect"

/** In the order in which they start. */
export const programs = ["etcd", "kube-apiserver", "kube-controller-manager"] as const

/** A control plane was asked for, and its programs are not on this machine. */
export class BinariesMissing extends Data.TaggedError("BinariesMissing")<{
  /** Where they were looked for; undefined where no place was named. */
  readonly folder: string | undefined
  readonly missing: ReadonlyArray<string>
}> {
  override get message() {
    const where = this.folder === undefined ? "No folder was named" : `${this.folder} lacks ${this.missing.join(", ")}`
    return `${where}: set KUBEBUILDER_ASSETS to a folder that has ${programs.join(", ")} as executables.`
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

/** The folder that was given, or the one that KUBEBUILDER_ASSETS names, as envtest reads it. */
export const find = Effect.fnUntraced(function* (given: string | undefined) {
  const named = yield* Effect.orDie(
    Effect.map(Config.option(Config.String("KUBEBUILDER_ASSETS")), Option.getOrUndefined)
  )
  const folder = given ?? named
  const missing = programs.filter((program) => folder === undefined || !isThere(join(folder, program)))
  return folder === undefined || missing.length > 0 ? yield* new BinariesMissing({ folder, missing }) : folder
})
