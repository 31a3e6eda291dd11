/** A list, page by page. */
import { Effect, Option, Stream } from "effect"
import type * as KubeError from "../KubeError.ts"
import type * as ResourceType from "../ResourceType.ts"
import * as Json from "./json.ts"

/** How often one list may begin anew before its expiry is reported. */
const restartsMax = 5

export interface Page {
  readonly items: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly resourceVersion: string
  /** Asks for the next page; undefined after the last. */
  readonly next: string | undefined
}

/** A page, and whether the list (again) begins with it. */
export interface Turned extends Page {
  readonly first: boolean
}

/**
 * One page out of the server's list. The items of a list do not say what they are, so that is added; those of a list of
 * metadata say `PartialObjectMetadata`, which is corrected, so that an object says the same wherever it is read.
 */
export const fromMap = (type: ResourceType.ResourceType, list: Readonly<Record<string, unknown>>): Page => {
  const meta = Json.asMap(list["metadata"])
  const token = Json.asText(meta["continue"])
  return {
    items: Json.asList(list["items"]).map((item) => Json.named(type, Json.asMap(item))),
    resourceVersion: Json.asText(meta["resourceVersion"]),
    next: token === "" ? undefined : token
  }
}

/** All objects of a list, and its version. */
export const collect = (turned: Stream.Stream<Turned, KubeError.KubeError>) =>
  Stream.runFold(
    turned,
    () => ({ items: new Array<Page["items"][number]>(), resourceVersion: "" }),
    (all, page) => {
      if (page.first) all.items.length = 0
      for (const item of page.items) all.items.push(item)
      return { items: all.items, resourceVersion: page.resourceVersion }
    }
  )

/** The pages in turn. When the server has forgotten the list in the middle, it begins anew. */
export const pages = (
  read: (token: string | undefined) => Effect.Effect<Page, KubeError.KubeError>
): Stream.Stream<Turned, KubeError.KubeError> => {
  interface State {
    readonly token: string | undefined
    readonly restarts: number
  }
  return Stream.paginate<State, Turned, KubeError.KubeError>({ token: undefined, restarts: 0 }, ({ restarts, token }) =>
    read(token).pipe(
      Effect.map(
        (page) =>
          [
            [{ ...page, first: token === undefined }],
            page.next === undefined ? Option.none<State>() : Option.some({ token: page.next, restarts })
          ] as const
      ),
      Effect.catchTag("Gone", (error) =>
        token === undefined || restarts >= restartsMax
          ? Effect.fail(error)
          : Effect.succeed([[], Option.some<State>({ token: undefined, restarts: restarts + 1 })] as const)
      )
    )
  )
}

/** Every object once: after a restart only those that were not given before, or have changed since. */
export const items = (turned: Stream.Stream<Turned, KubeError.KubeError>) =>
  Stream.suspend(() => {
    const given = new Set<string>()
    return Stream.flattenIterable(
      Stream.map(turned, (page) =>
        page.items.filter((item) => {
          const id = identityOf(item)
          if (given.has(id)) return false
          given.add(id)
          return true
        })
      )
    )
  })

const identityOf = (item: Readonly<Record<string, unknown>>): string => {
  const meta = Json.asMap(item["metadata"])
  return `${Json.asText(meta["uid"])}@${Json.asText(meta["resourceVersion"])}`
}
