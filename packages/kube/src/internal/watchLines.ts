/** The lines of a watch, out of the chunks in which they arrive. */
import { Effect, Result, Stream } from "effect"
import * as KubeError from "../KubeError.ts"
import type { KubeObject } from "../KubeObject.ts"
import type { ResourceType } from "../ResourceType.ts"
import * as Json from "./json.ts"
import * as Status from "./status.ts"

/** A line longer than this is no event: objects have at most a few MB. */
const lineCharsMax = 64 * 1024 * 1024

export interface Line {
  readonly type: string
  readonly object: Readonly<Record<string, unknown>>
}

/** Cuts a stream of bytes into lines, keeping what has arrived of a line that is not whole yet. */
const makeCutter = () => {
  // It keeps the bytes of a character that a chunk cuts in two.
  const utf8 = new TextDecoder()
  let parts: Array<string> = []
  let chars = 0

  const take = (chunk: Uint8Array): ReadonlyArray<string> => {
    const pieces = utf8.decode(chunk, { stream: true }).split("\n")
    const rest = pieces.pop() ?? ""
    if (pieces.length > 0) {
      pieces[0] = parts.join("") + (pieces[0] ?? "")
      parts = []
      chars = 0
    }
    parts.push(rest)
    chars += rest.length
    return pieces
  }
  return { take, tooLong: () => chars > lineCharsMax, inside: () => parts.join("").trim() !== "" }
}

/**
 * The events in a watch's body.
 *
 * **Errors**: Unreachable when the body ends in the middle of a line; ServerError when a line is no event.
 */
export const decode = (
  body: Stream.Stream<Uint8Array, KubeError.Unreachable>,
  about: KubeError.Request
): Stream.Stream<Line, KubeError.KubeError> =>
  Stream.suspend(() => {
    const cutter = makeCutter()
    const noEvent = () => new KubeError.ServerError({ ...about, status: 200, reason: "", detail: "" })
    const parse = (text: string): Result.Result<Line, KubeError.KubeError> => {
      const map = Json.parseMap(text)
      const type = Json.asText(map?.["type"])
      return map === undefined || type === ""
        ? Result.fail(noEvent())
        : Result.succeed({ type, object: Json.asMap(map["object"]) })
    }
    const parsed = (chunks: ReadonlyArray<Uint8Array>) => {
      const lines = chunks.flatMap((chunk) => cutter.take(chunk)).filter((line) => line.trim() !== "")
      return cutter.tooLong() ? [...lines.map(parse), Result.fail(noEvent())] : lines.map(parse)
    }
    const atEnd = () =>
      cutter.inside()
        ? [Result.fail(new KubeError.Unreachable({ ...about, cause: new Error("the watch ended inside a line") }))]
        : []
    return body.pipe(
      Stream.mapAccumArray(
        () => cutter,
        (state, chunks) => [state, parsed(chunks)],
        { onHalt: atEnd }
      ),
      Stream.mapEffect(Effect.fromResult)
    )
  })

type Event<O> =
  | { readonly _tag: "Added" | "Modified" | "Deleted"; readonly object: O }
  | { readonly _tag: "Bookmark"; readonly resourceVersion: string; readonly initialEventsEnd: boolean }

const changes = { ADDED: "Added", MODIFIED: "Modified", DELETED: "Deleted" } as const
const isChange = (type: string): type is keyof typeof changes => Object.hasOwn(changes, type)

/** Whether it can be an object of the kind: it has a name, and says nothing else of itself. */
const isOf = (type: ResourceType, object: Line["object"]): boolean => {
  const kind = Json.asText(object["kind"])
  return (
    Json.asText(Json.asMap(object["metadata"])["name"]) !== "" &&
    (kind === "" || kind === type.kind || kind === "PartialObjectMetadata")
  )
}

/** What a line tells. The server's own error, and what is no event of a watch, fail. */
export const toEvent = <O extends KubeObject>(
  type: ResourceType<O>,
  call: { readonly about: KubeError.Request; readonly secret: boolean },
  line: Line
): Effect.Effect<Event<O>, KubeError.KubeError> => {
  if (isChange(line.type)) {
    if (!isOf(type, line.object)) return Effect.fail(Status.fromEvent(call, {}))
    return Effect.succeed({ _tag: changes[line.type], object: Json.asObject(type, Json.named(type, line.object)) })
  }
  if (line.type !== "BOOKMARK") return Effect.fail(Status.fromEvent(call, line.type === "ERROR" ? line.object : {}))
  const meta = Json.asMap(line.object["metadata"])
  return Effect.succeed({
    _tag: "Bookmark",
    resourceVersion: Json.asText(meta["resourceVersion"]),
    initialEventsEnd: Json.asMap(meta["annotations"])["k8s.io/initial-events-end"] === "true"
  })
}
