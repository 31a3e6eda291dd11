/**
 * Names of tenants' databases, and of the objects that record them.
 *
 * **Guarantees**
 * - D2: a tenant's name is `t_` and 20 random lower-case letters and digits (103 bits) from the machine's source of secrets. Nothing
 *   of it is the caller's, so it says nothing to other tenants, who can read it in the server's catalogs.
 * - The name of a record is a digest of its consumer and id: two requests for one id meet at one object.
 *
 * @since 0.1.0
 */
import { Identifier } from "@berth/kube/Identifier"
import { createHash, randomBytes } from "node:crypto"
import { Effect } from "effect"

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
const lengthOfName = 20

/** Bytes from here on would make some letters likelier than others. */
const fairBelow = 256 - (256 % letters.length)

const randomLetters = (length: number): string => {
  let text = ""
  while (text.length < length) {
    const fair = [...randomBytes(2 * length)].filter((byte) => byte < fairBelow)
    text += fair.map((byte) => letters.charAt(byte % letters.length)).join("")
  }
  return text.slice(0, length)
}

/**
 * A new name, for a tenant's database and its role. It has to be in a record before it is used.
 *
 * @category constructors
 * @since 0.1.0
 */
export const tenant: Effect.Effect<Identifier> = Effect.sync(() => Identifier.make(`t_${randomLetters(lengthOfName)}`))

/**
 * Whether a database or role is called as those of tenants are.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isTenant = (name: string): boolean => /^t_[a-z0-9]{20}$/u.test(name)

/**
 * A new password of 256 bits, of letters that need no escaping in a URL.
 *
 * @category constructors
 * @since 0.1.0
 */
export const password: Effect.Effect<string> = Effect.sync(() => randomBytes(32).toString("base64url"))

const digest = (...parts: ReadonlyArray<string>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 40)

/**
 * The name of the record of a consumer's database.
 *
 * @category names
 * @since 0.1.0
 */
export const record = (consumer: string, externalId: string): Identifier =>
  Identifier.make(`db-${digest("database", consumer, externalId)}`)

/**
 * The Secret with the password of a tenant.
 *
 * @category names
 * @since 0.1.0
 */
export const credentials = (tenant: string): Identifier => Identifier.make(tenant.replace("_", "-"))

/**
 * The ledger of the places of a shard, or of a consumer's quota.
 *
 * @category names
 * @since 0.1.0
 */
export const ledger = (of: "shard" | "consumer", name: string): Identifier =>
  Identifier.make(`ledger-${of}-${digest(of, name)}`)

/**
 * What is remembered of a consumer's databases that were dropped.
 *
 * @category names
 * @since 0.1.0
 */
export const tombstones = (consumer: string): Identifier =>
  Identifier.make(`tombstones-${digest("tombstones", consumer)}`)

/**
 * The Secret of the provider's own tenant on a shard.
 *
 * @category names
 * @since 0.1.0
 */
export const canary = (shard: string): Identifier => Identifier.make(`canary-${digest("canary", shard)}`)
