/**
 * SQL text in which nothing can stand but what was quoted for its place.
 *
 * **Guarantees**
 * - D10: names and values enter a statement only through {@link name} and {@link text}, which quote them; a plain string in a template
 *   does not compile.
 *
 * **Caveats**
 * - Literals are quoted for `standard_conforming_strings = on`, which every session of the provider pins.
 *
 * @since 0.1.0
 */
import { escapeIdentifier, escapeLiteral } from "pg"

/**
 * A part of a statement, quoted already.
 *
 * @category models
 * @since 0.1.0
 */
export interface Fragment {
  readonly [TypeId]: typeof TypeId
  readonly sql: string
}

const TypeId: unique symbol = Symbol("@berth/db-provider/Sql")
const fragment = (sql: string): Fragment => ({ [TypeId]: TypeId, sql })

/**
 * A statement, or a part of one.
 *
 * **Example** (A role that is named by somebody else)
 * ```ts
 * import * as Sql from "@berth/db-provider/Sql"
 *
 * export const limit = (role: string, connections: number) =>
 *   Sql.sql`ALTER ROLE ${Sql.name(role)} CONNECTION LIMIT ${Sql.integer(connections)}`
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const sql = (texts: TemplateStringsArray, ...parts: ReadonlyArray<Fragment>): Fragment =>
  fragment(texts.map((text, index) => text + (parts[index]?.sql ?? "")).join(""))

/**
 * An identifier. One with a null character, which PostgreSQL cannot have, throws.
 *
 * @category constructors
 * @since 0.1.0
 */
export const name = (identifier: string): Fragment => fragment(escapeIdentifier(representable(identifier)))

/**
 * A text literal.
 *
 * @category constructors
 * @since 0.1.0
 */
export const text = (value: string): Fragment => fragment(escapeLiteral(representable(value)))

/**
 * A whole number, by which a text is never meant.
 *
 * @category constructors
 * @since 0.1.0
 */
export const integer = (value: number): Fragment => fragment(String(Math.trunc(value)))

/**
 * `true` or `false`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const boolean = (value: boolean): Fragment => fragment(value ? "true" : "false")

/**
 * The fragments, with commas between them.
 *
 * @category combinators
 * @since 0.1.0
 */
export const list = (fragments: ReadonlyArray<Fragment>): Fragment =>
  fragment(fragments.map(({ sql }) => sql).join(", "))

/**
 * Several statements that are sent as one message, which PostgreSQL runs as one transaction.
 *
 * @category combinators
 * @since 0.1.0
 */
export const script = (statements: ReadonlyArray<Fragment>): Fragment =>
  fragment(statements.map(({ sql }) => `${sql};`).join("\n"))

/**
 * Nothing, where a part of a statement is not wanted.
 *
 * @category constructors
 * @since 0.1.0
 */
export const nothing: Fragment = fragment("")

const representable = (value: string): string => {
  if (value.includes("\0")) throw new Error("PostgreSQL has no text with a null character")
  return value
}
