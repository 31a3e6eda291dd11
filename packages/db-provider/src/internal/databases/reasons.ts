/** Why a database is between two steps. */
import * as Disposition from "@berth/provisioners/Disposition"

export const Reasons = Disposition.vocabulary("database", {
  consumer_gone: Disposition.yield("The consumer {consumer} is not there."),
  unplaced: Disposition.yield("The database has no place yet."),
  placed: Disposition.yield("The database has a place on {shard}, where it is made next."),
  shard_gone: Disposition.yield("The shard {shard} is not there, or another one has its name."),
  shard_down: Disposition.yield("The shard {shard} cannot be worked on now: see its conditions."),
  held: Disposition.yield(
    "The record is being deleted, and its consumer did not ask for that, so it goes on serving: to let the tenant go, annotate it with db.berth.dev/release and its own UID {uid}."
  ),
  kept: Disposition.yield("The database is closed, and is kept until the grace period is over."),
  consent_changed: Disposition.yield("What is to become of the database was changed just now."),
  removing: Disposition.yield("The database is dropped, and its record goes."),
  opened_by_tenant: Disposition.userActionRequired(
    "The database was closed, since its tenant had let others in: when that is settled, annotate the record with db.berth.dev/reopen and its own UID {uid}."
  )
})
