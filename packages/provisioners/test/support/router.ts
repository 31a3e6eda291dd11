/** One address for two clusters, so that all that a program asks of either goes through the transport that dies with it. */
import { type IncomingMessage, type ServerResponse, createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"

const prefix = "/remote"

/** The path of a request to the remote cluster. */
export const remotePath = (path: string): string => `${prefix}${path}`

/** Sends what begins with `/remote` to the one and the rest to the other. While `cut` holds, the remote one is not reached. */
export const start = Effect.fnUntraced(function* (home: string, remote: string) {
  const state = { cut: false }
  const forward = (incoming: IncomingMessage, response: ServerResponse) => {
    const path = incoming.url ?? "/"
    const isRemote = path.startsWith(`${prefix}/`)
    if (isRemote && state.cut) return incoming.socket.destroy()
    const url = isRemote ? `${remote}${path.slice(prefix.length)}` : `${home}${path}`
    const outgoing = request(url, { method: incoming.method, headers: incoming.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
      answer.on("error", () => response.destroy())
    })
    outgoing.on("error", () => response.destroy())
    response.on("close", () => outgoing.destroy())
    incoming.pipe(outgoing)
  }
  const server = createServer(forward)
  const url = yield* Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed(`http://127.0.0.1:${port}`))
      })
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  return {
    url,
    cut: Effect.sync(() => {
      state.cut = true
    })
  }
})
