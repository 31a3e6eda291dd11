/** Why an environment is not Ready, or not gone; documented at `Environments.Reasons`. */
import * as Disposition from "@berth/provisioners/Disposition"

export const Reasons = Disposition.vocabulary("environment", {
  template_missing: Disposition.userActionRequired(
    "There is no EnvironmentTemplate {template}: create it, or name another one."
  ),
  template_invalid: Disposition.userActionRequired(
    "The template {template} is not in order, first at {place} ({problem}): mend what its condition Valid lists."
  ),
  environment_invalid: Disposition.userActionRequired(
    "The environment does not fit its template {template}, first at {place} ({problem}): mend what the condition Valid lists."
  ),
  registering: Disposition.yield("Asking for a place at {shared}, for {component}."),
  waiting_for_place: Disposition.yield("Waiting for a place at {shared}, for {component}: number {position} in line."),
  shared_component_not_ready: Disposition.yield("Waiting for {shared}, which {component} needs, to be ready."),
  shared_component_stalled: Disposition.userActionRequired(
    "The shared component {shared}, which {component} needs, is stalled: mend what its conditions name."
  ),
  shared_component_closing: Disposition.userActionRequired(
    "The shared component {shared}, which {component} needs, is being deleted and admits nobody: use another one, or create it again once it is gone."
  ),
  previous_slice: Disposition.yield("Waiting until the slice that {component} had before is gone."),
  previous_slice_stalled: Disposition.userActionRequired(
    "The slice that {component} had before cannot be removed: see the conditions of the Slice {slice}."
  ),
  suspended: Disposition.yield("Suspended before {component} had a place at {shared}: its turn is given up."),
  slice_renamed: Disposition.userActionRequired(
    "{component} wants a slice of {shared}, and that of {former}, which left the template, is still there with what is in it: name the component {former} again, or list it in the replaces of {component} to have that slice removed."
  ),
  slice_paused: Disposition.yield(
    "The slice of {component} is paused: take berth.dev/paused off the Slice {slice} when it is to go on."
  ),
  provisioning_slice: Disposition.yield("The slice of {component} is being made."),
  slice_stalled: Disposition.userActionRequired(
    "The slice of {component} needs somebody: see the conditions of the Slice {slice}."
  ),
  binding_missing: Disposition.yield("Waiting for the binding of {component}."),
  secret_missing: Disposition.userActionRequired(
    "The variable {variable} of {component} names the Secret {secret}, which is not in the namespace {namespace}: create it."
  ),
  secret_not_allowed: Disposition.userActionRequired(
    "The variable {variable} of {component} names the Secret {secret}, which is not for environments: label it berth.dev/for-environments=true."
  ),
  secret_key_missing: Disposition.userActionRequired(
    "The variable {variable} of {component} names a key that the Secret {secret} does not have: add it."
  ),
  slice_key_missing: Disposition.userActionRequired(
    "The variable {variable} of {component} names a key that the binding of {slice} does not have: correct it."
  ),
  variables_failed: Disposition.userActionRequired(
    "The variables of {component} cannot be rendered: see {place}, which reads what is not there or does not fit."
  ),
  values_failed: Disposition.userActionRequired(
    "The values of {component} cannot be rendered: see {place}, which reads what is not there or does not fit."
  ),
  not_answering: Disposition.yield("{component} is deployed, and its readiness URL does not answer as it should."),
  readiness_invalid: Disposition.userActionRequired(
    "The readiness URL of {component} cannot be asked: see {place}, which is rendered to no URL of HTTP."
  ),
  deploy_timeout: Disposition.transient("{component} was not ready within {limit}: {reason}. It goes on being tried."),
  target_not_allowed: Disposition.userActionRequired(
    "The Secret {secret}, with the kubeconfig of the target, is not for environments: label it berth.dev/for-environments=true."
  ),
  outdated: Disposition.yield("The template {template}, or what it refers to, has just changed."),
  force_refused: Disposition.userActionRequired(
    "berth.dev/force-cleanup must be the UID of this environment, which is {uid}: correct the annotation, or take it off."
  ),
  releasing_slices: Disposition.yield("Waiting until these slices are gone: {slices}."),
  slices_not_removed: Disposition.userActionRequired(
    "These slices cannot be removed: {slices}. See the conditions of each Slice; it goes on being tried. To let the environment go without them, annotate it with berth.dev/force-cleanup and its own UID {uid}."
  )
})
