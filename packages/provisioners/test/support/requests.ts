/** A client that remembers what was asked of it, and lets a test act just before a request. */
import * as Client from "@berth/kube/Client"
import { Context, Effect, Layer } from "effect"

const readVerbs = ["get", "list", "watch"]

type Verb = "get" | "patch" | "apply" | "delete" | "create" | "update"

/** What the client was asked, in order, as `verb plural name`. */
export class Requests extends Context.Service<
  Requests,
  {
    readonly all: Effect.Effect<ReadonlyArray<string>>
    readonly writes: Effect.Effect<ReadonlyArray<string>>
    readonly forget: Effect.Effect<void>
    /** Runs the effect once, just before the next request of this verb. */
    readonly justBefore: (verb: Verb, act: Effect.Effect<unknown>) => Effect.Effect<void>
  }
>()("test/Requests") {}

export const recorded: Layer.Layer<Client.Client | Requests, never, Client.Client> = Layer.effectContext(
  Effect.gen(function* () {
    const client = yield* Client.Client
    const asked: Array<string> = []
    const acts = new Map<Verb, Effect.Effect<unknown>>()
    const note = (
      verb: Verb,
      { plural }: { readonly plural: string },
      name: string | undefined,
      subresource?: string
    ) =>
      Effect.suspend(() => {
        const act = acts.get(verb) ?? Effect.void
        acts.delete(verb)
        asked.push(`${verb} ${plural}${subresource === undefined ? "" : `/${subresource}`} ${name}`)
        return act
      })
    const recording = Client.Client.of({
      ...client,
      get: (type, ref, options) => Effect.andThen(note("get", type, ref.name), client.get(type, ref, options)),
      create: (type, object, options) =>
        Effect.andThen(note("create", type, object.metadata.name), client.create(type, object, options)),
      update: (type, object, options) =>
        Effect.andThen(note("update", type, object.metadata.name), client.update(type, object, options)),
      patch: (type, ref, patch, options) =>
        Effect.andThen(note("patch", type, ref.name, options?.subresource), client.patch(type, ref, patch, options)),
      apply: (type, object, options) =>
        Effect.andThen(note("apply", type, object.metadata.name), client.apply(type, object, options)),
      delete: (type, ref, options) => Effect.andThen(note("delete", type, ref.name), client.delete(type, ref, options))
    })
    const isWrite = (request: string) => !readVerbs.some((verb) => request.startsWith(verb))
    const requests = Requests.of({
      all: Effect.sync(() => [...asked]),
      writes: Effect.sync(() => asked.filter(isWrite)),
      forget: Effect.sync(() => void (asked.length = 0)),
      justBefore: (verb, act) => Effect.sync(() => void acts.set(verb, act))
    })
    return Context.make(Client.Client, recording).pipe(Context.add(Requests, requests))
  })
)
