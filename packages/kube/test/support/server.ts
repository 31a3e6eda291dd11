/** A server on the loopback interface that answers as a test says, and remembers what it was asked. */
import { Effect } from "effect"
import { type IncomingMessage, type RequestListener, type ServerResponse, createServer } from "node:http"
import { createServer as createTlsServer, type ServerOptions } from "node:https"
import type { Server, Socket } from "node:net"
import { TLSSocket } from "node:tls"

export interface Received {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingMessage["headers"]
  readonly body: string
  /** The common name of the client's certificate. */
  readonly client: string | undefined
}

/** An answer; or a function that does what it likes with the response. */
export type Answer =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string | object }
  | ((response: ServerResponse) => void)

/** Says nothing, for ever. */
export const silence: Answer = () => {}

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString("utf8")
}

const toReceived = (request: IncomingMessage, body: string): Received => {
  const url = new URL(request.url ?? "/", "http://server")
  const peer = request.socket instanceof TLSSocket ? request.socket.getPeerCertificate() : undefined
  return {
    method: request.method ?? "",
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: request.headers,
    body,
    client: peer?.subject === undefined ? undefined : String(peer.subject.CN)
  }
}

const write = (response: ServerResponse, answer: Answer): void => {
  if (typeof answer === "function") return answer(response)
  const { body = {}, headers = {}, status = 200 } = answer
  const json = typeof body !== "string"
  response.writeHead(status, { ...(json ? { "content-type": "application/json" } : {}), ...headers })
  response.end(json ? JSON.stringify(body) : body)
}

const listen = (server: Server): Effect.Effect<number> =>
  Effect.callback((resume) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** Serves until the scope is closed. The script is asked for each answer, with the number of the request from 0. */
export const serve = Effect.fnUntraced(function* (
  script: (received: Received, index: number) => Answer,
  tls?: ServerOptions
) {
  const received: Array<Received> = []
  const sockets = new Set<Socket>()
  const counts = { sockets: 0, closed: 0 }
  const waiting: Array<() => void> = []
  const listener: RequestListener = (request, response) => {
    void readBody(request).then((body) => {
      const seen = toReceived(request, body)
      received.push(seen)
      waiting.splice(0).forEach((wake) => wake())
      write(response, script(seen, received.length - 1))
    })
  }
  const server: Server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  server.on("connection", (socket: Socket) => {
    counts.sockets += 1
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => {
      sockets.delete(socket)
      counts.closed += 1
      waiting.splice(0).forEach((wake) => wake())
    })
  })
  const port = yield* listen(server)
  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => {
      server.close(() => resume(Effect.void))
      sockets.forEach((socket) => socket.destroy())
    })
  )

  /** Waits for something that the server will see. */
  const until = (condition: () => boolean): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      const check = () => {
        if (condition()) resume(Effect.void)
        else waiting.push(check)
      }
      check()
    })
  return { url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`, received, counts, until }
})
