/**
 * The account of a release: a ServiceAccount in its namespace and a RoleBinding. Whatever a chart, or somebody who can write in that
 * namespace, has a say in is done with its rights: what the tool remembers there may have been tampered with.
 */
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type { Connection } from "@berth/kube/Connection"
import * as Impersonation from "@berth/kube/Impersonation"
import type * as KubeError from "@berth/kube/KubeError"
import type { Ref } from "@berth/kube/KubeObject"
import { Effect } from "effect"
import type { Observed, Release } from "../../CdDriver.ts"
import * as Ensured from "./ensured.ts"

const rbac = "rbac.authorization.k8s.io"

interface Subject {
  readonly name: string
  readonly namespace: string
}

/** Gives a ServiceAccount a ClusterRole in the binding's own namespace. True where something was written. */
export const bind = Effect.fnUntraced(function* (
  ref: Ref & { readonly namespace: string },
  role: string,
  { name, namespace }: Subject
): Effect.fn.Return<boolean, KubeError.KubeError, Client.Client> {
  const client = yield* Client.Client
  const draft = {
    metadata: { name: ref.name, namespace: ref.namespace },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", name, namespace }]
  }
  const live = yield* Ensured.read(client, Builtin.RoleBinding, ref)
  if (live !== undefined && Ensured.isSo(draft, live)) return false
  // What a binding gives cannot be changed: another one takes its place.
  const isOther = live !== undefined && (live.roleRef.name !== role || live.roleRef.kind !== "ClusterRole")
  if (isOther) yield* Ensured.remove(client, Builtin.RoleBinding, live)
  yield* Ensured.apply(client, Builtin.RoleBinding, draft)
  return true
})

/** Takes it back. */
export const unbind = Effect.fnUntraced(function* (ref: Ref) {
  const client = yield* Client.Client
  yield* Effect.catchTag(client.delete(Builtin.RoleBinding, ref), "NotFound", () => Effect.void)
})

/** True where something was written: an API server needs a moment until it knows. */
export const ensure = Effect.fnUntraced(function* ({
  account,
  namespace
}: Release): Effect.fn.Return<boolean, KubeError.KubeError, Client.Client> {
  if (account === undefined) return false
  const client = yield* Client.Client
  const ref = { name: account.name, namespace }
  const draft = { metadata: ref, automountServiceAccountToken: false }
  const live = yield* Ensured.read(client, Builtin.ServiceAccount, ref)
  const isThere = live !== undefined && Ensured.isSo(draft, live)
  if (!isThere) yield* Ensured.apply(client, Builtin.ServiceAccount, draft)
  const isBound = yield* bind(ref, account.role, ref)
  return isBound || live === undefined || live.metadata.deletionTimestamp !== undefined
})

/**
 * Whether the account cannot be had any more, since its namespace is gone or going. Then everything that was made with its rights
 * goes with the namespace.
 */
export const isLost = Effect.fnUntraced(function* ({
  account,
  namespace
}: Release): Effect.fn.Return<boolean, KubeError.KubeError, Client.Client> {
  if (account === undefined) return false
  const client = yield* Client.Client
  const live = yield* Ensured.read(client, Builtin.Namespace, { name: namespace })
  return live === undefined || live.metadata.deletionTimestamp !== undefined
})

/** The same as `ensure`, where the account can still be had. */
export const restore = (release: Release) =>
  Effect.flatMap(isLost(release), (lost) => (lost ? Effect.succeed(false) : ensure(release)))

const userOf = ({ account, namespace }: Release): string | undefined =>
  account && Impersonation.serviceAccount({ name: account.name, namespace })

/** Runs the effect's requests with the account's rights, if the release has one. */
export const as = <A, E, R>(self: Effect.Effect<A, E, R>, release: Release): Effect.Effect<A, E, R> => {
  const user = userOf(release)
  return user === undefined ? self : Impersonation.as(self, user)
}

/** The connection with the account's rights, if the release has one. */
export const connected = (connection: Connection, release: Release): Connection => {
  const user = userOf(release)
  return user === undefined ? connection : { ...connection, impersonate: { user } }
}

const refusal =
  /(?:"([^"\s]+)" )?is forbidden: User "[^"]*" cannot \w+ resource "([^"]+)" in API group "([^"]*)" (?:in the namespace "([^"]+)"|at the cluster scope)/gu
/** What somebody without the rights wants to give to somebody else. */
const escalation =
  /([a-z]+\.rbac\.authorization\.k8s\.io) "([^"\s]+)" is forbidden: user "[^"]*" [^\n]*?is attempting to grant/gu

/** Each object that an API server refuses to a user, by its own words: `resource.group/namespace/name`. */
export const refusedBy = (words: string): ReadonlyArray<string> => {
  const refused = [...words.matchAll(refusal)].map(([, name, resource = "", group, namespace]) =>
    [group === "" ? resource : `${resource}.${group}`, namespace, name].filter((part) => part !== undefined).join("/")
  )
  const granted = [...words.matchAll(escalation)].map(([, resource = "", name = ""]) => `${resource}/${name}`)
  return [...new Set([...refused, ...granted])]
}

/** A failure in the tool's own words: of the account's rights, if they say so. */
export const failure = ({ account }: Release, why: string): Observed => {
  const objects = account === undefined ? [] : refusedBy(why)
  return objects.length === 0 ? { _tag: "Failed", why } : { _tag: "Forbidden", objects, why }
}
