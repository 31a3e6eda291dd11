import type { Sent } from "./model.ts"

/** A request in words. */
export const describe = ({ name, namespace, resource, verb }: Sent): string => {
  if (name !== undefined) return `${verb} ${resource} ${namespace === undefined ? "" : `${namespace}/`}${name}`
  return `${verb} ${resource}${namespace === undefined ? "" : ` in ${namespace}`}`
}
