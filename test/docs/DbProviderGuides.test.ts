/** The guides of the database provider say what the code says: settings, metrics, alerts, events, codes, and the SQL of the bootstrap. */
import { globSync, existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { AuditEvent } from "@berth/db-provider/AuditEvent"
import * as BootstrapSql from "@berth/db-provider/BootstrapSql"
import * as Canary from "@berth/db-provider/Canary"
import * as Consent from "@berth/db-provider/Consent"
import * as Consumers from "@berth/db-provider/Consumers"
import * as Credentials from "@berth/db-provider/Credentials"
import { Phase } from "@berth/db-provider/Database"
import * as DatabaseTree from "@berth/db-provider/DatabaseTree"
import * as Placement from "@berth/db-provider/Placement"
import * as PostgresFailure from "@berth/db-provider/PostgresFailure"
import * as ProviderMetrics from "@berth/db-provider/ProviderMetrics"
import { conditions, Shard } from "@berth/db-provider/Shard"
import * as Shards from "@berth/db-provider/Shards"
import * as ShardServer from "@berth/db-provider/ShardServer"
import * as ShardServers from "@berth/db-provider/ShardServers"
import * as TenantClosing from "@berth/db-provider/TenantClosing"
import * as TenantCreation from "@berth/db-provider/TenantCreation"
import * as TenantDrop from "@berth/db-provider/TenantDrop"
import * as TenantState from "@berth/db-provider/TenantState"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric, Redacted } from "effect"
import { parse } from "yaml"
import * as Alerts from "./support/alerts.ts"
import * as Markdown from "../support/markdown.ts"
import * as Vocabularies from "./support/vocabularies.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const guideTo = (what: string) => `docs/guides/db-provider-${what}.md`

const firstCells = (guide: string, heading: RegExp, header: string): ReadonlyArray<string> => {
  const rows = Markdown.rows(guideTo(guide), heading)
  const start = rows.findIndex(([cell]) => cell === header)
  return rows.slice(start + 1).map(([cell = ""]) => cell.replaceAll("`", ""))
}

/** The rows of a table in a comment of a module. */
const commentTable = (path: string, header: string): ReadonlyArray<string> => {
  const lines = Markdown.read(path)
    .split("\n")
    .map((line) => line.replace(/^ \* ?/u, ""))
  const start = lines.findIndex((line) => line.startsWith(header))
  const length = lines.slice(start).findIndex((line) => !line.startsWith("|"))
  return lines.slice(start, start + length)
}

const includesTable = (guide: string, rows: ReadonlyArray<string>) => {
  assert.isAbove(rows.length, 5)
  assert.include(Markdown.read(guideTo(guide)), `\n${rows.join("\n")}\n\n`)
}

describe("The guides of the database provider", () => {
  it("have the table of settings that the program's configuration has", () => {
    includesTable("configure", commentTable("packages/db-provider/src/Configuration.ts", "| flag "))
  })

  it("D22: have the table of events that the audit log has, and name each", () => {
    includesTable("configure", commentTable("packages/db-provider/src/AuditEvent.ts", "| event "))

    assert.sameMembers(
      [...firstCells("configure", /^Audit$/u, "event")],
      AuditEvent.members.map(({ fields }) => fields.event.literal)
    )
  })

  it("have the table of codes that the API's problems have", () => {
    includesTable("api", commentTable("packages/db-provider/src/Problem.ts", "| code "))
  })

  it("D23: list every metric, by its labels and in its own words", () => {
    const rows = Markdown.rows(guideTo("configure"), /^Watch$/u).filter(([name = ""]) => name.startsWith("`berth_db_"))
    const declared = Object.values(ProviderMetrics).flatMap((each) =>
      Metric.isMetric(each) ? [[each.id, each.description ?? ""]] : []
    )

    assert.sameDeepMembers(
      rows.map(([name = "", , meaning = ""]) => [name.replaceAll("`", ""), meaning]),
      declared
    )
  })

  it("D23: list every alert by its severity, and say what to do", () => {
    const template = Markdown.read("charts/berth-db-provider/templates/prometheusrule.yaml")
    const severities = [...template.matchAll(/alert: (\w+)[\s\S]*?severity: (\w+)/gu)].map(([, ...each]) => each)
    const rows = Markdown.rows(guideTo("configure"), /^Watch$/u).filter(([name = ""]) => name.startsWith("`BerthDb"))

    assert.strictEqual(severities.length, Alerts.of(template).length)
    assert.deepStrictEqual(
      rows.map(([name = "", severity]) => [name.replaceAll("`", ""), severity]),
      severities
    )
    for (const [name = "", , seen = "", advice = ""] of rows) assert.notInclude([seen, advice], "", name)
  })

  it("name the phases, the conditions, the annotations and the label as they are", () => {
    const recover = Markdown.read(guideTo("recover"))

    assert.deepStrictEqual(firstCells("api", /^PUT$/u, "phase"), [...Phase.literals])
    assert.sameMembers([...firstCells("configure", /^Shards$/u, "condition")], Object.values(conditions))
    for (const name of [Consent.releaseAnnotation, DatabaseTree.reopenAnnotation, Credentials.tenantLabel]) {
      assert.include(recover, name)
    }
  })

  const vocabularies = {
    database: DatabaseTree.Reasons,
    placement: Placement.Reasons,
    credentials: Credentials.Reasons,
    tenant: TenantCreation.Reasons,
    tenant_state: TenantState.Reasons,
    closing: TenantClosing.Reasons,
    drop: TenantDrop.Reasons,
    shard: PostgresFailure.Reasons,
    shard_servers: ShardServers.Reasons,
    shard_check: Shards.Reasons,
    canary: Canary.Reasons,
    consumer_check: Consumers.Reasons
  }
  it.each(Object.entries(vocabularies))("list the reasons of %s as they are, and what to do", (name, vocabulary) =>
    Vocabularies.isDocumented(guideTo("reasons"), name, vocabulary)
  )

  it("have every vocabulary that the provider declares", () => {
    const declared = globSync("packages/db-provider/src/**/*.ts", { cwd: root }).flatMap((path) =>
      [...Markdown.read(path).matchAll(/^export const \w+ = Disposition\.vocabulary\("(\w+)"/gmu)].map(
        ([, name = ""]) => name
      )
    )

    assert.sameMembers(declared, Object.keys(vocabularies))
  })

  it.effect("D5: show what bootstrap-sql prints for the shard that they add", () =>
    Effect.gen(function* () {
      const [, manifest = ""] =
        /shard-a\.yaml <<'YAML'\n([\s\S]*?)YAML\n/u.exec(Markdown.read(guideTo("install"))) ?? []
      const document: { readonly metadata: object } = parse(manifest)
      const metadata = { ...document.metadata, uid: "uid", resourceVersion: "1" }
      const settings = ShardServer.settingsOf(yield* Shard.decode({ ...document, metadata }), Redacted.make("secret"))
      const [shown] = Markdown.blocks(guideTo("install")).filter(({ language }) => language === "sql")

      assert.include(yield* BootstrapSql.make(settings), shown?.text ?? "nothing is shown")
    })
  )

  it("lead to what is there", () => {
    const guides = globSync("docs/guides/db-provider-*.md", { cwd: root })
    const anchorsOf = (path: string) =>
      new Set(
        [...Markdown.read(path).matchAll(/^#+ (.*)$/gmu)].map(([, title = ""]) =>
          title
            .toLowerCase()
            .replaceAll(/[^a-z0-9 -]/gu, "")
            .replaceAll(" ", "-")
        )
      )
    const broken = guides.flatMap((path) =>
      [...Markdown.read(path).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/gu)].flatMap(([, to = "", anchor]) => {
        const target = to === "" ? path : join(dirname(path), to)
        if (!existsSync(join(root, target))) return [`${path}: ${to}`]
        return anchor === undefined || anchorsOf(target).has(anchor) ? [] : [`${path}: ${to}#${anchor}`]
      })
    )

    assert.isAbove(guides.length, 5)
    assert.deepStrictEqual(broken, [])
  })
})
