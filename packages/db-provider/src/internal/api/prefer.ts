/** `Prefer: wait=N`, as RFC 7240 has it: what is not understood is as if it were not there, and of several the first counts. */

const waiting = /(?:^|,)\s*wait\s*=\s*(?:(?<plain>[0-9]+)|"(?<quoted>[0-9]+)")\s*(?=[,;]|$)/iu

/** For how many seconds to wait: 0 where nothing is preferred. */
export const waitSeconds = (prefer: string | undefined, maxSeconds: number): number => {
  const found = waiting.exec(prefer ?? "")?.groups
  return Math.min(maxSeconds, Number(found?.["plain"] ?? found?.["quoted"] ?? 0))
}
