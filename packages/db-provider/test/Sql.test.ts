import { assert, describe, it } from "@effect/vitest"
import * as Sql from "../src/Sql.ts"

describe("Sql", () => {
  it("D10: names and texts are quoted, whatever they are", () => {
    const statement = Sql.sql`ALTER ROLE ${Sql.name('a"; DROP ROLE b; --')} PASSWORD ${Sql.text("it's \\ $$")}`

    assert.strictEqual(statement.sql, `ALTER ROLE "a""; DROP ROLE b; --" PASSWORD  E'it''s \\\\ $$'`)
  })

  it("D10: a text that was not quoted does not compile", () => {
    const role = "a"

    // @ts-expect-error a plain string is not a fragment
    assert.strictEqual(Sql.sql`DROP ROLE ${role}`.sql, "DROP ROLE ")
  })

  it("D10: a null character, which PostgreSQL cannot have, is refused before anything is sent", () => {
    assert.throws(() => Sql.name("a\0b"))
    assert.throws(() => Sql.text("a\0b"))
  })

  it("D10: numbers are whole numbers, lists have commas, scripts semicolons", () => {
    assert.strictEqual(Sql.integer(1.9).sql, "1")
    assert.strictEqual(Sql.list([Sql.text("a"), Sql.integer(2)]).sql, "'a', 2")
    assert.strictEqual(
      Sql.script([Sql.sql`SELECT 1`, Sql.sql`SELECT ${Sql.boolean(true)}`]).sql,
      "SELECT 1;\nSELECT true;"
    )
  })
})
