/** Tells of 5,000 events, says so on standard error while nobody has read standard output, and ends. */
import { Identifier } from "@berth/kube/Identifier"
import { Effect } from "effect"
import * as Audit from "../../src/Audit.ts"
import * as AuditSink from "../../src/AuditSink.ts"

const event = {
  event: "credentials.read",
  consumer: Identifier.make("ci"),
  token: Identifier.make("main"),
  requestId: "0123456789abcdef0123456789abcdef",
  externalId: Identifier.make("branch-1"),
  database: Identifier.make("t_0123456789abcdefghij")
} as const

const program = Effect.gen(function* () {
  for (let told = 0; told < 5_000; told++) yield* Audit.record(event)
  // Long enough for the writer to have filled the pipe.
  yield* Effect.sleep("50 millis")
  process.stderr.write("told 5000\n")
})

await Effect.runPromise(program.pipe(Effect.provide(Audit.layer({ instance: "provider-0", sink: AuditSink.stdout }))))
