/**
 * The order of resource versions. Kubernetes promises since 1.35 that they are decimal integers of any length which grow;
 * every earlier server that keeps its objects in etcd behaves so too.
 */
const decimal = /^[1-9][0-9]*$/u

/** Negative: `a` is older. Undefined: one of them is no such integer, so nothing can be said. */
export const compare = (a: string | undefined, b: string | undefined): number | undefined => {
  if (a === undefined || b === undefined) return undefined
  if (a === b) return 0
  if (!decimal.test(a) || !decimal.test(b)) return undefined
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : 1
}

/** Whether `a` is certainly older than `b`. */
export const isOlder = (a: string | undefined, b: string | undefined): boolean => {
  const order = compare(a, b)
  return order !== undefined && order < 0
}
