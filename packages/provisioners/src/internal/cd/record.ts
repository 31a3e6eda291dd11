/**
 * What an application remembers: a Secret in the release's namespace, written before anything is deployed. It has the key of the
 * application's digests and says which hooks have run, so that it lives and dies with what was deployed there.
 */
import { createHash, randomBytes } from "node:crypto"
import * as Builtin from "@berth/kube/Builtin"
import * as SecretData from "@berth/kube/SecretData"
import * as Client from "@berth/kube/Client"
import { Effect } from "effect"
import type { Release } from "../../CdDriver.ts"
import { ownerLabel } from "../../ObjectProvisioner.ts"

export interface Record {
  readonly key: string
  /** Which driver it was made for. */
  readonly driver: string | undefined
  /** The digest for which `postProvision` has run. */
  readonly provisioned: string | undefined
  /** Whether `preDeprovision` has run. */
  readonly deprovisioned: boolean
}

/** One for each owner: a successor of the same name begins anew. */
export const refOf = ({ id, namespace, ownerUid }: Release) => ({
  namespace,
  name: `berth-application-${createHash("sha256").update(`${id}/${ownerUid}`).digest("hex").slice(0, 16)}`
})

const fromSecret = (secret: Builtin.Secret): Record => {
  const { deprovisioned, driver, key = "", provisioned } = SecretData.decode(secret)
  return { key, driver, provisioned, deprovisioned: deprovisioned !== undefined }
}

export const read = (release: Release) =>
  Client.Client.use((client) =>
    client.get(Builtin.Secret, refOf(release)).pipe(
      Effect.map((secret): Record | undefined => fromSecret(secret)),
      Effect.catchTag("NotFound", () => Effect.undefined)
    )
  )

/** Makes it with a key of its own. Of two at once the first counts. */
export const create = Effect.fnUntraced(function* (release: Release, driver: string) {
  const client = yield* Client.Client
  const ref = refOf(release)
  const metadata = {
    ...ref,
    labels: { [ownerLabel]: release.ownerUid },
    annotations: { "berth.dev/application": release.id }
  }
  const key = randomBytes(32).toString("hex")
  const created = client.create(Builtin.Secret, {
    metadata,
    type: "berth.dev/application",
    data: { key: SecretData.encodeText(key), driver: SecretData.encodeText(driver) }
  })
  return fromSecret(yield* Effect.catchTag(created, "AlreadyExists", () => client.get(Builtin.Secret, ref)))
})

/** Notes which hooks have run; null forgets that one has. */
export const note = (
  release: Release,
  marks: { readonly provisioned?: string | null; readonly deprovisioned?: "yes" | null }
) =>
  Client.Client.use((client) => {
    const data = Object.entries(marks).map(([mark, value]) => [
      mark,
      value === null ? null : SecretData.encodeText(value)
    ])
    return client.patch(Builtin.Secret, refOf(release), { type: "merge", patch: { data: Object.fromEntries(data) } })
  })

export const remove = (release: Release) =>
  Client.Client.use((client) =>
    Effect.catchTag(client.delete(Builtin.Secret, refOf(release)), "NotFound", () => Effect.void)
  )
