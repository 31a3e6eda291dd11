/**
 * How a local process finds the volumes of its Pod under the paths that the Pod gives them. Two ways:
 *
 * - In a mount namespace of its own (Linux, where this program may make one): the process gets a root folder in memory with
 *   the machine's folders bound into it and the volumes at their paths. Everything is where the Pod says.
 * - Otherwise the volumes are under a folder of the container, and the declared paths are replaced in the texts of the Pod
 *   that name them: command, arguments and literal values of variables. A file in a volume is not changed: if it names a
 *   mount path itself, it must put `$BERTH_POD_ROOT` before it, which is empty in the first way and on a real cluster.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync
} from "node:fs"
import { basename, dirname, join, normalize } from "node:path"

/** Something at `source` on this machine that the process is to find at `target`. */
export interface Mount {
  readonly source: string
  readonly target: string
}

/** Where the mounts are, for the process. */
export interface Placed {
  /** Before a mount path in this process's view; empty where the paths are exact. */
  readonly root: string
  /** Replaces mount paths in a text of the Pod. */
  readonly literal: (text: string) => string
}

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`)

/** A path is named where no longer name goes on before or after it. Longer paths first: one may be inside another. */
const replacing = (mounts: ReadonlyArray<Mount>, root: string): ((text: string) => string) => {
  const paths = mounts.map(({ target }) => target).sort((a, b) => b.length - a.length)
  const pattern = new RegExp(String.raw`(?<![\w./-])(?:${paths.map(escape).join("|")})(?![\w.-])`, "gu")
  return (text) => (paths.length === 0 ? text : text.replaceAll(pattern, (path) => `${root}${path}`))
}

/** Puts links to the mounts under `root`: the second way. */
export const link = (mounts: ReadonlyArray<Mount>, root: string): Placed => {
  // Outer paths first, so that an inner one finds the outer's folder and not the other way round.
  for (const { source, target } of [...mounts].sort((a, b) => a.target.length - b.target.length)) {
    const place = join(root, target)
    mkdirSync(dirname(place), { recursive: true })
    if (!existsSync(place)) {
      symlinkSync(source, place)
    }
  }
  return { root, literal: replacing(mounts, root) }
}

/** The first way: nothing to replace. */
export const exact: Placed = { root: "", literal: (text) => text }

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The path behind links of this machine, also where its end does not exist. */
const resolved = (path: string): string => {
  if (existsSync(path)) {
    return realpathSync(path)
  }
  const parent = dirname(path)
  return parent === path ? path : join(resolved(parent), basename(path))
}

/** Folders that must be made anew, since something in them is not on this machine; and all that they are in. */
const madeAnew = (targets: ReadonlyArray<string>): ReadonlySet<string> => {
  const folders = new Set(["/", "/dev"])
  for (const target of targets.filter((path) => !existsSync(path))) {
    for (let path = dirname(target); !folders.has(path); path = dirname(path)) {
      folders.add(path)
    }
  }
  return folders
}

/** What a container finds in /dev. */
const devices = new Set([
  "null",
  "zero",
  "full",
  "random",
  "urandom",
  "tty",
  "fd",
  "stdin",
  "stdout",
  "stderr",
  "pts",
  "shm"
])

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

const bind = (source: string, place: string): ReadonlyArray<string> => [
  isFolder(source) ? `mkdir -p ${quote(place)}` : `{ [ -e ${quote(place)} ] || : >${quote(place)}; }`,
  `mount -o rbind ${quote(source)} ${quote(place)}`
]

/** Shell commands that fill `root` with what is in a folder of this machine. */
const fill = (folder: string, root: string, anew: ReadonlySet<string>): ReadonlyArray<string> => {
  const names = existsSync(folder) ? readdirSync(folder) : []
  const made = [...anew].filter((path) => path !== "/" && dirname(path) === folder)
  return [
    ...made.flatMap((path) => [`mkdir -p ${quote(join(root, path))}`, ...fill(path, root, anew)]),
    ...names.flatMap((name) => {
      const path = join(folder, name)
      const place = join(root, path)
      if (anew.has(path) || (folder === "/dev" && !devices.has(name))) {
        return []
      }
      return lstatSync(path).isSymbolicLink()
        ? [`ln -s ${quote(readlinkSync(path))} ${quote(place)}`]
        : bind(path, place)
    })
  ]
}

/**
 * A program for `/bin/sh`, to be run in a new mount namespace: makes the root folder at `root`, goes to `cwd` in it, and
 * becomes the program that its arguments name.
 */
export const namespaceScript = (mounts: ReadonlyArray<Mount>, root: string, cwd: string): string => {
  const placed = mounts.map(({ source, target }) => ({ source, target: resolved(normalize(target)) }))
  const anew = madeAnew([...placed.map(({ target }) => target), resolved(normalize(cwd))])
  return [
    "set -e",
    // The container's own PATH may lead nowhere on this machine.
    "path=$PATH",
    "PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    `mount -t tmpfs -o mode=0755 tmpfs ${quote(root)}`,
    ...fill("/", root, anew),
    ...[...placed]
      .sort((a, b) => a.target.length - b.target.length)
      .flatMap(({ source, target }) => [
        `mkdir -p ${quote(join(root, dirname(target)))}`,
        ...bind(source, join(root, target))
      ]),
    `mkdir -p ${quote(join(root, cwd))}`,
    "chroot=$(command -v chroot)",
    "PATH=$path",
    `exec "$chroot" ${quote(root)} /bin/sh -c 'cd "$1"; shift; exec "$@"' sh ${quote(cwd)} "$@"`
  ].join("\n")
}
