/** From requests of the API to what they mean, and back. */
import { Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import * as Api from "../../Api.ts"
import type { Outcome, Requests } from "../../Requests.ts"
import { refusal } from "./answers.ts"
import { waitSeconds } from "./prefer.ts"

const encoderOf = <A, I>(schema: Schema.Codec<A, I>) => {
  const encode = Schema.encodeEffect(Schema.toCodecJson(schema))
  return (value: A, status: number, headers: Record<string, string> = {}) =>
    // What does not fit its own definition is a mistake of ours.
    Effect.map(Effect.orDie(encode(value)), (body) => HttpServerResponse.jsonUnsafe(body, { status, headers }))
}

const asSummary = encoderOf(Api.Summary)
const asDatabase = encoderOf(Api.Database)
const asReady = encoderOf(Api.ReadyDatabase)
const asPage = encoderOf(Api.Page)

const applied = (seconds: number): Record<string, string> =>
  seconds === 0 ? {} : { "preference-applied": `wait=${seconds}` }

const accepted = ({ database, retryAfterSeconds }: Extract<Outcome<never>, { _tag: "Pending" }>, seconds: number) =>
  asSummary(database, 202, { "retry-after": String(retryAfterSeconds), ...applied(seconds) })

export const layer = (requests: Requests) =>
  HttpApiBuilder.group(Api.Api, "databases", (handlers) =>
    handlers.handleAll({
      putDatabase: ({ headers, params, payload }) => {
        const seconds = waitSeconds(headers.prefer, Api.waitMaxSeconds)
        return requests.put(params.id, payload ?? {}, seconds).pipe(
          Effect.flatMap((outcome) =>
            outcome._tag === "Pending"
              ? accepted(outcome, seconds)
              : asReady(outcome.database, outcome.isNew ? 201 : 200, applied(seconds))
          ),
          Effect.catch((problem) => refusal(problem))
        )
      },
      getDatabase: ({ params }) =>
        requests.get(params.id).pipe(
          Effect.flatMap((database) => asDatabase(database, 200)),
          Effect.catch((problem) => refusal(problem))
        ),
      deleteDatabase: ({ headers, params }) => {
        const seconds = waitSeconds(headers.prefer, Api.waitMaxSeconds)
        return requests.remove(params.id, seconds).pipe(
          Effect.flatMap((outcome) =>
            outcome._tag === "Pending" ? accepted(outcome, seconds) : asSummary(outcome.database, 200, applied(seconds))
          ),
          Effect.catch((problem) => refusal(problem))
        )
      },
      listDatabases: ({ query }) =>
        requests.list(query.cursor, query.limit ?? Api.pageMax).pipe(
          Effect.flatMap((page) => asPage(page, 200)),
          Effect.catch((problem) => refusal(problem))
        )
    })
  )
