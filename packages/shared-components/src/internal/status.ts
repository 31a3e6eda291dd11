/** The part of a status that every kind has. */
import * as Conditions from "@berth/kube/Conditions"
import * as Kind from "@berth/kube/Kind"
import { Schema } from "effect"

export const statusFields = {
  conditions: Conditions.schema.pipe(
    Kind.described("What is true of the object now. Ready sums it up."),
    Kind.withDefault([])
  ),
  observedGeneration: Schema.optionalKey(
    Schema.Int.pipe(Kind.described("The generation of the spec that this status speaks of."))
  )
}
