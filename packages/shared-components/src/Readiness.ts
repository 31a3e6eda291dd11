/**
 * Whether a component is ready by the word of its own URL.
 *
 * **Guarantees**
 * - S26: a component with `readiness.httpGet` is ready when an answer has the status that it asks for. Nothing but the status is looked
 *   at: no redirect is followed, and the body is not read.
 * - Whoever writes an environment may have a say in the URL. Addresses in {@link refusedNetworks}, the operator's own machine among
 *   them, are not asked.
 *
 * **Caveats**
 * - As with the probes of a Pod, certificates are not checked: nothing is sent that others must not see.
 *
 * @since 0.1.0
 */
import * as http from "node:http"
import * as https from "node:https"
import * as Networks from "@berth/kube/Networks"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
import { Context, Data, Duration, Effect, Option, Result } from "effect"
import * as ComponentVariables from "./ComponentVariables.ts"
import type { Component } from "./EnvironmentTemplate.ts"
import { Reasons } from "./internal/environments/reasons.ts"
import * as Template from "./Template.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * The networks in which nothing is asked.
 *
 * @category references
 * @since 0.1.0
 */
export const refusedNetworks = Context.Reference<ReadonlyArray<string>>("@berth/shared-components/Readiness", {
  defaultValue: () => RemoteCluster.refusedNetworks
})

class Unanswered extends Data.TaggedError("Unanswered")<{ readonly why: string }> {}

/** The way to a URL: an address in its name is judged as a name that leads there is. */
const get = (url: URL, guard: Networks.Guard | undefined): Effect.Effect<number, Unanswered> =>
  Effect.callback((resume) => {
    if (guard?.refuses(url.hostname) === true) {
      return resume(Effect.fail(new Unanswered({ why: "the address is in a refused network" })))
    }
    const options = { agent: false, rejectUnauthorized: false, ...(guard && { lookup: guard.lookup }) }
    const request = (url.protocol === "https:" ? https : http).get(url, options, (answer) => {
      resume(Effect.succeed(answer.statusCode ?? 0))
      answer.destroy()
    })
    request.on("error", ({ message }) => resume(Effect.fail(new Unanswered({ why: message }))))
    return Effect.sync(() => request.destroy())
  })

const urlOf = (
  place: ComponentVariables.Scene,
  component: Component,
  source: string,
  where: string
): Effect.Effect<URL, ProvisionError> => {
  const rendered = Result.flatMap(Template.parse(source, { name: where }), (template) =>
    Template.render(template, ComponentVariables.context(place, component))
  )
  const invalid = (at: string, why: string) =>
    Reasons.readiness_invalid(
      { component: component.name, place: Option.getOrElse(Identifier.fromString(at), () => component.name) },
      { why }
    )
  if (Result.isFailure(rendered)) return Effect.fail(invalid(Template.at(rendered.failure), rendered.failure.message))
  const text = rendered.success.trim()
  return URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol)
    ? Effect.succeed(new URL(text))
    : Effect.fail(invalid(where, "what it is rendered to is no URL of HTTP"))
}

/**
 * Fails until the component's URL answers; succeeds at once where it has none.
 *
 * **Errors**: `not_answering` and `readiness_invalid` of `Environments.Reasons`.
 *
 * @category operations
 * @since 0.1.0
 */
export const check = Effect.fn("Readiness.check")(function* (
  place: ComponentVariables.Scene,
  component: Component,
  index: number
): Effect.fn.Return<void, ProvisionError> {
  if (component.readiness === undefined) return
  const { status, timeout, url: source } = component.readiness.httpGet
  const url = yield* urlOf(place, component, source, `spec.components[${index}].readiness.httpGet.url`)
  const guard = Networks.guard(yield* refusedNetworks)
  const late = new Unanswered({ why: `no answer within ${Duration.format(timeout)}` })
  const answer = yield* get(url, guard).pipe(
    Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(late) }),
    Effect.result
  )
  if (Result.isSuccess(answer) && answer.success === status) return
  const why = Result.isSuccess(answer) ? `the status is ${answer.success}, not ${status}` : answer.failure.why
  return yield* Reasons.not_answering({ component: component.name }, { why, after: "5 seconds" })
})
