/** The shared components and providers that a template refers to, as far as they exist. */
import type * as Kind from "@berth/kube/Kind"
import { Effect, Option } from "effect"
import type { EnvironmentTemplate } from "../EnvironmentTemplate.ts"
import { SharedComponent } from "../SharedComponent.ts"
import { SharedComponentProvider } from "../SharedComponentProvider.ts"
import type { World } from "./contexts.ts"

/** Where they are looked up: in the caches, or at the API server. */
export interface Source<E, R> {
  readonly sharedComponent: (name: string) => Effect.Effect<Option.Option<Kind.Raw<typeof SharedComponent>>, E, R>
  readonly provider: (name: string) => Effect.Effect<Option.Option<Kind.Raw<typeof SharedComponentProvider>>, E, R>
}

export interface Known extends World {
  readonly identity: (sharedComponent: string) => SharedComponent["metadata"] | undefined
}

const distinct = (names: ReadonlyArray<string | undefined>): ReadonlyArray<string> => [
  ...new Set(names.filter((name) => name !== undefined))
]

/** What cannot be decoded is as good as not there: an older or newer version of the operator wrote it. */
const looked = <Raw, D, E, R>(
  names: ReadonlyArray<string>,
  find: (name: string) => Effect.Effect<Option.Option<Raw>, E, R>,
  decode: (raw: Raw) => Effect.Effect<D, unknown>
) =>
  Effect.map(
    Effect.forEach(names, (name) =>
      Effect.flatMap(
        find(name),
        Option.match({ onNone: () => Effect.succeedNone, onSome: (raw) => Effect.option(decode(raw)) })
      )
    ),
    (found) =>
      new Map(found.flatMap((each, index) => (Option.isSome(each) ? [[names[index] ?? "", each.value] as const] : [])))
  )

export const load = Effect.fnUntraced(function* <E, R>(
  { components }: EnvironmentTemplate["spec"],
  source: Source<E, R>
): Effect.fn.Return<Known, E, R> {
  const names = distinct(components.map(({ sharedComponentRef }) => sharedComponentRef?.name))
  const shared = yield* looked(names, source.sharedComponent, SharedComponent.decode)
  const used = distinct([...shared.values()].map(({ spec }) => spec.providerRef.name))
  const providers = yield* looked(used, source.provider, SharedComponentProvider.decode)
  return {
    identity: (name) => shared.get(name)?.metadata,
    sharedComponent: (name) => shared.get(name)?.spec,
    provider: (name) => providers.get(name)?.spec
  }
})
