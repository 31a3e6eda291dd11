import { Data } from "effect"

/** The credentials of a connection could not be had. It says where they come from, never what they are. */
export class CredentialsUnavailable extends Data.TaggedError("CredentialsUnavailable")<{
  /** A file, or a command. */
  readonly source: string
  readonly problem: string
}> {
  override get message() {
    return `No credentials from ${this.source}: ${this.problem}.`
  }
}
