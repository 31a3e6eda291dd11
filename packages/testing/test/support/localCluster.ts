/** The verbs of the tests that run Jobs and Pods. */
import * as Client from "@berth/kube/Client"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { Effect, Option, Stream } from "effect"
import { type Container, Job, Pod, type PodSpec, Secret } from "../../src/internal/workloadTypes.ts"

export const namespace = "default"

/** Waits for an object to be as it should, however often it changes before. */
export const until = <O extends KubeObject>(
  type: ResourceType.ResourceType<O>,
  ref: Ref,
  isAsExpected: (object: O) => boolean
): Effect.Effect<O, never, Client.Client> =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const fieldSelector = `metadata.name=${ref.name}`
    const events = client.watch(type, { namespace: ref.namespace, fieldSelector })
    const found = yield* Stream.runHead(
      Stream.filter(
        Stream.flatMap(events, (event) =>
          event._tag === "Bookmark" || event._tag === "Deleted" ? Stream.empty : Stream.succeed(event.object)
        ),
        isAsExpected
      )
    )
    return Option.isSome(found) ? found.value : yield* until(type, ref, isAsExpected)
  }).pipe(
    // A jump of the virtual clock may have ended the request.
    Effect.catchTag("Timeout", () => until(type, ref, isAsExpected)),
    Effect.orDie
  )

/** Waits until there is no such object. */
export const untilGone = (type: ResourceType.ResourceType, ref: Ref): Effect.Effect<void, never, Client.Client> =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const fieldSelector = `metadata.name=${ref.name}`
    const { items, resourceVersion } = yield* client.list(type, { namespace: ref.namespace, fieldSelector })
    if (items.length > 0) {
      const events = client.watch(type, { namespace: ref.namespace, fieldSelector, resourceVersion })
      yield* Stream.runHead(Stream.filter(events, ({ _tag }) => _tag === "Deleted"))
    }
  }).pipe(Effect.orDie)

export const hasPhase =
  (phase: string) =>
  ({ status }: Pod): boolean =>
    status?.phase === phase

/** A Pod of one container that runs a shell's script. */
export const shellPod = (
  name: string,
  script: string,
  more: { readonly container?: Partial<Container>; readonly spec?: Partial<PodSpec> } = {}
) => ({
  metadata: { name, namespace },
  spec: {
    restartPolicy: "Never" as const,
    containers: [{ name: "main", image: "tool", command: ["/bin/sh", "-c", script], ...more.container }],
    ...more.spec
  }
})

export const create = {
  pod: (pod: ReturnType<typeof shellPod>) => Client.Client.use((client) => Effect.orDie(client.create(Pod, pod))),
  secret: (name: string, data: Readonly<Record<string, string>>) =>
    Client.Client.use((client) =>
      Effect.orDie(
        client.create(Secret, {
          metadata: { name, namespace },
          data: Object.fromEntries(
            Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")])
          )
        })
      )
    ),
  job: (name: string, spec: Partial<Job["spec"]> = {}) =>
    Client.Client.use((client) =>
      Effect.orDie(
        client.create(Job, {
          metadata: { name, namespace },
          spec: {
            template: {
              spec: { restartPolicy: "Never", containers: [{ name: "main", image: "tool", command: ["true"] }] }
            },
            ...spec
          }
        })
      )
    )
}
