/**
 * The HTTP side: reads requests, writes answers, keeps account of what is open so that all of it can be closed.
 */
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse
} from "node:http"
import { createServer as createTlsServer } from "node:https"
import { type Answer } from "./answer.ts"
import type { Api } from "./api.ts"
import { ApiError, internal, tooLarge } from "./apiError.ts"
import { authenticate, authorize } from "./authorization.ts"
import type { Certificate } from "../../Certificate.ts"
import type { Controllers } from "./controllers.ts"
import { jsonOf } from "./json.ts"
import type { ApiRequest } from "./request.ts"
import { route } from "./routes.ts"

const bodyBytesMax = 3 * 1024 * 1024

const header = (message: IncomingMessage, name: string): string => {
  const value = message.headers[name]
  return Array.isArray(value) ? value.join(",") : (value ?? "")
}

const parsed = (api: Api, message: IncomingMessage, bytes: Buffer, warnings: Array<string>): ApiRequest => {
  const url = new URL(message.url ?? "/", "http://localhost")
  return {
    method: message.method === "HEAD" ? "GET" : (message.method ?? "GET"),
    path: url.pathname
      .split("/")
      .filter((part) => part !== "")
      .map(decodeURIComponent),
    query: url.searchParams,
    accept: header(message, "accept"),
    contentType: header(message, "content-type"),
    userAgent: header(message, "user-agent"),
    body: bytes.toString(),
    bytes,
    user: authenticate(api, message.headers),
    warnings
  }
}

const failure = (cause: unknown): ApiError =>
  cause instanceof ApiError ? cause : internal(cause instanceof Error ? (cause.stack ?? cause.message) : String(cause))

const quoted = (warning: string): string => `299 - "${warning.replaceAll(/["\\]/gu, "\\$&")}"`

const warned = (warnings: ReadonlyArray<string>): OutgoingHttpHeaders =>
  warnings.length === 0 ? {} : { warning: warnings.map(quoted).join(", ") }

const refuse = (response: ServerResponse, error: ApiError, warnings: ReadonlyArray<string>): void => {
  const retry = error.details?.retryAfterSeconds
  response.writeHead(error.code, {
    "content-type": "application/json",
    ...(retry === undefined ? {} : { "retry-after": String(retry) }),
    ...warned(warnings)
  })
  response.end(jsonOf(error.status))
}

const flow = (
  response: ServerResponse,
  contentType: string,
  warnings: ReadonlyArray<string>,
  start: (sink: { readonly write: (text: string) => void; readonly end: () => void }) => (() => void) | undefined
): void => {
  response.writeHead(200, {
    "content-type": contentType,
    "cache-control": "no-cache, private",
    ...warned(warnings)
  })
  response.flushHeaders()
  let stop: (() => void) | undefined
  response.on("close", () => stop?.())
  stop = start({ write: (text) => void response.write(text), end: () => void response.end() })
}

const send = (response: ServerResponse, answer: Answer): void => {
  switch (answer._tag) {
    case "Json":
      response.writeHead(answer.status, {
        "content-type": answer.contentType,
        "content-length": Buffer.byteLength(answer.body),
        "cache-control": "no-cache, private",
        ...warned(answer.warnings)
      })
      response.end(answer.body)
      return
    case "Text":
      response.writeHead(answer.status, { "content-type": "text/plain; charset=utf-8" })
      response.end(answer.body)
      return
    case "Watch":
      flow(response, "application/json", answer.warnings, answer.watch)
      return
    case "Flow":
      flow(response, "text/plain", [], answer.start)
  }
}

const readBody = (message: IncomingMessage, done: (body: Buffer) => void, failed: (error: ApiError) => void): void => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  message.on("data", (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= bodyBytesMax) chunks.push(chunk)
  })
  message.on("end", () => {
    if (bytes > bodyBytesMax) failed(tooLarge())
    else done(Buffer.concat(chunks))
  })
}

// Real servers keep idle connections for minutes; a pool that trusts in that must not meet a closed one.
const keepAliveTimeout = 180_000

const receive = (api: Api, controllers: Controllers, message: IncomingMessage, response: ServerResponse): void => {
  const warnings: Array<string> = []
  const refused = (cause: unknown) => refuse(response, failure(cause), warnings)
  const answered = (body: Buffer) => {
    try {
      const request = parsed(api, message, body, warnings)
      authorize(api, request)
      const answer = route(api, request)
      controllers.settle()
      send(response, answer)
    } catch (cause) {
      // What was written before the failure still has its consequences.
      controllers.settle()
      refused(cause)
    }
  }
  readBody(message, answered, refused)
}

/** @internal */
export const httpServer = (api: Api, controllers: Controllers, certificate: Certificate | undefined): Server => {
  const listener = (message: IncomingMessage, response: ServerResponse) => receive(api, controllers, message, response)
  const options = { keepAliveTimeout, requestTimeout: 0 }
  return certificate === undefined
    ? createServer(options, listener)
    : createTlsServer({ ...options, ...certificate }, listener)
}
