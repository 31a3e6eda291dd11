/**
 * Names that are safe to show: the only text that may enter a failure's message.
 *
 * **Guarantees**
 * - P3: an identifier has the shape of a name, so a password's error text, a stack or an answer of a server never is one.
 *
 * **Caveats**
 * - The type is structurally that of `@berth/kube`'s `Identifier` (`string & Brand.Brand<"Identifier">`, same pattern), on
 *   purpose: the contract imports nothing but `effect`, and `kube` does not know the contract. A test keeps the two equal.
 *
 * @since 0.1.0
 */
import { type Brand, Option, Schema } from "effect"

const shape = /^[A-Za-z0-9](?:[-A-Za-z0-9_.:/@[\]]*[A-Za-z0-9\]])?$/u

/**
 * A Kubernetes name, `namespace/name`, label key, image reference or field path; at most 253 characters.
 *
 * @category models
 * @since 0.1.0
 */
export type Identifier = string & Brand.Brand<"Identifier">

/**
 * The schema of identifiers. `Identifier.make` throws for text of another shape.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Identifier = Schema.String.check(Schema.isMaxCodePoints(253), Schema.isPattern(shape)).pipe(
  Schema.brand("Identifier")
)

/**
 * Accepts one literal and explains itself otherwise, as `S & Literal<S>`: `string` and patterns are refused.
 *
 * **Details**: an empty object fits a `Record` over `string` or over a pattern, but not one over a literal.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Literal<S extends string> = {} extends Record<S, 1> ? "this text must be a literal" : unknown

/**
 * An identifier from text that the compiler can see, so never from an error's message or an answer.
 *
 * @category constructors
 * @since 0.1.0
 */
export const of = <const S extends string>(text: S & Literal<S>): Identifier => Identifier.make(text)

/**
 * An identifier from text of unknown origin: nothing unless it has the shape of one.
 *
 * **Example** (A name that somebody typed)
 * ```ts
 * import * as Identifier from "@berth/provisioners/Identifier"
 * import { Option } from "effect"
 *
 * export const shown = (name: string) => Option.getOrElse(Identifier.fromString(name), () => Identifier.of("unnamed"))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromString: (text: string) => Option.Option<Identifier> = Schema.decodeUnknownOption(Identifier)
