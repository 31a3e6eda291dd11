/** Catalogues of the suite's chart over HTTP, which every tool takes. */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Effect } from "effect"
import type { Catalogue, Version } from "../../../packages/provisioners/test/support/cd/tool.ts"
import { built } from "./programs.ts"

const versions: ReadonlyArray<Version> = ["0.1.0", "0.2.0"]

/** The same chart with each of its versions, packaged. */
export const packages = Effect.gen(function* () {
  const helm = join(yield* built("helm4"), "helm")
  const folder = yield* LocalProcess.temporaryFolder("berth-charts")
  const chart = join(import.meta.dirname, "..", "charts", "demo")
  return new Map(
    versions.map((version) => {
      execFileSync(helm, ["package", chart, "--version", version, "--destination", folder], { stdio: "ignore" })
      return [version, readFileSync(join(folder, `demo-${version}.tgz`))] as const
    })
  )
})

const indexOf = (charts: ReadonlyMap<Version, Buffer>): string => {
  const entries = [...charts].map(([version, data]) => ({
    apiVersion: "v2",
    name: "demo",
    version,
    urls: [`demo-${version}.tgz`],
    digest: createHash("sha256").update(data).digest("hex"),
    created: "2026-01-01T00:00:00Z"
  }))
  return JSON.stringify({ apiVersion: "v1", generated: "2026-01-01T00:00:00Z", entries: { demo: entries } })
}

/** The port that it listens on, for as long as the scope lasts. */
export const listening = (server: Server) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    }),
    () =>
      Effect.promise(
        () =>
          new Promise((resolve) => {
            server.close(resolve)
            server.closeAllConnections()
          })
      )
  )

/** A server of catalogues: each has a path of its own, and ends with its scope. */
export const catalogues = Effect.gen(function* () {
  const all = yield* packages
  const shelves = new Map<string, Map<Version, Buffer>>()
  const server = createServer(({ url = "" }, answer) => {
    const [, shelf = "", file = ""] = url.split("/")
    const charts = shelves.get(shelf)
    const found = [...(charts ?? [])].find(([version]) => file === `demo-${version}.tgz`)?.[1]
    const body = file === "index.yaml" && charts !== undefined ? indexOf(charts) : found
    answer.writeHead(body === undefined ? 404 : 200).end(body)
  })
  const port = yield* listening(server)
  return Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const shelf = `s${shelves.size}`
        shelves.set(shelf, new Map(all))
        return shelf
      }),
      (shelf) => Effect.sync(() => shelves.get(shelf)?.clear())
    ),
    (shelf): Catalogue => ({
      chart: (version) => ({
        source: "repository",
        url: `http://127.0.0.1:${port}/${shelf}`,
        name: "demo",
        version
      }),
      withdraw: (version) =>
        Effect.sync(() => {
          shelves.get(shelf)?.delete(version)
        })
    })
  )
})
