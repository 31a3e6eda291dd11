/**
 * Names of Kubernetes objects, and what looks like them, as a type of their own.
 *
 * **Caveats**
 * - The type is structurally that of `@berth/provisioners`' `Identifier` (`string & Brand.Brand<"Identifier">`, same pattern), on
 *   purpose: the contract imports nothing but `effect`, and this package does not know the contract. A test keeps the two equal.
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
 * An identifier from text of unknown origin: nothing unless it has the shape of one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromString: (text: string) => Option.Option<Identifier> = Schema.decodeUnknownOption(Identifier)
