/**
 * Validates what a container asks for and may use.
 *
 * @since 0.1.0
 */
import { type Cause, invalid, required } from "./causes.ts"
import { compareQuantities, isInteger, parseQuantity } from "./celQuantity.ts"
import { isObject, type JsonObject, objectOf, stringOf } from "./json.ts"

const STANDARD = ["cpu", "memory", "ephemeral-storage"]
const isStandard = (name: string): boolean => STANDARD.includes(name) || name.startsWith("hugepages-")

const checkAmount = (name: string, value: unknown, path: string): ReadonlyArray<Cause> => {
  const text = stringOf(value)
  const quantity = parseQuantity(text)
  if (!isStandard(name) && !name.includes("/")) {
    return [
      invalid(path, name, "must be a standard resource type or fully qualified"),
      invalid(path, name, "must be a standard resource for containers")
    ]
  }
  if (quantity === undefined) return []
  if (quantity.nanos < 0n) return [invalid(path, text, "must be greater than or equal to 0")]
  return isStandard(name) || isInteger(quantity) ? [] : [invalid(path, text, "must be an integer")]
}

const checkAmounts = (amounts: JsonObject, path: string): ReadonlyArray<Cause> =>
  Object.entries(amounts).flatMap(([name, value]) => checkAmount(name, value, `${path}[${name}]`))

/** What is asked for has to be allowed; of what cannot be shared, all of it. */
const checkWithin = (requests: JsonObject, limits: JsonObject, path: string): ReadonlyArray<Cause> =>
  Object.entries(requests).flatMap(([name, value]) => {
    const asked = parseQuantity(stringOf(value))
    const limit = parseQuantity(stringOf(limits[name]))
    if (asked === undefined || limit === undefined) return []
    const order = compareQuantities(asked, limit)
    const why = isStandard(name) ? "less than or equal to" : "equal to"
    return order > 0n || (order < 0n && !isStandard(name))
      ? [invalid(path, value, `must be ${why} ${name} limit of ${stringOf(limits[name])}`)]
      : []
  })

/** What is wrong with the resources at `path`. */
export const validateResources = (resources: unknown, path: string): ReadonlyArray<Cause> => {
  if (!isObject(resources)) return []
  const limits = objectOf(resources["limits"])
  const requests = objectOf(resources["requests"])
  return [
    ...checkAmounts(limits, `${path}.limits`),
    ...checkAmounts(requests, `${path}.requests`),
    ...checkWithin(requests, limits, `${path}.requests`),
    ...Object.keys(requests)
      .filter((name) => name.includes("/") && limits[name] === undefined)
      .map(() => required(`${path}.limits`, "Limit must be set for non overcommitable resources"))
  ]
}
