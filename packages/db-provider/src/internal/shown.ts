/** Names of a server, as far as they may be shown. */
import * as Identifier from "@berth/provisioners/Identifier"
import { Option } from "effect"

const unnamed = Identifier.of("one-that-cannot-be-shown")

/** Tenants and administrators may give things any name. */
export const ofName = (name: string): Identifier.Identifier =>
  Option.getOrElse(Identifier.fromString(name), () => unnamed)
