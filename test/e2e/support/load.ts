/** Consumers that ask for databases, read them and give them up, one after the other, and write down what they were answered. */
import type { Put, ProviderClient, Remove } from "@berth/db-provider/client"
import { Duration, Effect, Option, Redacted } from "effect"

export interface Login {
  readonly user: string
  readonly database: string
  readonly password: string
}

export interface Answers {
  /** By id: what was handed over, each time. */
  readonly given: Map<string, Array<Login>>
  /** Ids of which it was answered that nobody can log in any more. */
  readonly closed: Set<string>
  /** Ids that were asked for, whatever came of it. */
  readonly asked: Set<string>
  /** What failed in another way than the API promises for a replica that ends. */
  readonly failed: Array<string>
  /** Whether nobody is to begin anything any more. */
  isOver: boolean
}

export const answers = (): Answers => ({
  given: new Map(),
  closed: new Set(),
  asked: new Set(),
  failed: [],
  isOver: false
})

type Calls = Pick<ProviderClient, "get" | "put" | "remove">

const wait = { wait: "20 seconds" } as const

const loginOf = ({ connection }: Extract<Put, { _tag: "Ready" }>["database"]): Login => ({
  user: connection.user,
  database: connection.database,
  password: Redacted.value(connection.password)
})

interface Failure {
  readonly _tag: string
  readonly message: string
  readonly status?: number | Option.Option<number>
  readonly retryAfter?: Option.Option<Duration.Duration>
}

/** Asks again where the API says so, or where the connection broke; what broke is written down. */
const insistently = <A>(log: Answers, call: Effect.Effect<A, Failure>): Effect.Effect<A> =>
  Effect.catch(call, (failure) => {
    const after = failure.retryAfter ?? Option.none()
    const isLater = failure.status === 503 && Option.isSome(after)
    if (!isLater) log.failed.push(`${failure._tag}: ${failure.message}`)
    const pause = Option.getOrElse(after, () => Duration.millis(200))
    return Effect.delay(
      Effect.suspend(() => insistently(log, call)),
      pause
    )
  })

const put = (log: Answers, calls: Calls, id: string): Effect.Effect<Login> =>
  Effect.flatMap(insistently(log, calls.put(id, wait)), (answer) => {
    if (answer._tag === "Pending") {
      return Effect.delay(
        Effect.suspend(() => put(log, calls, id)),
        answer.retryAfter
      )
    }
    const login = loginOf(answer.database)
    log.given.set(id, [...(log.given.get(id) ?? []), login])
    return Effect.succeed(login)
  })

const remove = (log: Answers, calls: Calls, id: string): Effect.Effect<void> =>
  Effect.flatMap(insistently<Remove>(log, calls.remove(id, wait)), (answer) => {
    if (answer._tag === "Closing") {
      return Effect.delay(
        Effect.suspend(() => remove(log, calls, id)),
        answer.retryAfter
      )
    }
    log.closed.add(id)
    return Effect.void
  })

/** One consumer, until it is over: every other database is given up. */
export const consumer = Effect.fnUntraced(function* (log: Answers, calls: Calls, name: string) {
  for (let count = 0; !log.isOver; count++) {
    const id = `${name}-${count}`
    log.asked.add(id)
    yield* put(log, calls, id)
    yield* insistently(log, calls.get(id))
    if (count % 2 === 1) yield* remove(log, calls, id)
  }
})
