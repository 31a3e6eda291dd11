/**
 * A request as the routes see it.
 */
import { badRequest, causes, invalidOptions } from "./apiError.ts"
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
  /** The body as it came, for forms that are no text. */
  readonly bytes: Buffer
  readonly user: User
  /** What the answer, also a refusal, warns about. */
  readonly warnings: Array<string>
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

/** @internal */
export interface WriteOptions {
  readonly dryRun: boolean
  /** Who is recorded. */
  readonly manager: string
  readonly fieldValidation: "Strict" | "Warn" | "Ignore"
  /** Whether the object brings its managers along, as after an apply. */
  readonly managersKept: boolean
  readonly isPatch: boolean
  /** What the answer warns about. */
  readonly warnings: Array<string>
}

const managerBytesMax = 128

/** @internal */
export const writeOptions = (request: ApiRequest, kind: string): WriteOptions => {
  const { query } = request
  const dryRun = query.getAll("dryRun").filter((value) => value !== "")
  if (dryRun.some((value) => value !== "All")) {
    throw invalidOptions(kind, causes.notSupported("dryRun", dryRun, ["All"]))
  }
  const manager = query.get("fieldManager") ?? ""
  if (Buffer.byteLength(manager) > managerBytesMax) {
    throw invalidOptions(kind, causes.tooLong("fieldManager", managerBytesMax))
  }
  const wrongSign = [...manager].findIndex((sign) => !/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(sign))
  if (wrongSign >= 0) {
    const code = ([...manager][wrongSign] ?? "").codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0") ?? ""
    const why = `invalid character U+${code} (at position ${wrongSign})`
    throw invalidOptions(kind, causes.invalid("fieldManager", manager, why))
  }
  const validation = query.get("fieldValidation") ?? ""
  if (!["", "Ignore", "Strict", "Warn"].includes(validation)) {
    throw invalidOptions(kind, causes.notSupported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]))
  }
  return {
    dryRun: dryRun.length > 0,
    manager: managerOf(request),
    fieldValidation: validation === "Strict" || validation === "Ignore" ? validation : "Warn",
    managersKept: false,
    isPatch: false,
    warnings: request.warnings
  }
}
