/** What `inventory` prints: a line for each shard, and one for each thing that does not fit. */
import { DateTime, Option } from "effect"
import type { Outcome } from "../Adoption.ts"
import * as Consent from "../Consent.ts"
import type { Difference, Recorded, Stock } from "../Inventory.ts"
import * as Names from "../Names.ts"
import type { Entry } from "../Registry.ts"

interface Look {
  readonly stock: Stock
  readonly recorded: ReadonlyArray<Recorded>
  readonly differences: ReadonlyArray<Difference>
}

const meaning: Record<Difference["kind"], string> = {
  held: "is held",
  unrecorded: "has no record: --adopt makes one",
  unregistered: "is called like a tenant's, and is nobody's",
  incomplete: "lacks its database or its role",
  missing: "has a record, and is not on the shard",
  open: "is open, and should be closed",
  closed: "is closed, and should be open"
}

const whose = ({ closedAt, consumer, externalId }: Entry): string => {
  const since = Option.match(closedAt, { onNone: () => "", onSome: (at) => `, closed ${DateTime.formatIso(at)}` })
  return ` (${consumer}/${externalId}${since})`
}

/** All that a person needs to do either. */
const held = ({ consumer, externalId, recordUid }: Entry): string =>
  `is held: somebody deleted its record ${Names.record(consumer, externalId)}, and not its consumer; it is served on. ` +
  `A DELETE by the API lets it go, or the annotation ${Consent.releaseAnnotation}=${recordUid} on the record; ` +
  "--adopt, while no provider runs, keeps it by a new record"

const line = ({ entry, kind, name }: Difference): string =>
  Option.match(entry, {
    onNone: () => `  ${name} ${meaning[kind]}`,
    onSome: (of) => `  ${name}${whose(of)} ${kind === "held" ? held(of) : meaning[kind]}`
  })

export const ofShard = (shard: string, { differences, recorded, stock }: Look): string =>
  [
    `${shard}: ${stock.databases.size} databases, ${stock.entries.length} registered, ${recorded.length} recorded, ` +
      (differences.length === 0 ? "all of which fits" : `${differences.length} that do not fit`),
    ...differences.map(line)
  ].join("\n")

const became: Record<Outcome | "consumer_missing", string> = {
  adopted: "adopted",
  password_lost: "left: its Secret is nowhere; --reset-passwords gives it a new one, and locks its users out",
  taken: "left: there is another record for the same consumer and id",
  changed: "left: the registry gave it to another record meanwhile",
  let_go: "let go, since the kind is being deleted: install the kinds again, and adopt it then",
  consumer_missing: "left: there is no Consumer of this name"
}

export const outcome = (entry: Entry, of: Outcome | "consumer_missing"): string =>
  `  ${entry.databaseName}${whose(entry)} ${became[of]}`
