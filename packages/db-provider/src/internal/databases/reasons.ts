/** Why a database is between two steps. */
import * as Disposition from "@berth/provisioners/Disposition"

export const Reasons = Disposition.vocabulary("database", {
  consumer_gone: Disposition.yield("The consumer {consumer} is not there."),
  unplaced: Disposition.yield("The database has no place yet."),
  placed: Disposition.yield("The database has a place on {shard}, where it is made next."),
  shard_gone: Disposition.yield("The shard {shard} is not there, or another one has its name."),
  shard_down: Disposition.yield("The shard {shard} cannot be worked on now: see its conditions."),
  held: Disposition.yield(
    "It is meant to be so: the record was deleted without the API, so its tenant is served on and the record is never Ready again. To let the tenant go, delete it by the API, or annotate the record with db.berth.dev/release and its own UID {uid}; to keep it, make the record anew by inventory --adopt."
  ),
  kept: Disposition.yield("The database is closed, and is kept until the grace period is over."),
  consent_changed: Disposition.yield("What is to become of the database was changed just now."),
  removing: Disposition.yield("The database is dropped, and its record goes."),
  opened_by_tenant: Disposition.userActionRequired(
    "The database was closed, since its tenant had let others in: when that is settled, annotate the record with db.berth.dev/reopen and its own UID {uid}."
  )
})

/** Whether a record is only there for its finalizer, and its tenant is served on. */
export const isHeld = ({ reason, vocabulary }: Pick<Disposition.Shown, "reason" | "vocabulary">): boolean =>
  vocabulary === Reasons.held.vocabulary && reason === Reasons.held.reason
