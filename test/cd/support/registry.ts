/** A registry with the suite's chart and nothing else, as much of one as fetching takes. */
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { Chart } from "@berth/provisioners/CdDriver"
import { Effect } from "effect"
import type { Version } from "../../../packages/provisioners/test/support/cd/tool.ts"
import { listening, packages } from "./charts.ts"

const manifestType = "application/vnd.oci.image.manifest.v1+json"
const configType = "application/vnd.cncf.helm.config.v1+json"
const chartType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

interface Blob {
  readonly mediaType: string
  readonly digest: string
  readonly data: Buffer
}

const blob = (mediaType: string, data: Buffer): Blob => ({
  mediaType,
  data,
  digest: `sha256:${createHash("sha256").update(data).digest("hex")}`
})

const descriptor = ({ data, digest, mediaType }: Blob) => ({ mediaType, digest, size: data.length })

/** Each version by its tag, and every blob by its digest. */
const contentsOf = (charts: ReadonlyMap<Version, Buffer>): ReadonlyMap<string, Blob> =>
  new Map(
    [...charts].flatMap(([version, data]) => {
      const chart = blob(chartType, data)
      const config = blob(configType, Buffer.from(JSON.stringify({ apiVersion: "v2", name: "demo", version })))
      const document = {
        schemaVersion: 2,
        mediaType: manifestType,
        config: descriptor(config),
        layers: [descriptor(chart)]
      }
      const manifest = blob(manifestType, Buffer.from(JSON.stringify(document)))
      return [[version, manifest], ...[manifest, config, chart].map((each) => [each.digest, each] as const)] as const
    })
  )

/** The chart's place in a registry that lasts as long as the scope. */
export const registry = Effect.gen(function* () {
  const contents = contentsOf(yield* packages)
  const server = createServer(({ method, url = "" }, answer) => {
    if (url === "/v2/") return void answer.writeHead(200).end("{}")
    const found = contents.get(url.split("/").at(-1) ?? "")
    if (found === undefined) return void answer.writeHead(404).end()
    answer.writeHead(200, {
      "content-type": found.mediaType,
      "content-length": found.data.length,
      "docker-content-digest": found.digest
    })
    answer.end(method === "HEAD" ? undefined : found.data)
  })
  const port = yield* listening(server)
  return (version: Version): Chart => ({
    source: "oci",
    url: `oci://127.0.0.1:${port}/demo`,
    version,
    plainHttp: true
  })
})
