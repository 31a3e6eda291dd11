/** Helm's own records of a release: one Secret for each revision, the newest of which says how things stand. */
import { gunzipSync, gzipSync } from "node:zlib"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import { Effect, Result, Schema } from "effect"
import type { Release } from "../../../CdDriver.ts"
import { ownerLabel } from "../../../ObjectProvisioner.ts"
import type { JsonObject } from "../../json.ts"
import * as Objects from "../objects.ts"

export const digestLabel = "berth.dev/digest"

export interface Revision {
  readonly name: string
  readonly number: number
  /** `deployed`, `failed`, `pending-…`, `uninstalling`, `uninstalled`, `superseded` */
  readonly status: string
  readonly changedAtMs: number
  readonly ownerUid: string | undefined
  readonly digest: string | undefined
}

const fromLabels = (name: string, labels: Readonly<Record<string, string>>): Revision => ({
  name,
  number: Number(labels["version"] ?? 0),
  status: labels["status"] ?? "",
  changedAtMs: 1000 * Number(labels["modifiedAt"] ?? labels["createdAt"] ?? 0),
  ownerUid: labels[ownerLabel],
  digest: labels[digestLabel]
})

/** The newest revision; undefined where there is none. Only labels are read: most passes need no more. */
export const newest = Effect.fnUntraced(function* ({
  name,
  namespace
}: Release): Effect.fn.Return<Revision | undefined, KubeError.KubeError, Client.Client> {
  const client = yield* Client.Client
  const labelSelector = `owner=helm,name=${name}`
  const { items } = yield* client.list(Builtin.Secret, { namespace, labelSelector, metadataOnly: true })
  return items
    .map(({ metadata }) => fromLabels(metadata.name, metadata.labels ?? {}))
    .reduce<Revision | undefined>(
      (last, each) => (last === undefined || each.number > last.number ? each : last),
      undefined
    )
})

/** A Secret's data, in which the release is base64 once more, of gzip, of JSON. */
const unpacked = (data: string): string =>
  gunzipSync(Buffer.from(Buffer.from(data, "base64").toString("utf8"), "base64")).toString("utf8")

const packed = (text: string): string =>
  Buffer.from(gzipSync(Buffer.from(text, "utf8")).toString("base64"), "utf8").toString("base64")

const textOf = Effect.fnUntraced(function* ({ namespace }: Release, { name }: Revision) {
  const client = yield* Client.Client
  const secret = yield* client.get(Builtin.Secret, { namespace, name })
  const text = Result.try(() => unpacked(secret.data?.["release"] ?? ""))
  return { secret, text: Result.getOrElse(text, () => "{}") }
})

const Stored = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))

/** What the revision deployed; nothing where the record cannot be read. */
export const objectsOf = Effect.fnUntraced(function* (release: Release, revision: Revision) {
  const { text } = yield* textOf(release, revision)
  const stored: JsonObject = Result.getOrElse(Schema.decodeUnknownResult(Stored)(text), () => ({}))
  const manifest = stored["manifest"]
  return typeof manifest === "string" ? Objects.ofManifest(manifest, release.namespace) : []
})

/** How what the revision deployed is now. */
export const healthOf = (release: Release, revision: Revision) =>
  Effect.flatMap(objectsOf(release, revision), Objects.healthOf)

const pending = /("info":\{.*?"status":")pending-[a-z]+"/su

/**
 * Ends a revision that helm left pending: it counts as failed, which is how helm itself would have ended it, and stays in the
 * history. Only if nobody has changed it since it was read.
 */
export const fail = Effect.fnUntraced(function* (release: Release, revision: Revision) {
  const client = yield* Client.Client
  const { secret, text } = yield* textOf(release, revision)
  const { name, resourceVersion } = secret.metadata
  const patch = {
    metadata: { resourceVersion, labels: { status: "failed" } },
    data: { release: packed(text.replace(pending, '$1failed"')) }
  }
  yield* client.patch(Builtin.Secret, { namespace: release.namespace, name }, { type: "merge", patch })
})

/** Says whose the release is, where the tool itself does not. Helm keeps labels that it does not know. */
export const claim = ({ namespace, ownerUid }: Release, { name }: Revision) =>
  Client.Client.use((client) =>
    client.patch(
      Builtin.Secret,
      { namespace, name },
      { type: "merge", patch: { metadata: { labels: { [ownerLabel]: ownerUid } } } }
    )
  )

/** Removes the history of a release that is uninstalled. */
export const purge = Effect.fnUntraced(function* ({ name, namespace }: Release) {
  const client = yield* Client.Client
  const labelSelector = `owner=helm,name=${name}`
  const { items } = yield* client.list(Builtin.Secret, { namespace, labelSelector, metadataOnly: true })
  const oldestFirst = items.toSorted(
    (a, b) => Number(a.metadata.labels?.["version"]) - Number(b.metadata.labels?.["version"])
  )
  // The newest goes last: until then it says what the others belong to.
  yield* Effect.forEach(oldestFirst, ({ metadata }) =>
    Effect.catchTag(client.delete(Builtin.Secret, metadata), "NotFound", () => Effect.void)
  )
})
