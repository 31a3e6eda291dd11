/** What stands in a Lease. Anybody may have written it, so its type is not trusted when it is read. */
import type { Lease } from "../../Builtin.ts"
import { microTime } from "../microTime.ts"
import { durationMostMs, type Settings } from "./settings.ts"

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const fields = (lease: Lease | undefined): Fields => {
  const spec: unknown = lease?.spec
  return isFields(spec) ? spec : {}
}

/** A holder that gives its Lease back says so in this form, which nobody makes by emptying a field or two. */
const releasedSeconds = 1

export const holder = (lease: Lease): string | undefined => {
  const { holderIdentity } = fields(lease)
  return typeof holderIdentity === "string" && holderIdentity !== "" ? holderIdentity : undefined
}

/** Whether its last holder gave it back: then nobody acts on it any more. */
export const isReleased = (lease: Lease): boolean =>
  holder(lease) === undefined && fields(lease)["leaseDurationSeconds"] === releasedSeconds

/** Equal as long as nobody renews it. Labels, annotations and versions do not count. */
export const mark = (lease: Lease): string => `${lease.metadata.uid ?? ""} ${JSON.stringify(fields(lease))}`

/** How long it has to be seen unchanged: the longer of this candidate's duration and the one that its holder counts on. */
export const durationMs = (lease: Lease, { leaseDurationMs }: Settings): number => {
  const { leaseDurationSeconds } = fields(lease)
  const theirs = typeof leaseDurationSeconds === "number" ? leaseDurationSeconds * 1000 : 0
  return theirs <= durationMostMs ? Math.max(leaseDurationMs, theirs) : leaseDurationMs
}

export interface Writing {
  readonly settings: Settings
  readonly wallMs: number
  readonly count: number
}

/**
 * The count stands in the last decimals, so that two renewals in a row never write the same, also by a clock that stands still:
 * whoever watches must see a change.
 */
const stamp = ({ count, wallMs }: Writing): string => microTime(wallMs, count)

export const renewed = (lease: Lease, writing: Writing): Lease => ({
  ...lease,
  spec: { ...lease.spec, renewTime: stamp(writing) }
})

/** The holder's fields; what else stands in the Lease stays. */
export const claimed = (lease: Lease | undefined, writing: Writing): NonNullable<Lease["spec"]> => {
  const before = fields(lease)
  const transitions = before["leaseTransitions"]
  const { settings } = writing
  const now = stamp(writing)
  return {
    ...before,
    holderIdentity: settings.identity,
    leaseDurationSeconds: Math.ceil(settings.leaseDurationMs / 1000),
    acquireTime: now,
    renewTime: now,
    leaseTransitions: typeof transitions === "number" && Number.isInteger(transitions) ? transitions + 1 : 0
  }
}

export const released = (lease: Lease, writing: Writing): Lease => ({
  ...lease,
  spec: {
    ...lease.spec,
    holderIdentity: "",
    leaseDurationSeconds: releasedSeconds,
    renewTime: stamp(writing)
  }
})
