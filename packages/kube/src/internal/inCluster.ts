/** What a Pod knows about the cluster that it runs in. */
import { Effect } from "effect"
import { access, readFile } from "node:fs/promises"
import { join } from "node:path"
import { NotInCluster } from "../ConnectionError.ts"
import { variable } from "./environment.ts"

/** Where the kubelet mounts a service account. */
export const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

export interface Account {
  readonly server: string
  readonly namespace: string | undefined
  readonly token: { readonly file: string }
  readonly ca: { readonly file: string } | undefined
}

const exists = (path: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    access(path).then(
      () => true,
      () => false
    )
  )

export const at = Effect.fnUntraced(function* (folder: string): Effect.fn.Return<Account, NotInCluster> {
  const host = yield* variable("KUBERNETES_SERVICE_HOST")
  if (host === undefined) return yield* new NotInCluster({ missing: "the variable KUBERNETES_SERVICE_HOST" })
  const port = (yield* variable("KUBERNETES_SERVICE_PORT")) ?? "443"
  const token = join(folder, "token")
  if (!(yield* exists(token))) return yield* new NotInCluster({ missing: `the file ${token}` })
  const ca = join(folder, "ca.crt")
  const namespace = yield* Effect.promise(() => readFile(join(folder, "namespace"), "utf8").catch(() => ""))
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    namespace: namespace.trim() === "" ? undefined : namespace.trim(),
    token: { file: token },
    ca: (yield* exists(ca)) ? { file: ca } : undefined
  }
})
