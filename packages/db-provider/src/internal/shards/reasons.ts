/** Why a shard is not Ready, or not gone. */
import * as Disposition from "@berth/provisioners/Disposition"

export const Reasons = Disposition.vocabulary("shard_check", {
  not_prepared: Disposition.transient(
    "The server of {shard} lacks what the provider needs ({findings}): preflight says what to run."
  ),
  standby: Disposition.transient("The server of {shard} is a standby: primary has to name the primary."),
  pooler: Disposition.transient("The pooler in front of {shard} does not work as the Shard says ({findings})."),
  isolation_violated: Disposition.transient(
    "Tenants of {shard} are not kept apart: one can get to {databases}. No new databases are placed there."
  ),
  held_by_databases: Disposition.yield("Kept until these databases are gone: {databases}.")
})
