/**
 * Whether this Node can run the program: to be asked before anything else is loaded, since what an older one lacks shows as a stack of
 * the first library that needs it.
 *
 * **Caveats**
 * - It imports nothing, and whoever asks it has to import the program itself by `import()`.
 *
 * @since 0.1.0
 */

/**
 * The oldest Node that will do, as `engines` of the packages says.
 *
 * @category constants
 * @since 0.1.0
 */
export const oldest = "22.19"

const isOlder = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const [majorOldest = 0, minorOldest = 0] = oldest.split(".").map(Number)
  return major < majorOldest || (major === majorOldest && minor < minorOldest)
}

/**
 * Whether it will do. If not, it says so in a line, and the process is going to end with 2.
 *
 * **Example** (The first lines of a program)
 * ```ts
 * import * as NodeVersion from "@berth/kube/NodeVersion"
 *
 * export const main = (program: () => Promise<unknown>) =>
 *   NodeVersion.isEnough("shop") ? program() : undefined
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const isEnough = (program: string, version: string = process.versions.node): boolean => {
  if (!isOlder(version)) return true
  process.stderr.write(`${program}: this is Node ${version}, and Node ${oldest} or newer is needed\n`)
  process.exitCode = 2
  return false
}
