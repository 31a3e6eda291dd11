/** What may happen to the events of a watch on their way. */
import * as KubeError from "@berth/kube/KubeError"
import * as Transport from "@berth/kube/Transport"
import { Clock, Duration, Effect, Stream } from "effect"
import { statusOf } from "./status.ts"

type Lines = Stream.Stream<string, KubeError.Unreachable>

const broken = (about: KubeError.Request): Lines =>
  Stream.fail(new KubeError.Unreachable({ ...about, cause: new Error("a fault broke the watch") }))

/** The first `after` lines, then something else. */
const afterSome = (lines: Lines, after: number, then: Lines): Lines => Stream.concat(Stream.take(lines, after), then)

export const ended = (lines: Lines, after: number): Lines => Stream.take(lines, after)

export const cut = (lines: Lines, after: number, about: KubeError.Request): Lines =>
  afterSome(lines, after, broken(about))

/** The connection ends in the middle of the line that follows. */
export const halved = (lines: Lines, after: number): Lines =>
  Stream.map(Stream.zipWithIndex(Stream.take(lines, after + 1)), ([line, index]) =>
    index < after ? line : line.slice(0, Math.ceil(line.length / 2))
  )

export const stalled = (lines: Lines, after: number): Lines => afterSome(lines, after, Stream.never)

export const expired = (lines: Lines, after: number): Lines => {
  const object = statusOf({ status: 410, reason: "Expired", message: "a fault made the version too old" })
  return afterSome(lines, after, Stream.make(`${JSON.stringify({ type: "ERROR", object })}\n`))
}

export const doubled = (lines: Lines): Lines => Stream.flattenIterable(Stream.map(lines, (line) => [line, line]))

/** Each line as much later as the others, so that they stay in order and do not add up. */
export const late = (lines: Lines, by: Duration.Duration): Lines =>
  lines.pipe(
    Stream.mapEffect((line) =>
      Effect.map(Clock.currentTimeMillis, (nowMs) => ({ line, dueMs: nowMs + Duration.toMillis(by) }))
    ),
    Stream.buffer({ capacity: "unbounded" }),
    Stream.mapEffect(({ dueMs, line }) =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMs) => Effect.as(Effect.sleep(Math.max(0, dueMs - nowMs)), line))
    )
  )

/** The same answer, with its lines changed. One that is no watch, such as a refusal, stays as it is. */
export const changed = (
  answer: Transport.TransportResponse,
  change: (lines: Lines) => Lines
): Transport.TransportResponse => {
  if (answer.status !== 200) return answer
  const lines = Stream.map(Stream.splitLines(Stream.decodeText(answer.body)), (line) => `${line}\n`)
  return Transport.response(answer.status, Stream.encodeText(change(lines)), answer.headers)
}
