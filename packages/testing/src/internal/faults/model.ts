/** What can go wrong between a program and the API server, as data. */
import type { TransportRequest } from "@berth/kube/Transport"
import type { Duration } from "effect"

export interface Matcher {
  /** As in RBAC, where an apply is a `patch`; `read` and `write` stand for all of their sort. */
  readonly verb?: string | ReadonlyArray<string> | undefined
  /** `plural.group`, with `/subresource` where there is one. */
  readonly resource?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

export interface On extends Matcher {
  /** Of a list: the first page, or one that a token asks for. */
  readonly page?: "first" | "later" | undefined
  /** Whatever else tells requests apart, such as their path. */
  readonly where?: ((request: TransportRequest) => boolean) | undefined
  /** The first match that is hit, counted from 1 and from when the rule came. Default 1. */
  readonly nth?: number | undefined
  /** How many are hit from there on. Default: one where `nth` is given, all where it is not. */
  readonly times?: number | undefined
}

export type Fault =
  | {
      readonly _tag: "Error"
      readonly status: number
      readonly reason: string
      readonly message: string
      readonly retryAfterSeconds: number | undefined
    }
  | { readonly _tag: "Latency"; readonly by: Duration.Duration }
  | { readonly _tag: "Unreachable" }
  | { readonly _tag: "Silence" }
  | { readonly _tag: "LostAnswer"; readonly as: "broken" | "silence" }
  | { readonly _tag: "StaleRead" }
  | { readonly _tag: "DropWatch"; readonly after: number; readonly how: "ended" | "broken" | "halfLine" }
  | { readonly _tag: "StallWatch"; readonly after: number }
  | { readonly _tag: "ExpireWatch"; readonly after: number }
  | { readonly _tag: "DuplicateEvents" }
  | { readonly _tag: "LateEvents"; readonly by: Duration.Duration }
  | { readonly _tag: "Crash"; readonly when: "before" | "after" }
  | {
      readonly _tag: "Random"
      readonly seed: number
      readonly rate: number
      readonly faults: ReadonlyArray<Fault>
    }

export interface Rule {
  readonly on?: On | undefined
  readonly fault: Fault
}

export interface Sent {
  /** Among all requests, from 1. */
  readonly index: number
  /** Among the writes, from 1; undefined for a read. */
  readonly write: number | undefined
  readonly verb: string
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  /** Among those of the same verb, resource, namespace and name, from 1. */
  readonly occurrence: number
  /** What hit it, by tag. */
  readonly faults: ReadonlyArray<Fault["_tag"]>
}
