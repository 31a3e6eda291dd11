/** TLS in front of a PostgreSQL that has none: it answers the request for TLS, and passes on what was inside. */
import { connect, createServer, type Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { Effect, type Scope } from "effect"
import type { Issued } from "../../../kube/test/support/certificates.ts"

const join = (one: Socket, other: Socket) => {
  for (const [from, to] of [
    [one, other],
    [other, one]
  ] as const) {
    from.on("error", () => to.destroy())
    from.on("close", () => to.destroy())
    from.pipe(to)
  }
}

/** The length and the code of an SSLRequest, as the protocol has it. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Returns the port, on 127.0.0.1. A client that does not ask for TLS is turned away. */
export const serve = (
  { certificate, key }: Issued,
  behind: { readonly host: string; readonly port: number }
): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => socket.destroy())
        socket.once("data", (first: Buffer) => {
          if (!sslRequest.equals(first)) return socket.destroy()
          socket.write("S")
          join(new TLSSocket(socket, { isServer: true, cert: certificate, key }), connect(behind.port, behind.host))
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const close = () => {
          server.close()
          for (const socket of sockets) socket.destroy()
        }
        resume(Effect.succeed({ port: typeof address === "object" && address !== null ? address.port : 0, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ port }) => port))
