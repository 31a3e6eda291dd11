/**
 * Names of Kubernetes objects, made from names of any length and shape.
 *
 * **Guarantees**
 * - S14: every name is valid for its place, the same for the same input, and another one for another input. Where a text
 *   cannot stand as it is, it is shortened and ends in a digest of the whole; a text that only looks as if it had such an ending
 *   gets one too, so that nobody can pick a name that is taken by another.
 *
 * **Caveats**
 * - A digest in a name has 60 bits, a slice id 100.
 *
 * @since 0.1.0
 */
import { createHash } from "node:crypto"

const digestLength = 12
const labelMax = 63
const subdomainMax = 253
const slugMax = 40
/** Helm keeps ten characters of a name for itself. */
const releaseMax = 53
const alphabet = "abcdefghijklmnopqrstuvwxyz234567"

/** The first characters of the base-32 text of a SHA-256 over parts that cannot run into each other. */
const digest = (parts: ReadonlyArray<string>, length: number): string => {
  const bytes = createHash("sha256").update(JSON.stringify(parts)).digest()
  let text = ""
  let [bits, held] = [0, 0]
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      text += alphabet.charAt((held >>> (bits - 5)) & 31)
      bits -= 5
    }
    held &= (1 << bits) - 1
  }
  return text.slice(0, length)
}

/** What of a text may stand in a DNS label; empty when nothing may. */
const cleaned = (text: string): string =>
  text
    .slice(0, 1024)
    .toLowerCase()
    .replace(/[^a-z0-9]+/gu, "-")
    .replace(/^-|-$/gu, "")

/** A readable beginning and a digest, together at most `max` characters. */
const shortened = (readable: string, parts: ReadonlyArray<string>, max: number): string => {
  const start = readable.slice(0, max - digestLength - 1).replace(/[-_.]+$/u, "")
  return `${start === "" ? "x" : start}-${digest(parts, digestLength)}`
}

const looksShortened = (text: string): boolean => /-[a-z2-7]{12}$/u.test(text)

const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/u
const subdomainShape = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/u
const labelValueShape = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/u

/** The text itself where it fits its place and cannot be mistaken. */
const fitted = (text: string, shape: RegExp, max: number, readable: (text: string) => string): string =>
  text.length <= max && shape.test(text) && !looksShortened(text) ? text : shortened(readable(text), [text], max)

/**
 * A DNS label: at most 63 lower-case letters, digits and hyphens.
 *
 * @category conversions
 * @since 0.1.0
 */
export const dnsLabel = (text: string): string => fitted(text, label, labelMax, cleaned)

/**
 * The name of most objects: at most 253 lower-case letters, digits, hyphens and dots.
 *
 * @category conversions
 * @since 0.1.0
 */
export const objectName = (text: string): string => fitted(text, subdomainShape, subdomainMax, cleaned)

/**
 * The value of a label. The empty text is a valid value, and stays.
 *
 * @category conversions
 * @since 0.1.0
 */
export const labelValue = (text: string): string =>
  text === ""
    ? ""
    : fitted(text, labelValueShape, labelMax, (other) =>
        other
          .slice(0, 1024)
          .replace(/[^-A-Za-z0-9_.]+/gu, "-")
          .replace(/^[^A-Za-z0-9]+/u, "")
      )

/**
 * A DNS label that is made from several parts, the readable ones in front. It always ends in a digest: joined by hyphens,
 * `a-b` and `c` would read like `a` and `b-c`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const composed = (readable: ReadonlyArray<string>, hidden: ReadonlyArray<string> = []): string =>
  shortened(cleaned(readable.join("-")), [String(readable.length), ...readable, ...hidden], labelMax)

/**
 * `.Env.Slug`: the environment's name as a DNS label of at most 40 characters, so that there is room beside it in the 63 bytes
 * of an SQL identifier. It depends on the name alone: an environment that is made again has its old URL.
 *
 * @category names
 * @since 0.1.0
 */
export const slug = (environmentName: string): string => fitted(environmentName, label, slugMax, cleaned)

/**
 * What a slice is called outside: 20 characters of `a-z2-7`, usable in any sort of name. Another environment or shared component
 * of the same name, or another component of the same environment, is another slice.
 *
 * @category names
 * @since 0.1.0
 */
export const sliceId = (options: {
  readonly environmentUid: string
  readonly component: string
  readonly sharedComponentUid: string
}): string => digest(["slice", options.environmentUid, options.component, options.sharedComponentUid], 20)

/**
 * An object of which another one of the same name is a different object.
 *
 * @category models
 * @since 0.1.0
 */
export interface Identity {
  readonly name: string
  readonly uid: string
}

/**
 * An environment's own namespace. It has the UID in it, so that an environment that is made again does not wait until its old
 * namespace is gone.
 *
 * @category names
 * @since 0.1.0
 */
export const namespace = (environment: Identity): string => composed(["env", environment.name], [environment.uid])

/**
 * The record of a slice, in the management namespace.
 *
 * @category names
 * @since 0.1.0
 */
export const sliceRecord = (environment: Identity, component: string, sharedComponent: Identity): string =>
  composed([environment.name, component], [environment.uid, sharedComponent.uid])

/**
 * What a slice needs in the shared namespace while a Job runs: the Job itself and what it reads have names of their own for each
 * kind and attempt.
 *
 * @category names
 * @since 0.1.0
 */
export const job = (id: string, kind: "provision" | "deprovision", attempt: number): string =>
  `slice-${id}-${kind}-${attempt}`

/**
 * The Secret with the rendered script and env of one Job.
 *
 * @category names
 * @since 0.1.0
 */
export const jobInput = (id: string, kind: "provision" | "deprovision", attempt: number): string =>
  `${job(id, kind, attempt)}-input`

/**
 * The Secret with a slice's own credentials, in the shared namespace, while a script may need them.
 *
 * @category names
 * @since 0.1.0
 */
export const credentials = (id: string): string => `slice-${id}-credentials`

/**
 * The kept binding of a slice, in the management namespace: the one that is authoritative.
 *
 * @category names
 * @since 0.1.0
 */
export const keptBinding = (id: string): string => `slice-${id}-binding`

/**
 * The binding in the environment's namespace.
 *
 * @category names
 * @since 0.1.0
 */
export const binding = (component: string): string => objectName(`${component}-binding`)

/**
 * The Secret with a component's rendered `env`, in the environment's namespace.
 *
 * @category names
 * @since 0.1.0
 */
export const componentEnv = (component: string): string => objectName(`${component}-env`)

/**
 * What Helm calls the release of a component, in the environment's namespace: the component's name, if it has at most 53 characters.
 *
 * @category names
 * @since 0.1.0
 */
export const release = (component: string): string => fitted(component, label, releaseMax, cleaned)

/**
 * The record of an environment's releases, in the management namespace.
 *
 * @category names
 * @since 0.1.0
 */
export const releaseRecord = (environment: Identity): string =>
  composed(["releases", environment.name], [environment.uid])

/**
 * The Lease under which slices of a shared component are registered.
 *
 * @category names
 * @since 0.1.0
 */
export const provisionLease = (sharedComponent: string): string => objectName(`berth-provision-${sharedComponent}`)

/**
 * The ledger of a shared component's places.
 *
 * @category names
 * @since 0.1.0
 */
export const ledger = (sharedComponent: string): string => objectName(`berth-ledger-${sharedComponent}`)

/**
 * The Secret with a workload's own credentials, where its provider gives it no name.
 *
 * @category names
 * @since 0.1.0
 */
export const instanceSecret = (sharedComponent: Identity): string =>
  composed(["instance", sharedComponent.name], [sharedComponent.uid])
