/** CPU that programs have used, as the kernel counts it. */
import { readdirSync, readFileSync } from "node:fs"

/** The kernel counts in ticks of a hundredth of a second. */
const ticksPerSecond = 100

interface Process {
  readonly pid: number
  readonly parent: number
  readonly name: string
  readonly own: number
  /** Of its children, when they ended. */
  readonly ended: number
}

/** See proc_pid_stat(5): the name is in parentheses, and may hold any character. */
const read = (pid: number): ReadonlyArray<Process> => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    const end = text.lastIndexOf(")")
    const [, parent, , , , , , , , , , user, system, childrenUser, childrenSystem] = text
      .slice(end + 2)
      .split(" ")
      .map(Number)
    const seconds = (one = 0, other = 0): number => (one + other) / ticksPerSecond
    return [
      {
        pid,
        parent: parent ?? 0,
        name: text.slice(text.indexOf("(") + 1, end),
        own: seconds(user, system),
        ended: seconds(childrenUser, childrenSystem)
      }
    ]
  } catch {
    // It has ended meanwhile.
    return []
  }
}

/** Seconds of one process alone, 0 once it has ended. */
export const of = (pid: number): number => read(pid)[0]?.own ?? 0

/** Seconds by the name of the program. */
export type ByProgram = Readonly<Record<string, number>>

/** Of everything that this process started, and what that started. */
export const ofChildren = (): ByProgram => {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((name) => read(Number(name)))
  const below = new Set([process.pid])
  // A parent may have a greater number than its child.
  for (let before = 0; before < below.size;) {
    before = below.size
    for (const { parent, pid } of all) if (below.has(parent)) below.add(pid)
  }
  const times: Record<string, number> = {}
  for (const { ended, name, own, pid } of all) {
    if (pid !== process.pid && below.has(pid)) times[name] = (times[name] ?? 0) + own + ended
  }
  return times
}
