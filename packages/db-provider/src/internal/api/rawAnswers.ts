/** What is answered to that which is no request of HTTP: a problem document, written by hand, and the end of the connection. */
import { randomUUID } from "node:crypto"
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import * as Problem from "../../Problem.ts"

const malformed = new Problem.Problem({ code: "invalid_request", detail: "this is not HTTP/1.1 as RFC 9112 has it" })

const byCode: ReadonlyMap<string, Problem.Problem> = new Map([
  [
    "HPE_HEADER_OVERFLOW",
    new Problem.Problem({ code: "headers_too_large", detail: "the headers have 16 KiB at most" })
  ],
  [
    "HPE_CHUNK_EXTENSIONS_OVERFLOW",
    new Problem.Problem({ code: "body_too_large", detail: "extensions of chunks are not read" })
  ],
  ["ERR_HTTP_REQUEST_TIMEOUT", new Problem.Problem({ code: "request_timeout", detail: "the request came too slowly" })]
])

const textOf = (problem: Problem.Problem, isHead: boolean): string => {
  const requestId = randomUUID()
  const status = Problem.statusOf(problem.code)
  const body = JSON.stringify(Problem.document(problem, requestId))
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    `content-type: ${Problem.contentType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    "cache-control: no-store",
    "x-content-type-options: nosniff",
    "connection: close"
  ]
  return `${lines.join("\r\n")}\r\n\r\n${isHead ? "" : body}`
}

/** Connections on which an answer was sent before its request had come as a whole. */
const answered = new WeakSet<Duplex>()

/** Notes what becomes of a request: what comes too late of it is not answered once more. */
export const follow = (request: IncomingMessage, response: ServerResponse): void => {
  response.once("finish", () => {
    if (request.complete) return
    answered.add(request.socket)
    request.once("end", () => answered.delete(request.socket))
  })
}

/** Connections that end: what still comes is not looked at. */
const ending = new WeakSet<Duplex>()

/** Who is closed at once while it sends may never read the answer. */
const graceMs = 500

const end = (socket: Duplex, text: string): void => {
  ending.add(socket)
  socket.end(text)
  const timer = setTimeout(() => socket.destroy(), graceMs)
  socket.once("close", () => clearTimeout(timer))
}

/** What the parser was given last, where it failed. */
interface ClientError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer
}

/** Where there is no HTTP, as when the handshake of TLS fails, nothing is answered. */
export const answer = ({ code = "", rawPacket }: ClientError, socket: Duplex): void => {
  if (ending.has(socket)) return
  const isOfHttp = code.startsWith("HPE_") || byCode.has(code)
  if (!isOfHttp || !socket.writable || answered.has(socket)) {
    socket.destroy()
    return
  }
  const isHead = rawPacket?.toString("latin1", 0, 5) === "HEAD "
  end(socket, textOf(byCode.get(code) ?? malformed, isHead))
}

const expectation = new Problem.Problem({
  code: "expectation_failed",
  detail: "the only expectation that is met is 100-continue"
})

const noProxy = new Problem.Problem({ code: "method_not_allowed", detail: "CONNECT is not served" })

/** Node would close the connection without a word. */
export const refuseConnect = (_: IncomingMessage, socket: Duplex): void => end(socket, textOf(noProxy, false))

/** Node would answer it with an empty body. */
export const refuseExpectation = ({ method, socket }: IncomingMessage): void =>
  end(socket, textOf(expectation, method === "HEAD"))
