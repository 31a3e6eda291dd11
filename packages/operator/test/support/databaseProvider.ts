/** A database provider as far as its API shows it, over real TLS, which does what a test says. */
import { createServer, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import type { Phase } from "@berth/db-provider/Database"
import * as Problem from "@berth/db-provider/Problem"
import { Effect, type Scope } from "effect"
import { makeAuthority } from "../../../kube/test/support/certificates.ts"

export interface Answer {
  readonly status: number
  readonly body: object
  readonly type?: string
}

interface Request {
  readonly method: string
  /** Empty for the list. */
  readonly id: string
}

const password = (id: string) => `pw-of-${id}`

const connectionOf = (id: string) => ({
  host: "pg.test",
  port: 6432,
  database: `t_${id}`,
  user: `u_${id}`,
  password: password(id),
  sslmode: "verify-full",
  caBundle: "a certificate",
  uri: `postgresql://u_${id}:${password(id)}@pg.test:6432/t_${id}?sslmode=verify-full`
})

const summaryOf = (id: string, phase: Phase) => ({
  id,
  phase,
  labels: {},
  shardSelector: { matchLabels: {} },
  createdAt: "2026-01-01T00:00:00Z"
})

const problem = (code: Problem.Code, retryAfterSeconds?: number): Answer => ({
  status: Problem.statusOf(code),
  body: Problem.document(new Problem.Problem({ code, detail: "said for people", retryAfterSeconds }), "req-1"),
  type: "application/problem+json"
})

const make = (certificates: ReturnType<typeof makeAuthority>) => {
  const databases = new Map<string, Phase>()
  const requests: Array<Request> = []
  const state = {
    token: "token-1",
    /** What becomes of a database that is asked for. */
    made: "Ready" satisfies Phase as Phase,
    /** What is answered to everything. */
    answer: undefined as Answer | undefined
  }
  const is = (phase: Phase | undefined, ...phases: ReadonlyArray<Phase>) =>
    phase !== undefined && phases.includes(phase)

  const put = (id: string): Answer => {
    if (is(databases.get(id), "Closing", "SoftDeleted", "Dropping")) return problem("being_deleted")
    databases.set(id, state.made)
    return state.made === "Ready" || state.made === "Held"
      ? { status: 200, body: { ...summaryOf(id, state.made), connection: connectionOf(id) } }
      : { status: 202, body: summaryOf(id, state.made) }
  }
  const get = (id: string): Answer => {
    const phase = databases.get(id)
    if (phase === undefined) return problem("database_not_found")
    const connection = phase === "Ready" ? { connection: connectionOf(id) } : {}
    return { status: 200, body: { ...summaryOf(id, phase), ...connection } }
  }
  const remove = (id: string): Answer => {
    const phase = databases.get(id)
    if (phase === undefined) return problem("database_not_found")
    if (phase === "Dropping") return problem("database_deleted")
    // Closed at the second request.
    const next = is(phase, "Closing", "SoftDeleted") ? "SoftDeleted" : "Closing"
    databases.set(id, next)
    return { status: next === "SoftDeleted" ? 200 : 202, body: summaryOf(id, next) }
  }
  const answerTo = ({ id, method }: Request, token: string): Answer => {
    if (state.answer !== undefined) return state.answer
    if (token !== `Bearer ${state.token}`) return problem("unauthorized")
    if (id === "") return { status: 200, body: { items: [] } }
    return method === "PUT" ? put(id) : method === "DELETE" ? remove(id) : get(id)
  }

  const { certificate: cert, key } = certificates.issue("databases")
  const server = createServer({ cert, key }, (request, response) => {
    const id = /^\/v1\/databases\/?([^/?]*)/u.exec(request.url ?? "")?.[1] ?? ""
    const asked = { method: request.method ?? "", id }
    requests.push(asked)
    request.resume()
    const { body, status, type = "application/json" } = answerTo(asked, request.headers.authorization ?? "")
    const text = JSON.stringify(body)
    response.writeHead(status, { "content-type": type, ...(status === 202 ? { "retry-after": "2" } : {}) }).end(text)
  })
  return { databases, requests, state, server, problem, password, caBundle: certificates.certificate }
}

const listening = (server: Server, port: number) =>
  Effect.callback<number>((resume) => {
    server.listen(port, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(isAddress(address) ? address.port : 0))
    })
  })

const isAddress = (address: AddressInfo | string | null): address is AddressInfo =>
  typeof address === "object" && address !== null

/** Its port stays the same when it is stopped and started again. */
export const serve: Effect.Effect<
  ReturnType<typeof make> & {
    readonly endpoint: string
    readonly stop: Effect.Effect<void>
    readonly start: Effect.Effect<void>
  },
  never,
  Scope.Scope
> = Effect.gen(function* () {
  const provider = make(makeAuthority("an authority"))
  const { server } = provider
  const stop = Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })
  const port = yield* Effect.acquireRelease(listening(server, 0), () =>
    Effect.suspend(() => (server.listening ? stop : Effect.void))
  )
  return {
    ...provider,
    endpoint: `https://127.0.0.1:${port}`,
    stop,
    start: Effect.asVoid(Effect.suspend(() => listening(server, port)))
  }
})
