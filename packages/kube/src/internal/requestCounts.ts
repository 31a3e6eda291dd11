/** Counts requests to one host as client-go does. */
import { Effect, Exit } from "effect"
import * as Metrics from "../Metrics.ts"
import * as Meter from "./meter.ts"

/** Where there was no answer: the connection broke, or the deadline passed. */
const noAnswer = "<error>"

export const make = (host: string) =>
  Effect.map(Effect.context(), (context) => {
    const meters = new Map<string, Meter.Meter>()
    const meter = (code: string, method: string): Meter.Meter => {
      const key = `${method} ${code}`
      const known = meters.get(key)
      if (known !== undefined) return known
      const made = Meter.labelled(context, { code, method, host })(Metrics.requestsTotal)
      meters.set(key, made)
      return made
    }
    return <A extends { readonly status: number }, E, R>(method: string, request: Effect.Effect<A, E, R>) =>
      Effect.onExit(request, (exit) =>
        Effect.sync(() => meter(Exit.isSuccess(exit) ? String(exit.value.status) : noAnswer, method)(1))
      )
  })
