/** The driver with the stand-in for helm, on whichever cluster. */
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type { Connection } from "@berth/kube/Connection"
import * as Cluster from "@berth/testing/Cluster"
import { Effect, Layer, Redacted } from "effect"
import type * as CdDriver from "../../../src/CdDriver.ts"
import * as HelmCli from "../../../src/HelmCli.ts"
import { Tool, type Version } from "./tool.ts"

const versions: ReadonlyArray<Version> = ["0.1.0", "0.2.0"]

export const temporary = (prefix: string) =>
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), prefix))),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
  )

/** What proves who the tool is, where the cluster asks. */
export const tokenOf = ({ token }: Connection): string | undefined =>
  token !== undefined && Redacted.isRedacted(token) ? Redacted.value(token) : undefined

/** A folder that stands for a catalogue, in which helm keeps a journal of its arguments. */
export const catalogue = Effect.gen(function* () {
  const folder = yield* temporary("berth-charts-")
  const packageOf = (version: Version) => join(folder, `demo-${version}.tgz`)
  yield* Effect.promise(() => Promise.all(versions.map((version) => writeFile(packageOf(version), ""))))
  const url = pathToFileURL(folder).href
  return {
    folder,
    chart: (version: Version): CdDriver.Chart => ({ source: "repository", url, name: "demo", version }),
    withdraw: (version: Version) => Effect.promise(() => rm(packageOf(version)))
  }
})

/** Helm's own records: a Secret for each revision. */
export const revisions = (namespace: string) =>
  Client.Client.use((client) => client.list(Builtin.Secret, { namespace, labelSelector: "owner=helm" })).pipe(
    Effect.map(({ items }) => items.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`)),
    Effect.orDie
  )

/** What the deployment controller writes when it gives up. */
export const giveUp = (namespace: string, name: string) =>
  Client.Client.use((client) =>
    client.patch(
      Builtin.Deployment,
      { namespace, name },
      {
        type: "merge",
        patch: {
          status: {
            observedGeneration: 1,
            conditions: [
              { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded", message: "timed out" }
            ]
          }
        }
      },
      { subresource: "status" }
    )
  ).pipe(Effect.asVoid, Effect.orDie)

/** The driver that runs `program`, by way of a link that a test can take away. */
export const helm = (program: string, tool: Omit<typeof Tool.Service, "records" | "without">) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { connection } = yield* Cluster.Cluster
      const link = join(yield* temporary("berth-helm-program-"), "helm")
      const put = Effect.promise(() => symlink(program, link))
      const without: (typeof Tool.Service)["without"] = (effect) =>
        Effect.acquireUseRelease(
          Effect.promise(() => rm(link)),
          () => effect,
          () => put
        )
      yield* put
      return Layer.merge(
        HelmCli.layer({ connection, program: link, historyMax: 3 }),
        Layer.succeed(Tool, { ...tool, records: revisions, without })
      )
    })
  )

export const fakeHelm = helm(join(import.meta.dirname, "fakeHelm.ts"), { catalogue, giveUp, pause: Effect.yieldNow })
