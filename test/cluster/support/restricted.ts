/** A namespace that takes only Pods which are as restricted as Kubernetes knows how to ask for. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Await from "@berth/testing/Await"
import * as Clusters from "@berth/testing/Clusters"
import { Effect } from "effect"
import type * as Helm from "./helm.ts"
import * as Manifests from "./manifests.ts"

/** Tries the Pod of a chart's Deployment there, with the namespace's default account. `args` are those of `helm template`. */
export const pod = Effect.fnUntraced(function* (
  helm: Effect.Success<ReturnType<typeof Helm.make>>,
  release: string,
  args: (namespace: string) => ReadonlyArray<string>
) {
  const client = yield* Client
  const namespace = yield* Clusters.namespace
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" }
  yield* client.patch(Builtin.Namespace, { name: namespace }, { type: "merge", patch: { metadata: { labels } } })
  // An account that every namespace has, after a moment.
  yield* Await.until(Builtin.ServiceAccount, { name: "default", namespace }, () => true)
  const account = "serviceAccount.create=false,serviceAccount.name=default"
  const rendered = Manifests.objectsOf(yield* helm.said("template", release, ...args(namespace), "--set", account))
  const deployments = rendered.filter(({ kind }) => kind === "Deployment")
  const [deployment] = yield* Effect.forEach(deployments, (object) =>
    client.apply(Builtin.Deployment, object, { dryRun: true })
  )
  const spec = deployment?.spec?.template.spec ?? { containers: [] }
  return yield* client.create(Builtin.Pod, { metadata: { name: release, namespace }, spec }, { dryRun: true })
})
