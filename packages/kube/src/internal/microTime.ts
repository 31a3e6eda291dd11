/** The end of the year 9999: the server takes no later time, and a clock that is wrong must not keep anything from being written. */
const wallMostMs = 253_402_300_799_999

/** Kubernetes' MicroTime: six decimals, of which the last three are given by the caller. */
export const microTime = (wallMs: number, micros: number): string =>
  new Date(Math.min(Math.max(wallMs, 0), wallMostMs))
    .toISOString()
    .replace("Z", `${String(Math.trunc(micros) % 1000).padStart(3, "0")}Z`)
