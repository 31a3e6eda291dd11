/** What stands in a Lease. Anybody may have written it, so its type is not trusted when it is read. */
import type { Lease } from "../../Builtin.ts"
import { durationMostMs, type Settings } from "./settings.ts"

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const fields = (lease: Lease | undefined): Fields => {
  const spec: unknown = lease?.spec
  return isFields(spec) ? spec : {}
}

/** The end of the year 9999: the server takes no later time, and a clock that is wrong must not keep a Lease from being renewed. */
const wallMostMs = 253_402_300_799_999

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

/**
 * Kubernetes' MicroTime has six decimals. The last three are a count, so that two renewals in a row never write the same,
 * also by a clock that stands still: whoever watches must see a change.
 */
const microTime = (wallMs: number, count: number): string =>
  new Date(Math.min(Math.max(wallMs, 0), wallMostMs))
    .toISOString()
    .replace("Z", `${String(count % 1000).padStart(3, "0")}Z`)

export interface Writing {
  readonly settings: Settings
  readonly wallMs: number
  readonly count: number
}

export const renewed = (lease: Lease, { count, wallMs }: Writing): Lease => ({
  ...lease,
  spec: { ...lease.spec, renewTime: microTime(wallMs, count) }
})

/** The holder's fields; what else stands in the Lease stays. */
export const claimed = (lease: Lease | undefined, { count, settings, wallMs }: Writing): NonNullable<Lease["spec"]> => {
  const before = fields(lease)
  const transitions = before["leaseTransitions"]
  const now = microTime(wallMs, count)
  return {
    ...before,
    holderIdentity: settings.identity,
    leaseDurationSeconds: Math.ceil(settings.leaseDurationMs / 1000),
    acquireTime: now,
    renewTime: now,
    leaseTransitions: typeof transitions === "number" && Number.isInteger(transitions) ? transitions + 1 : 0
  }
}

export const released = (lease: Lease, { count, wallMs }: Writing): Lease => ({
  ...lease,
  spec: {
    ...lease.spec,
    holderIdentity: "",
    leaseDurationSeconds: releasedSeconds,
    renewTime: microTime(wallMs, count)
  }
})
