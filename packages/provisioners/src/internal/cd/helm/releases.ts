/** Helm's own records of a release: one Secret for each revision, the newest of which says how things stand. */
import { gunzipSync, gzipSync } from "node:zlib"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import { Effect, Result, Schema } from "effect"
import type { Release } from "../../../CdDriver.ts"
import { ownerLabel } from "../../../ObjectProvisioner.ts"
import type { JsonObject } from "../../json.ts"
import * as Account from "../account.ts"
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

/** Its Secrets, without their data. */
const history = Effect.fnUntraced(function* (release: Release) {
  const { name, namespace } = release
  const client = yield* Client.Client
  const labelSelector = `owner=helm,name=${name}`
  const { items } = yield* client.list(Builtin.Secret, { namespace, labelSelector, metadataOnly: true })
  return items
}, Account.as)

/** The newest revision; undefined where there is none. Only labels are read: most passes need no more. */
export const newest = Effect.fnUntraced(function* (
  release: Release
): Effect.fn.Return<Revision | undefined, KubeError.KubeError, Client.Client> {
  return (yield* history(release))
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

const textOf = Effect.fnUntraced(function* (release: Release, { name }: Revision) {
  const client = yield* Client.Client
  const ref = { namespace: release.namespace, name }
  const secret = yield* Account.as(client.get(Builtin.Secret, ref), release)
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
  Effect.flatMap(objectsOf(release, revision), (objects) => Account.as(Objects.healthOf(objects), release))

/** What is still there of what was deployed. */
export const leftOf = (release: Release, objects: ReadonlyArray<Objects.Listed>) =>
  Account.as(Objects.leftOf(objects), release)

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
  const ref = { namespace: release.namespace, name }
  yield* Account.as(client.patch(Builtin.Secret, ref, { type: "merge", patch }), release)
})

/** Says whose the release is, where the tool itself does not. Helm keeps labels that it does not know. */
export const claim = (release: Release, { name }: Revision) => {
  const { namespace, ownerUid } = release
  const patch = { metadata: { labels: { [ownerLabel]: ownerUid } } }
  const claimed = Client.Client.use((client) =>
    client.patch(Builtin.Secret, { namespace, name }, { type: "merge", patch })
  )
  return Account.as(claimed, release)
}

/** Removes the history of a release that is uninstalled. */
export const purge = Effect.fnUntraced(function* (release: Release) {
  const client = yield* Client.Client
  const oldestFirst = (yield* history(release)).toSorted(
    (a, b) => Number(a.metadata.labels?.["version"]) - Number(b.metadata.labels?.["version"])
  )
  // The newest goes last: until then it says what the others belong to.
  yield* Effect.forEach(oldestFirst, ({ metadata }) =>
    Effect.catchTag(client.delete(Builtin.Secret, metadata), "NotFound", () => Effect.void)
  )
}, Account.as)
