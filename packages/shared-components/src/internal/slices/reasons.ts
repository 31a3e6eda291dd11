/** Why a slice is between two steps; documented at `SliceTree.Reasons`. */
import * as Disposition from "@berth/provisioners/Disposition"

export const Reasons = Disposition.vocabulary("slice", {
  reserved: Disposition.yield(
    "The place is reserved; waiting until the environment {environment} has all of its places."
  ),
  missing_shared_component: Disposition.yield("Waiting for the shared component {shared}."),
  missing_provider: Disposition.userActionRequired("The provider {provider} of {shared} does not exist: create it."),
  missing_backend: Disposition.userActionRequired(
    "Its slices are made by the backend {backend}, which this program does not have: run one that has it."
  ),
  unreadable: Disposition.terminal("{object} has another shape than this version of the operator knows."),
  binding_lost: Disposition.transient("The kept binding is gone; the slice is provisioned again."),
  refresh_refused: Disposition.userActionRequired(
    "{annotation} must be the generation of the provider {provider}, which is {generation}: look at what it says now, then correct the annotation."
  ),
  refresh_impossible: Disposition.userActionRequired(
    "{annotation} asks for what the provider {provider} says, and there is no such provider: create it, or take the annotation off and correct spec.capsule of this slice."
  ),
  abandon_refused: Disposition.userActionRequired(
    "berth.dev/abandon must be the UID of this slice, which is {uid}: correct the annotation, or take it off."
  ),
  releasing: Disposition.yield("The slice was given up and is being removed.")
})
