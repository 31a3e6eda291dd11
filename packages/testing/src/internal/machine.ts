/**
 * What this machine allows the containers of Pods.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { namespaceScript } from "./podMounts.ts"
import * as LocalProcess from "./process.ts"

/** Root needs only a mount namespace; anybody else, or a root without the capability, a user namespace around it. */
const ways: ReadonlyArray<ReadonlyArray<string>> = [["--mount"], ["--user", "--map-root-user", "--mount"]]

/** The real thing: a folder mounted at a path that this machine does not have. */
const works = (program: string, flags: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const folder = yield* LocalProcess.temporaryFolder("berth-probe")
      const [root, source, script] = [join(folder, "root"), join(folder, "source"), join(folder, "enter.sh")]
      mkdirSync(root)
      mkdirSync(source)
      writeFileSync(join(source, "here"), "")
      writeFileSync(script, namespaceScript([{ source, target: "/berth-probe/mounted" }], root, "/"))
      const process = yield* LocalProcess.spawn({
        command: program,
        args: [...flags, "/bin/sh", script, "test", "-e", "/berth-probe/mounted/here"],
        env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
        cwd: "/",
        onOutput: () => undefined
      })
      const { code } = yield* process.ended
      return code === 0 && !existsSync("/berth-probe")
    })
  ).pipe(Effect.orElseSucceed(() => false))

const programs = ["/usr/bin/unshare", "/bin/unshare", "/usr/local/bin/unshare"]

const find = Effect.gen(function* () {
  const program = programs.find((path) => existsSync(path))
  for (const flags of program === undefined ? [] : ways) {
    if (program !== undefined && (yield* works(program, flags))) {
      return [program, ...flags]
    }
  }
  return undefined
})

let found: { readonly command: ReadonlyArray<string> | undefined } | undefined

/**
 * The command that gives another one its own view of the file system; undefined where there is none. A machine does not
 * change its mind: it is asked once in the life of the program.
 */
export const mountNamespace: Effect.Effect<ReadonlyArray<string> | undefined> = Effect.suspend(() =>
  found === undefined
    ? Effect.tap(find, (command) =>
        Effect.sync(() => {
          found = { command }
        })
      )
    : Effect.succeed(found.command)
)
