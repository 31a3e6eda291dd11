/** `berth run` as a process beside the test, and the cluster that it finds. */
import { writeFileSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Effect, Schedule } from "effect"
import * as Crds from "../../src/Crds.ts"
import * as berth from "./berth.ts"

/** Starts it and waits until it serves health and metrics. */
export const start = Effect.fnUntraced(function* (
  kubeconfig: string,
  args: ReadonlyArray<string> = [],
  env: Readonly<Record<string, string>> = {}
) {
  const operator = yield* berth.start(["run", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", ...args], { env })
  const [, url = ""] = yield* operator.says(/health and metrics are on ([^\s"]+)/u)
  const get = (path: string) =>
    Effect.promise(async () => {
      const response = await fetch(`http://${url}${path}`, { headers: { connection: "close" } })
      return { status: response.status, body: await response.text() }
    })
  /** Asks until the answer is as awaited: nothing tells of it. */
  const until = (path: string, holds: (answer: { readonly status: number; readonly body: string }) => boolean) =>
    Effect.repeat(get(path), { until: holds, schedule: Schedule.spaced("50 millis") })
  return { ...operator, get, until }
})

export const definitions = Effect.flatMap(Client, (client) =>
  Effect.forEach(Crds.all, (crd) => client.create(Builtin.CustomResourceDefinition, crd), { discard: true })
)

export const namespaces = Effect.flatMap(Client, (client) =>
  Effect.forEach(["berth-system", "berth-shared"], (name) => client.create(Builtin.Namespace, { metadata: { name } }), {
    discard: true
  })
)

/** What a platform team makes before it starts the operator. */
export const installed = Effect.andThen(namespaces, definitions)

export const kubeconfig = Effect.flatMap(Cluster.Cluster, ({ kubeconfigFile }) => kubeconfigFile)

export const kubeconfigOf = Effect.fnUntraced(function* (server: string, user: { readonly token?: string } = {}) {
  const file = join(yield* LocalProcess.temporaryFolder("berth-program"), "kubeconfig")
  const named = (content: object) => [{ name: "a", ...content }]
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: named({ cluster: { server } }),
    users: named({ user }),
    contexts: named({ context: { cluster: "a", user: "a" } }),
    "current-context": "a"
  }
  writeFileSync(file, JSON.stringify(config))
  return file
})

/** A request that changes something, without its headers. */
const write = /^(?:POST|PUT|PATCH|DELETE) \S+/gmu

/** Passes on what comes, until it is told to pass on no more requests; answers still come. It notes what was to be written. */
export const proxy = (server: string) =>
  Effect.suspend(() => {
    let stalled = false
    const writes: Array<string> = []
    const { hostname, port } = new URL(server)
    const passOn = (client: Socket) => {
      const upstream = connect(Number(port), hostname)
      upstream.on("error", () => client.destroy())
      client.on("close", () => upstream.destroy())
      client.on("data", (chunk: Buffer) => {
        writes.push(...(chunk.toString("latin1").match(write) ?? []))
        if (!stalled) upstream.write(chunk)
      })
      upstream.pipe(client)
    }
    return Effect.map(listening(passOn), (url) => ({ url, writes, stall: () => (stalled = true) }))
  })

/** A server that does this with each connection; returns its URL. */
export const listening = (each: (socket: Socket) => void) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => socket.destroy())
        each(socket)
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const close = () => {
          server.close()
          for (const socket of sockets) socket.destroy()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ url }) => url))
