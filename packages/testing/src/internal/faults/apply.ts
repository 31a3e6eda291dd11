/** One fault around one request. */
import * as KubeError from "@berth/kube/KubeError"
import * as Transport from "@berth/kube/Transport"
import { Effect, type Scope } from "effect"
import type { Fault } from "./model.ts"
import { statusOf } from "./status.ts"
import * as WatchBody from "./watchBody.ts"

export type Send = (
  request: Transport.TransportRequest
) => Effect.Effect<Transport.TransportResponse, KubeError.Unreachable | KubeError.Timeout, Scope.Scope>

/** What faults need to know beyond the request. */
export interface Surroundings {
  /** What the same question was answered the last time. */
  readonly remembered: (path: string) => Transport.TransportResponse | undefined
  /** Ends the program: nothing that follows happens. */
  readonly die: Effect.Effect<never>
}

/** With its chance taken. */
export type Certain = Exclude<Fault, { readonly _tag: "Random" }>

const unreachable = (about: KubeError.Request, what: string) =>
  Effect.fail(new KubeError.Unreachable({ ...about, cause: new Error(what) }))

const refusal = (fault: Extract<Fault, { readonly _tag: "Error" }>): Transport.TransportResponse =>
  Transport.response(fault.status, JSON.stringify(statusOf(fault)), {
    "content-type": "application/json",
    ...(fault.retryAfterSeconds === undefined ? {} : { "retry-after": String(fault.retryAfterSeconds) })
  })

const lost = (request: Transport.TransportRequest, send: Send, as: "broken" | "silence") =>
  Effect.andThen(
    // To its end: what took effect after the headers counts too.
    Effect.flatMap(send(request), ({ text }) => Effect.ignore(text)),
    as === "silence" ? Effect.never : unreachable(request.about, "a fault lost the answer")
  )

const watch = (
  fault: Extract<
    Certain,
    { readonly _tag: "DropWatch" | "StallWatch" | "ExpireWatch" | "DuplicateEvents" | "LateEvents" }
  >,
  { about }: Transport.TransportRequest,
  answer: Transport.TransportResponse
): Transport.TransportResponse =>
  WatchBody.changed(answer, (lines) => {
    switch (fault._tag) {
      case "DropWatch":
        if (fault.how === "ended") return WatchBody.ended(lines, fault.after)
        return fault.how === "broken" ? WatchBody.cut(lines, fault.after, about) : WatchBody.halved(lines, fault.after)
      case "StallWatch":
        return WatchBody.stalled(lines, fault.after)
      case "ExpireWatch":
        return WatchBody.expired(lines, fault.after)
      case "DuplicateEvents":
        return WatchBody.doubled(lines)
      case "LateEvents":
        return WatchBody.late(lines, fault.by)
    }
  })

/** The fault, around whatever sends the request otherwise. */
export const around =
  (fault: Certain, surroundings: Surroundings, send: Send): Send =>
  (request) => {
    switch (fault._tag) {
      case "Error":
        return Effect.succeed(refusal(fault))
      case "Latency":
        return Effect.andThen(Effect.sleep(fault.by), send(request))
      case "Unreachable":
        return unreachable(request.about, "a fault keeps the server out of reach")
      case "Silence":
        return Effect.never
      case "LostAnswer":
        return lost(request, send, fault.as)
      case "StaleRead": {
        const answer = surroundings.remembered(request.path)
        return answer === undefined ? send(request) : Effect.succeed(answer)
      }
      case "Crash":
        return fault.when === "before"
          ? surroundings.die
          : Effect.andThen(
              Effect.flatMap(send(request), ({ text }) => Effect.ignore(text)),
              surroundings.die
            )
      case "DropWatch":
      case "StallWatch":
      case "ExpireWatch":
      case "DuplicateEvents":
      case "LateEvents":
        return Effect.map(send(request), (answer) => watch(fault, request, answer))
    }
  }
