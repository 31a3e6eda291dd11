import { Agent } from "node:https"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Bench from "./support/ApiBench.ts"
import * as Hostile from "./support/hostile.ts"

/** The whole of them are sent by the tests of whole programs. */
const count = Number(process.env["BERTH_FUZZ_COUNT"] ?? 500)

/** Set it to repeat a run. */
const seed = Number(process.env["BERTH_FUZZ_SEED"] ?? Date.now() % 1_000_000)

const limits = { consumer: { perSecond: 1e6, burst: 1e6 }, denials: { perSecond: 1e6, burst: 1e6 }, concurrency: 1_000 }

describe("The API", { timeout: 300_000 }, () => {
  layer(Bench.layer({ limits }), { timeout: 300_000, excludeTestServices: true })((it) => {
    it.effect(`D19: ${count} hostile requests get no 5xx, and no answer without its document (seed ${seed})`, () =>
      Effect.gen(function* () {
        const { token } = yield* Bench.consumer("fuzzed", { quota: { maxDatabases: 2 } })
        const hostile = Hostile.make(seed, token)
        const agent = yield* Effect.acquireRelease(
          Effect.sync(() => new Agent({ keepAlive: true, maxSockets: 24, rejectUnauthorized: false })),
          (agent) => Effect.sync(() => agent.destroy())
        )
        const seen = new Map<number, number>()
        const judge = (what: unknown, { body, headers, status, text }: Bench.Answer) => {
          seen.set(status, (seen.get(status) ?? 0) + 1)
          const isDocument = headers["content-type"] === "application/problem+json" && body["status"] === status
          const isRight = status < 400 || (status < 500 && (isDocument || text === ""))
          if (isRight && !/\n\s+at |node_modules|Error:/u.test(text)) return
          assert.fail(`${status} ${text} to ${JSON.stringify(what)}`)
        }

        const requests = Array.from({ length: (count * 9) / 10 }, () => hostile.request())
        yield* Effect.forEach(
          requests,
          ({ method, path, ...asked }) =>
            Effect.map(Bench.ask(method, path, { ...asked, agent }), (answer) =>
              judge({ method, path, ...asked }, answer)
            ),
          { concurrency: 24, discard: true }
        )
        // Most of these wait for the end of their time.
        const impatient = yield* Bench.served({ limits, clientMs: 300 })
        const texts = Array.from({ length: count / 10 }, () => hostile.bytes())
        yield* Effect.forEach(
          texts,
          (text) =>
            Effect.map(Effect.provideService(Bench.raw(text), Bench.Api, impatient), (answer) => {
              // Nothing is said to what is no HTTP at all.
              if (answer !== "") judge(text.toString("latin1"), Bench.parsed(answer))
            }),
          { concurrency: 200, discard: true }
        )

        const after = yield* Bench.ask("GET", "/v1/databases", { token })
        assert.strictEqual(after.status, 200)
        // It has been everywhere.
        const rare = count < 10_000 ? [] : [409, 413, 414, 415, 431]
        assert.includeMembers([...seen.keys()], [200, 202, 400, 401, 403, 404, 405, ...rare])
      }).pipe(Effect.scoped)
    )
  })
})
