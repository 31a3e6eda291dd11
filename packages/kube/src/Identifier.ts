/** Names that are safe to show: the only text that may enter a failure's message. */
import { type Brand, Option, Schema } from "effect"

/** Kubernetes names, `namespace/name`, label keys, image references and field paths; at most 253 characters. */
const pattern = /^[A-Za-z0-9](?:[-A-Za-z0-9_.:\/@\[\]]*[A-Za-z0-9\]])?$/u

export type Identifier = string & Brand.Brand<"Identifier">
export const Identifier = Schema.String.check(Schema.isPattern(pattern), Schema.isMaxLength(253)).pipe(
  Schema.brand("Identifier")
)

/** From text that the compiler can see, so never from an error's message or an answer. */
export const of = <const S extends string>(text: S & Literal<S>): Identifier => Identifier.make(text)

/** From text of unknown origin: nothing unless it has an identifier's shape. */
export const fromString: (text: string) => Option.Option<Identifier> = Schema.decodeUnknownOption(Identifier)

/** For `S & Literal<S>`: accepts one literal, explains otherwise (`{}` fits a Record over `string` or a pattern, not over a literal). */
export type Literal<S extends string> = {} extends Record<S, 1> ? "this text must be a literal" : unknown
