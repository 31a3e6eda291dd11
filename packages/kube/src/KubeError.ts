/**
 * Everything that a request to the Kubernetes API can fail with, by meaning.
 *
 * **Guarantees**
 * - K3: the union is closed; whatever the server or the network does becomes one of its members.
 * - K6: no member holds a token, a header, a body or the data of a Secret.
 *
 * @since 0.1.0
 */
import { Data, Effect, type Option, Predicate } from "effect"

/**
 * The request that failed: enough to find it, nothing that is secret.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  /** As in RBAC: get, list, watch, create, update, patch, delete, deletecollection. */
  readonly verb: string
  /** `plural.group`, with `/subresource` where there is one; the path for a request of no known kind. */
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
}

interface Answered extends Request {
  /** The HTTP status. */
  readonly status: number
  /** `reason` of the server's Status object, such as `NotFound`; empty where it sent none. */
  readonly reason: string
  /** What the server said, for logs; never shown to users. Left out for Secrets. */
  readonly detail: string
}

/** @internal */
export const describe = (request: Request): string =>
  `${request.verb} ${request.resource}${request.name === undefined ? "" : ` ${request.namespace === undefined ? "" : `${request.namespace}/`}${request.name}`}`

/**
 * One field that the server refused.
 *
 * @category models
 * @since 0.1.0
 */
export interface FieldCause {
  /** A path such as `spec.components[0].name`; empty where the server named none. */
  readonly field: string
  /** `FieldValueInvalid`, `FieldValueRequired`, … */
  readonly reason: string
  readonly message: string
}

/**
 * There is no such object, or no such kind on this server.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotFound extends Data.TaggedError("NotFound")<Answered> {
  override get message() {
    return `${describe(this)}: not found`
  }
}

/**
 * An object of this name exists already.
 *
 * @category errors
 * @since 0.1.0
 */
export class AlreadyExists extends Data.TaggedError("AlreadyExists")<Answered> {
  override get message() {
    return `${describe(this)}: already exists`
  }
}

/**
 * The object changed since it was read, a precondition did not hold, or another manager owns a field of an apply.
 *
 * @category errors
 * @since 0.1.0
 */
export class Conflict extends Data.TaggedError("Conflict")<
  Answered & {
    /** For an apply: which manager owns which field. Empty otherwise. */
    readonly managers: ReadonlyArray<{ readonly manager: string; readonly field: string }>
  }
> {
  override get message() {
    const owners = this.managers.map(({ field, manager }) => `${field} belongs to ${manager}`).join(", ")
    return `${describe(this)}: conflict${owners === "" ? "" : `: ${owners}`}`
  }
}

/**
 * The resourceVersion or continue token is older than what the server still has.
 *
 * @category errors
 * @since 0.1.0
 */
export class Gone extends Data.TaggedError("Gone")<Answered> {
  override get message() {
    return `${describe(this)}: too old`
  }
}

/**
 * The server understood the request and refuses what it says (400, 405, 406, 413, 415, 422).
 *
 * @category errors
 * @since 0.1.0
 */
export class Invalid extends Data.TaggedError("Invalid")<Answered & { readonly causes: ReadonlyArray<FieldCause> }> {
  override get message() {
    const fields = this.causes.map(({ field, reason }) => `${field === "" ? "object" : field} (${reason})`).join(", ")
    return `${describe(this)}: invalid${fields === "" ? "" : `: ${fields}`}`
  }
}

/**
 * Whoever asks may not do this.
 *
 * @category errors
 * @since 0.1.0
 */
export class Forbidden extends Data.TaggedError("Forbidden")<Answered> {
  override get message() {
    return `${describe(this)}: forbidden`
  }
}

/**
 * The credentials were not accepted, also after they were refreshed.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unauthorized extends Data.TaggedError("Unauthorized")<Answered> {
  override get message() {
    return `${describe(this)}: the credentials were not accepted`
  }
}

/**
 * The server asks for patience, for longer than the request's deadline allows.
 *
 * @category errors
 * @since 0.1.0
 */
export class TooManyRequests extends Data.TaggedError("TooManyRequests")<
  Answered & {
    /** What the server's Retry-After says; undefined where it sent none. */
    readonly retryAfterMs: number | undefined
  }
> {
  override get message() {
    return `${describe(this)}: too many requests`
  }
}

/**
 * No answer within the deadline. The request may have taken effect.
 *
 * @category errors
 * @since 0.1.0
 */
export class Timeout extends Data.TaggedError("Timeout")<Request & { readonly deadlineMs: number }> {
  override get message() {
    return `${describe(this)}: no answer within ${this.deadlineMs} ms`
  }
}

/**
 * No connection, or it broke before the answer was whole. The request may have taken effect.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unreachable extends Data.TaggedError("Unreachable")<Request & { readonly cause: unknown }> {
  override get message() {
    // Neither a connection's failure nor that of its credentials has a secret in it: K6.
    const why = this.cause instanceof Error && this.cause.message !== "" ? ` (${this.cause.message})` : ""
    return `${describe(this)}: the server cannot be reached${why}`
  }
}

/**
 * The server failed (5xx), or answered with something that is not the Kubernetes API.
 *
 * @category errors
 * @since 0.1.0
 */
export class ServerError extends Data.TaggedError("ServerError")<Answered> {
  override get message() {
    return `${describe(this)}: the server failed with ${this.status}`
  }
}

/**
 * Why a request failed.
 *
 * @category errors
 * @since 0.1.0
 */
export type KubeError =
  | NotFound
  | AlreadyExists
  | Conflict
  | Gone
  | Invalid
  | Forbidden
  | Unauthorized
  | TooManyRequests
  | Timeout
  | Unreachable
  | ServerError

/**
 * None where a request fails with {@link NotFound}; whatever else it fails with stays.
 *
 * **Example** (A ConfigMap that need not be there)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import { Client } from "@berth/kube/Client"
 * import * as KubeError from "@berth/kube/KubeError"
 *
 * export const settings = Client.use((client) =>
 *   KubeError.orNone(client.get(Builtin.ConfigMap, { name: "settings", namespace: "shop" }))
 * )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const orNone = <A, E, R>(request: Effect.Effect<A, E | NotFound, R>): Effect.Effect<Option.Option<A>, E, R> =>
  Effect.catch(Effect.asSome(request), (error) => (isNotFound(error) ? Effect.succeedNone : Effect.fail(error)))

/** By its tag: a program may have two copies of this package. */
const isNotFound = (error: unknown): error is NotFound => Predicate.isTagged(error, "NotFound")
