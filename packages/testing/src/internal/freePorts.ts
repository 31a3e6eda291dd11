/** Ports of this machine for servers of a test. */
import { createServer } from "node:net"
import { Effect } from "effect"

/** Different ones that are free now. Somebody else may take one before it is used: then the server says so, and is started again. */
export const freePorts = (count: number): Effect.Effect<ReadonlyArray<number>> =>
  Effect.promise(async () => {
    const servers = Array.from({ length: count }, () => createServer())
    await Promise.all(servers.map((server) => new Promise<void>((done) => server.listen(0, "127.0.0.1", done))))
    const ports = servers.map((server) => {
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    })
    await Promise.all(servers.map((server) => new Promise((done) => server.close(done))))
    return ports
  })
