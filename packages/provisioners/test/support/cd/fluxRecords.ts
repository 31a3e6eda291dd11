/** What stands for a release under Flux: the HelmRelease, as far as anybody but Flux writes it, and Helm's own records. */
import * as Client from "@berth/kube/Client"
import { Effect } from "effect"
import * as Kinds from "../../../src/internal/cd/flux/kinds.ts"
import { revisions } from "./fakeHelmTool.ts"

export const fluxRecords = (home: string) => (namespace: string) =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const { items } = yield* client.list(Kinds.HelmRelease, { namespace: home })
    const releases = items
      .filter(({ spec }) => spec["targetNamespace"] === namespace)
      .map(({ metadata }) => `${metadata.name}@${metadata.generation} ${metadata.annotations?.["berth.dev/digest"]}`)
    return [...releases, ...(yield* revisions(namespace))]
  }).pipe(Effect.orDie)
