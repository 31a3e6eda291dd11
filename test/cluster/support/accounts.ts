/** ServiceAccounts of a real cluster: their rights, and tokens of their own. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type { KubeObject } from "@berth/kube/KubeObject"
import { Transport, layer as transportLayer } from "@berth/kube/Transport"
import { Cluster } from "@berth/testing/Cluster"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Effect, Schema } from "effect"
import { parse, stringify } from "yaml"

export interface Account {
  readonly name: string
  readonly namespace: string
}

export type Rule = NonNullable<Builtin.Role["rules"]>[number]

/** Allows an account this in its namespace. */
export const allow = Effect.fnUntraced(function* ({ name, namespace }: Account, rules: ReadonlyArray<Rule>) {
  const client = yield* Client.Client
  const metadata = { name, namespace }
  yield* client.apply(Builtin.Role, { metadata, rules: [...rules] }, { force: true })
})

/** An account that may do this in its namespace. */
export const create = Effect.fnUntraced(function* (account: Account, rules: ReadonlyArray<Rule>) {
  const client = yield* Client.Client
  const metadata = { name: account.name, namespace: account.namespace }
  yield* client.create(Builtin.ServiceAccount, { metadata })
  yield* allow(account, rules)
  yield* client.create(Builtin.RoleBinding, {
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: account.name },
    subjects: [{ kind: "ServiceAccount", ...metadata }]
  })
})

const TokenRequest = Schema.Struct({ status: Schema.Struct({ token: Schema.String }) })

/** A token of an account, by a TokenRequest; one that is bound to an object ends with it. */
export const token = Effect.fnUntraced(
  function* ({ name, namespace }: Account, bound?: KubeObject) {
    const transport = yield* Transport
    const boundObjectRef =
      bound === undefined
        ? {}
        : { boundObjectRef: { apiVersion: "v1", kind: "Secret", name: bound.metadata.name, uid: bound.metadata.uid } }
    const { text } = yield* transport.request({
      about: { verb: "create", resource: "serviceaccounts/token", namespace, name },
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: 600, ...boundObjectRef }
      })
    })
    const answer = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(TokenRequest))(yield* text)
    return answer.status.token
  },
  Effect.scoped,
  (effect) =>
    Effect.flatMap(Cluster, ({ connection }) => Effect.orDie(Effect.provide(effect, transportLayer(connection))))
)

/** A file with a kubeconfig of the account, for as long as the scope lasts. */
export const kubeconfig = Effect.fnUntraced(function* (account: Account) {
  const { kubeconfig } = yield* Cluster
  const bearer = yield* token(account)
  const config: { readonly users: ReadonlyArray<{ readonly name: string }> } = parse(kubeconfig)
  const users = config.users.map(({ name }) => ({ name, user: { token: bearer } }))
  const file = join(yield* LocalProcess.temporaryFolder("berth-test"), "kubeconfig")
  yield* Effect.sync(() => writeFileSync(file, stringify({ ...config, users }), { mode: 0o600 }))
  return file
})
