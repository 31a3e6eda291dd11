/** What is wrong with an object, in a condition of its own: `Valid`, with every problem and its place. */
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import type { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type { ResourceType } from "@berth/kube/ResourceType"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import { type Effect, Option } from "effect"
import * as TemplateCheck from "../TemplateCheck.ts"
import type { Problem } from "./problem.ts"

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

/** Every problem, as the object's own condition. */
export const publish = (
  type: ResourceType<Conditions.Reporting>,
  subject: Conditions.Subject,
  problems: ReadonlyArray<Problem>
): Effect.Effect<void, Disposition.ProvisionError, Client> =>
  KubeFailure.classified(Conditions.apply(type, subject, [conditionOf(problems)], "berth-valid"))

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
