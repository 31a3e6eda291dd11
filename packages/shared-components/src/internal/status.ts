/** The part of a status that every kind has. */
import * as Conditions from "@berth/kube/Conditions"
import * as Kind from "@berth/kube/Kind"
import * as Manager from "@berth/provisioners/Manager"

export const statusFields = {
  ...Manager.statusFields,
  conditions: Conditions.schema.pipe(
    Kind.described("What is true of the object now. Ready sums it up."),
    Kind.withDefault([])
  )
}
