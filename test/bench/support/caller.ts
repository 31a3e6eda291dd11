/** Somebody who calls the API of the database provider, by connections that stay open, as its consumers do. */
import { Agent, request } from "node:https"
import { Data, Effect, type Scope } from "effect"

/** The API answered something else than it was asked for. */
export class Refused extends Data.TaggedError("Refused")<{ readonly status: number; readonly body: string }> {
  override get message() {
    return `the provider answered ${this.status}: ${this.body}`
  }
}

/** An answer, and how long it took from the request to its last byte. */
export interface Answer {
  readonly status: number
  readonly body: string
  readonly tookMs: number
}

export interface Page {
  readonly cursor?: string | undefined
  readonly limit: number
}

export interface Caller {
  /** Asks for a database, and waits until it is Ready. */
  readonly put: (id: string, shard: string) => Effect.Effect<Answer, Refused>
  readonly get: (id: string) => Effect.Effect<Answer, Refused>
  readonly list: (page: Page) => Effect.Effect<Answer, Refused>
}

interface Options {
  readonly port: number
  readonly ca: string
  readonly token: string
}

interface Asked {
  readonly method: "GET" | "PUT"
  readonly path: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | undefined
}

const ask =
  ({ ca, port, token }: Options, agent: Agent) =>
  ({ body, headers, method, path }: Asked): Effect.Effect<Answer, Refused> =>
    Effect.callback((resume) => {
      const since = performance.now()
      const failed = (error: Error) => resume(Effect.fail(new Refused({ status: 0, body: error.message })))
      const sent = request(
        {
          agent,
          ca,
          host: "127.0.0.1",
          port,
          method,
          path,
          headers: { authorization: `Bearer ${token}`, ...headers }
        },
        (response) => {
          let text = ""
          response.setEncoding("utf8")
          response.on("data", (chunk: string) => (text += chunk))
          response.on("error", failed)
          response.on("end", () => {
            const { statusCode: status = 0 } = response
            const answer = { status, body: text, tookMs: performance.now() - since }
            resume(status === 200 || status === 201 ? Effect.succeed(answer) : Effect.fail(new Refused(answer)))
          })
        }
      )
      sent.on("error", failed)
      sent.end(body)
    })

/** Until the scope closes. */
export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Caller, never, Scope.Scope> {
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent({ keepAlive: true, maxSockets: 64 })),
    (opened) => Effect.sync(() => opened.destroy())
  )
  const send = ask(options, agent)
  return {
    put: (id, shard) =>
      send({
        method: "PUT",
        path: `/v1/databases/${id}`,
        headers: { "content-type": "application/json", prefer: "wait=60" },
        body: JSON.stringify({ shardSelector: { matchLabels: { shard } } })
      }),
    get: (id) => send({ method: "GET", path: `/v1/databases/${id}` }),
    list: ({ cursor, limit }) => {
      const query = new URLSearchParams({ limit: String(limit), ...(cursor === undefined ? {} : { cursor }) })
      return send({ method: "GET", path: `/v1/databases?${query.toString()}` })
    }
  }
})
