/** A server that answers everything with an empty object, and remembers who asked. */
import { createServer, type IncomingHttpHeaders } from "node:http"
import { Effect } from "effect"

const identity = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /^(?:authorization|impersonate-)/u.test(name)))

export const listener = Effect.acquireRelease(
  Effect.promise(async () => {
    const all: Array<Record<string, unknown>> = []
    const server = createServer(({ headers }, answer) => {
      all.push(identity(headers))
      answer.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const close = () =>
      new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      })
    return { server: `http://127.0.0.1:${port}`, seen: () => all, close }
  }),
  ({ close }) => Effect.promise(close)
)
