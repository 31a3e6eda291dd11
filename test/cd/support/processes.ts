/** Programs of a CD tool, for as long as the tests last. */
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Await from "@berth/testing/Await"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseAllDocuments } from "yaml"

/** Gives a tool time to act. */
export const pause: Effect.Effect<void> = Effect.promise(() => sleep(200))

/** Whether a server says there that it is ready. */
export const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false
  )

const outputMax = 4_096

/** Starts one, and waits until it is ready. */
export const started = Effect.fnUntraced(function* (options: {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly ready: () => Promise<boolean>
}) {
  const { args, command, env, ready } = options
  let output = ""
  const onOutput = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-outputMax)
  }
  const running = yield* LocalProcess.spawn({ command, args, env, cwd: "/", onOutput })
  const wait = (left: number): Effect.Effect<void> =>
    Effect.flatMap(Effect.promise(ready), (yes) => {
      if (yes) return Effect.void
      if (left === 0) return Effect.die(new Error(`${command} is not ready. Its last words:\n${output}`))
      return Effect.andThen(pause, wait(left - 1))
    })
  yield* wait(300)
  return running
})

/** While the effect runs, none of them does anything; afterwards they go on. */
export const paused =
  (processes: ReadonlyArray<LocalProcess.Running>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.acquireUseRelease(
      Effect.forEach(processes, ({ signal }) => signal("SIGSTOP")),
      () => effect,
      () => Effect.forEach(processes, ({ signal }) => signal("SIGCONT"))
    )

/** The definitions of a folder, established. */
export const defined = Effect.fnUntraced(function* (folder: string) {
  const client = yield* Client.Client
  const crds = readdirSync(folder)
    .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), "utf8")))
    .map((document): Builtin.CustomResourceDefinition => document.toJS())
  for (const crd of crds) {
    yield* client.apply(Builtin.CustomResourceDefinition, crd, { force: true })
    yield* Await.until(
      Builtin.CustomResourceDefinition,
      crd.metadata,
      ({ status }) => status?.conditions?.some((each) => each.type === "Established" && each.status === "True") ?? false
    )
  }
})
