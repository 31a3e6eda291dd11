import { Disposition } from "@berth/provisioners"

/**
 * Why a site is not there yet, beside what `RemoteCluster` and `ObjectProvisioner` say.
 *
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `rolling_out` | fewer servers than wanted run this page | looked at again in a second | nothing |
 * | `rollout_stuck` | the region's Kubernetes has given the rollout up | retried with backoff | mend it there; the log has the cause |
 *
 * A stuck rollout is Transient, although a person has to mend it: they mend it on a cluster that nobody watches from here, and what is
 * parked would not hear of it.
 */
export const Reasons = Disposition.vocabulary("site", {
  rolling_out: Disposition.yield("{ready} of {wanted} servers are up in {region}."),
  rollout_stuck: Disposition.transient("The servers in {region} do not come up; trying again.")
})
