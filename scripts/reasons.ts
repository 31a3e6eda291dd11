/**
 * Writes docs/concepts/reasons.md: every reason that the libraries declare, with its disposition, its text and what revives it.
 * `node --conditions=@berth/source scripts/reasons.ts`, whenever a vocabulary has changed: a test compares the page with the code.
 */
import { globSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Status from "../packages/provisioners/src/internal/status.ts"

const root = resolve(import.meta.dirname, "..")
const path = "docs/concepts/reasons.md"

/** What a user sees of a vocabulary: where it is exported, and its reasons in declared order. */
interface Vocabulary {
  readonly name: string
  /** Such as `@berth/provisioners/KubeFailure`. */
  readonly module: string
  readonly reasons: ReadonlyArray<Disposition.Description>
}

const isReason = (u: unknown): u is Disposition.Description =>
  typeof u === "function" && ["vocabulary", "reason", "disposition", "template"].every((key) => key in u)

const reasonsOf = (u: unknown): ReadonlyArray<Disposition.Description> => {
  const values: ReadonlyArray<unknown> = typeof u === "object" && u !== null ? Object.values(u) : []
  return values.length > 0 && values.every(isReason) ? values : []
}

/** Programs start when they are imported, and an index repeats what others export. */
const isModule = (file: string): boolean => !/\/(?:main|index)\.ts$/u.test(file)

const vocabulariesOf = async (file: string): Promise<ReadonlyArray<Vocabulary>> => {
  const module = file.replace(/^packages\/(.*)\/src\/(.*)\.ts$/u, "@berth/$1/$2")
  const exported: unknown = await import(pathToFileURL(join(root, file)).href)
  const values: ReadonlyArray<unknown> = Object.values(
    typeof exported === "object" && exported !== null ? exported : {}
  )
  return values.flatMap((value) => {
    const reasons = reasonsOf(value)
    const [first] = reasons
    return first === undefined ? [] : [{ name: first.vocabulary, module, reasons }]
  })
}

/** Every vocabulary that a package exports, by package and module. One that two modules export stands with the first. */
export const vocabularies = async (): Promise<ReadonlyArray<Vocabulary>> => {
  const found = new Map<string, Vocabulary>()
  for (const file of globSync("packages/*/src/*.ts", { cwd: root }).filter(isModule).toSorted()) {
    for (const each of await vocabulariesOf(file)) {
      const known = found.get(each.name)
      const isSame = known === undefined || known.reasons[0] === each.reasons[0]
      if (!isSame) throw new Error(`two vocabularies are named ${each.name}: of ${known.module} and ${each.module}`)
      if (known === undefined) found.set(each.name, each)
    }
  }
  return [...found.values()]
}

const revival: Record<Disposition.Tag, string> = {
  Yield: "itself, in about 10 s",
  Transient: "itself, with backoff",
  Terminal: "a new generation, or `berth.dev/retry`",
  UserActionRequired: "a new generation, `berth.dev/retry`, or a change of an input"
}

const row = (...cells: ReadonlyArray<string>): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [row(...head), `|${"---|".repeat(head.length)}`, ...rows.map((cells) => row(...cells))].join("\n")

const section = ({ module, name, reasons }: Vocabulary): string =>
  [
    `### \`${name}\``,
    `Of \`${module}\`.`,
    table(
      ["reason", "disposition", "message", "what revives it"],
      reasons.map(({ disposition, reason, template }) => [`\`${reason}\``, disposition, template, revival[disposition]])
    )
  ].join("\n\n")

const intro = `# Reasons

<!-- Made by scripts/reasons.ts from the code. Change that, and run it again. -->

Every failure that Berth shows has a reason from one of these closed vocabularies, declared together with its disposition and its
text. The reason is what the condition \`Ready\`, the Events of an object and the entries of \`status.provisioning.progress\` name, and
what \`berth_passes_total\` has as a label, there as \`vocabulary.reason\`. Words in braces are filled with names, numbers and
durations, never with the text of an error. What to do about each is in [Run the operator](../guides/operator.md); what a manager
does with them is in [Provisioners](provisioners.md).

What revives a reason:

- *Itself, in about 10 s*: nothing is wrong, and the object is looked at again, sooner or later where the failing code said so.
- *Itself, with backoff*: tried again after 1 s, then twice as long each time up to 5 min, or when the failing code said.
- *A new generation*: a change of the object's spec.
- *\`berth.dev/retry\`*: another value of this annotation of the object, which also cuts a backoff short.
- *A change of an input*: of an object that the pass read as the user's, such as a Secret that the spec names.

While an object is being deleted nothing parks: what would wait for somebody is tried again with backoff.`

const standings = [Status.provisioned, Status.begun]
const [paused] = Status.paused([], "berth.dev/paused", { generation: 0, nowMs: 0 })

const withoutFailure = [
  "## Without a failure",
  "Reasons of conditions that no vocabulary declares, since nothing has failed.",
  table(
    ["reason", "condition", "message"],
    [
      ...standings.map(({ message, ready, reason }) => [`\`${reason}\``, `\`Ready\` ${ready}`, message]),
      [`\`${paused?.reason}\``, `\`${paused?.type}\` ${paused?.status}`, paused?.message ?? ""]
    ]
  )
].join("\n\n")

/** The page as it has to be. */
export const page = async (): Promise<string> => {
  const all = await vocabularies()
  const packages = [...new Set(all.map(({ module }) => module.split("/").slice(0, 2).join("/")))]
  const sections = packages.flatMap((name) => [
    `## \`${name}\``,
    ...all.filter(({ module }) => module.startsWith(`${name}/`)).map(section)
  ])
  return `${[intro, withoutFailure, ...sections].join("\n\n")}\n`
}

if (import.meta.main) writeFileSync(join(root, path), await page())
