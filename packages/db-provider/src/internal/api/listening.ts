/** The beginning and the end of a server's listening. */
import type { Server } from "node:http"
import type { Server as TlsServer } from "node:https"
import { type Duration, Effect } from "effect"

export interface Address {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
}

/** The port; fails with the code of what is in the way. What goes wrong later, as when there are no files left, is logged. */
export const listening = (server: Server | TlsServer, { host, port }: Address): Effect.Effect<number, string> =>
  Effect.contextWith((context) => {
    const run = Effect.runForkWith(context)
    return Effect.callback<number, string>((resume) => {
      let isListening = false
      server.on("error", ({ code = "unknown" }: NodeJS.ErrnoException) => {
        if (isListening) run(Effect.logError("the API's server cannot take a connection", { code }))
        else resume(Effect.fail(code))
      })
      server.listen(port, host, () => {
        isListening = true
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
      })
    })
  })

/** No connection any more; those that are idle end at once, the others after their answer. */
export const closing = (server: Server | TlsServer, grace: Duration.Input): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeIdleConnections()
  }).pipe(
    Effect.timeoutOrElse({ duration: grace, orElse: () => Effect.sync(() => server.closeAllConnections()) }),
    Effect.interruptible
  )
