/**
 * What a Service does for a Deployment: each new connection goes to a replica that was ready when it was looked at last. It looks at
 * intervals, so that it is late, as a Service is.
 */
import { connect, createServer, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

export interface Backend {
  /** `host:port` of the API. */
  readonly api: string
  readonly get: (path: string) => Effect.Effect<{ readonly status: number }>
}

export interface Balancer {
  readonly address: string
  readonly add: (backend: Backend) => void
}

const intervalMs = 200

const isReady = ({ get }: Backend) =>
  get("/readyz").pipe(
    Effect.map(({ status }) => status === 200),
    Effect.catchCause(() => Effect.succeed(false))
  )

const passOn = (client: Socket, { api }: Backend) => {
  const [host = "", port = ""] = api.split(":")
  const upstream = connect(Number(port), host)
  upstream.on("error", () => client.destroy())
  upstream.on("close", () => client.destroy())
  client.on("close", () => upstream.destroy())
  client.pipe(upstream).pipe(client)
}

export const start: Effect.Effect<Balancer, never, Scope.Scope> = Effect.gen(function* () {
  const backends: Array<Backend> = []
  let ready: ReadonlyArray<Backend> = []
  let turn = 0
  const look = Effect.map(
    Effect.forEach(backends, (backend) => Effect.map(isReady(backend), (yes) => (yes ? [backend] : [])), {
      concurrency: "unbounded"
    }),
    (found) => void (ready = found.flat())
  )
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.suspend(() => look),
        Effect.sleep(intervalMs)
      )
    )
  )
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => socket.destroy())
    socket.on("close", () => sockets.delete(socket))
    const backend = ready[turn++ % Math.max(1, ready.length)]
    if (backend === undefined) socket.destroy()
    else passOn(socket, backend)
  })
  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        for (const socket of sockets) socket.destroy()
      })
  )
  return {
    address: `127.0.0.1:${port}`,
    add: (backend) => void backends.push(backend)
  }
})
