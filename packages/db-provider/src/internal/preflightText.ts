/** What preflight found, as SQL with comments: whoever agrees pastes all of it into psql. */
import type { Finding, Report } from "../Preflight.ts"
import { LoginRefused, type PostgresError } from "../PostgresError.ts"
import type { Settings } from "../ShardServer.ts"

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`

const finding = ({ id, message, severity, sql }: Finding): ReadonlyArray<string> => [
  `-- ${severity === "problem" ? "PROBLEM" : "warning"} ${id}: ${oneLine(message)}`,
  ...(sql === "" ? [] : [sql])
]

/** A comment ends with its line: what a server said must not go on as SQL. */
const oneLine = (text: string): string => text.replaceAll(/[\r\n]+/gu, " ")

const title = ({ primary, shard }: Settings): string =>
  `-- ${shard}: ${primary.user} at ${primary.host}:${primary.port}`

export const ofReport = (settings: Settings, { findings, serverVersion }: Report): string => {
  const problems = findings.filter(({ severity }) => severity === "problem").length
  const verdict = problems === 0 ? "the shard can serve" : "the shard cannot serve yet"
  const counts = [counted(problems, "problem"), counted(findings.length - problems, "warning")].join(", ")
  return [
    `${title(settings)}, PostgreSQL ${oneLine(serverVersion)}`,
    ...findings.flatMap(finding),
    `-- ${counts}: ${verdict}`
  ].join("\n")
}

/** Where nobody was let in, nothing can be asked: undefined where that is not what is wrong. */
export const ofRefusal = (settings: Settings, error: PostgresError): string | undefined =>
  error instanceof LoginRefused
    ? [
        title(settings),
        `-- PROBLEM login: ${oneLine(error.message)}`,
        "-- 1 problem: run what `berth-db-provider bootstrap-sql` prints, as an administrator, and correct pg_hba.conf"
      ].join("\n")
    : undefined
