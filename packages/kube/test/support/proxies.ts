/** Proxies on the loopback interface, which count the connections that they make. */
import { Effect } from "effect"
import { createServer as createHttpServer } from "node:http"
import { type Server, type Socket, connect, createServer } from "node:net"

const started = Effect.fnUntraced(function* (server: Server) {
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.on("error", () => {})
  })
  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => {
      server.close(() => resume(Effect.void))
      sockets.forEach((socket) => socket.destroy())
    })
  )
  return yield* Effect.callback<number>((resume) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })
})

const join = (left: Socket, right: Socket) => {
  left.pipe(right)
  right.pipe(left)
  right.on("error", () => left.destroy())
}

/** A proxy that makes tunnels at the word CONNECT. */
export const httpProxy = Effect.gen(function* () {
  const asked: Array<{ readonly target: string; readonly authorization: string | undefined }> = []
  const server = createHttpServer()
  server.on("connect", (request, client: Socket) => {
    const target = request.url ?? ""
    asked.push({ target, authorization: request.headers["proxy-authorization"] })
    const [host = "", port = ""] = target.split(":")
    const upstream = connect(Number(port), host, () => {
      client.write("HTTP/1.1 200 Connection Established\r\n\r\n")
      join(client, upstream)
    })
  })
  return { port: yield* started(server), asked }
})

/** A proxy of SOCKS 5, for addresses of IPv4 and for names, without authentication. */
export const socksProxy = Effect.gen(function* () {
  const asked: Array<string> = []
  const server = createServer((client) => {
    client.once("data", () => {
      client.write(Buffer.from([5, 0]))
      client.once("data", (request: Buffer) => {
        const named = request[3] === 3
        const length = named ? (request[4] ?? 0) : 4
        const start = named ? 5 : 4
        const address = request.subarray(start, start + length)
        const host = named ? address.toString("ascii") : address.join(".")
        const port = request.readUInt16BE(start + length)
        asked.push(`${host}:${port}`)
        const upstream = connect(port, host, () => {
          client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
          join(client, upstream)
        })
      })
    })
  })
  return { port: yield* started(server), asked }
})
