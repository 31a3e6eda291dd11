/**
 * A request as the routes see it.
 */
import { badRequest } from "./apiError.ts"
import type { Resource } from "./resource.ts"

/** Who asks. @internal */
export interface User {
  readonly username: string
  readonly uid?: string
  readonly groups: ReadonlyArray<string>
  readonly extra?: Readonly<Record<string, ReadonlyArray<string>>>
}

/** @internal */
export interface ApiRequest {
  readonly method: string
  readonly path: ReadonlyArray<string>
  readonly query: URLSearchParams
  readonly accept: string
  readonly contentType: string
  readonly userAgent: string
  readonly body: string
  readonly user: User
}

/** What a request is about. @internal */
export interface Target {
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
}

/** @internal */
export const flag = (query: URLSearchParams, name: string): boolean => {
  const value = query.get(name)
  return value === "true" || value === "1" || value === ""
}

/** A whole number among the parameters. @internal */
export const wholeNumber = (query: URLSearchParams, name: string): number | undefined => {
  const value = query.get(name)
  if (value === null || value === "") return undefined
  if (!/^-?\d+$/u.test(value)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`)
  return Number(value)
}

/** The manager that a write is recorded for, where the request does not name one. @internal */
export const managerOf = (request: ApiRequest): string => {
  const asked = request.query.get("fieldManager")
  if (asked !== null && asked !== "") return asked
  const slash = request.userAgent.indexOf("/")
  return (slash < 0 ? request.userAgent : request.userAgent.slice(0, slash)) || "unknown"
}
