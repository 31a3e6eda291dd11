/** What is wrong with an object, in a condition of its own: `Valid`, with every problem and its place. */
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type { KubeObject } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { DateTime, Effect, Option, Schema } from "effect"
import * as TemplateCheck from "../TemplateCheck.ts"
import type { Problem } from "./problem.ts"

interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: ReadonlyArray<typeof Conditions.Condition.Encoded> }
}

/** The decoded object, as far as it matters here. */
export interface Subject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly generation: number
  }
  readonly status?: { readonly conditions: ReadonlyArray<Conditions.Condition> }
}

/** A status is bounded, and so is what anybody reads. */
const linesMax = 16

const conditionOf = (problems: ReadonlyArray<Problem>): Conditions.Input => {
  const [first] = problems
  return first === undefined
    ? { type: "Valid", status: "True", reason: "Valid", message: "Everything that can be checked is in order." }
    : {
        type: "Valid",
        status: "False",
        reason: first.reason,
        message: TemplateCheck.summary(problems, linesMax).slice(0, 16_384)
      }
}

const encode = Schema.encodeEffect(Conditions.Condition)

/** Applied, so that only this condition is ours; nothing is sent where it says the same already. */
export const publish = Effect.fnUntraced(function* (
  type: ResourceType<Conditioned>,
  { metadata, status }: Subject,
  problems: ReadonlyArray<Problem>
): Effect.fn.Return<void, Disposition.ProvisionError, Client> {
  const { generation, name, namespace, uid } = metadata
  const before = status?.conditions ?? []
  const input = conditionOf(problems)
  const after = Conditions.set(before, input, { generation, now: yield* DateTime.now })
  const condition = Conditions.get(after, "Valid")
  if (after === before || condition === undefined) return
  const encoded = yield* Effect.orDie(encode(condition))
  const client = yield* Client
  const draft = { metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid } }
  yield* KubeFailure.classified(
    client.apply(
      type,
      { ...draft, status: { conditions: [encoded] } },
      { subresource: "status", fieldManager: "berth-valid", force: true }
    )
  )
})

const unplaced = Identifier.of("spec")

/** Where a problem is; a place that holds more than names is cut to the field. */
export const place = ({ where }: Problem): Identifier.Identifier =>
  Option.getOrElse(Identifier.fromString(where), () => unplaced)

/** A problem as a message names it: where it is, and of which sort. */
export const named = (problem: Problem) => ({
  place: place(problem),
  problem: Identifier.Identifier.make(problem.reason)
})

/** All problems, for the operator's log. */
export const why = (problems: ReadonlyArray<Problem>): string => problems.map(TemplateCheck.line).join("; ")
