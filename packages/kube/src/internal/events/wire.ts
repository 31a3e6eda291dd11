/** Events as the server takes them. */
import type { Event } from "../../Builtin.ts"
import type { Draft } from "../../KubeObject.ts"
import type { Series } from "./book.ts"

export interface Reporter {
  readonly controller: string
  readonly instance: string
}

const nameMost = 253
const noteMostBytes = 1_024
const wordMost = 128

/** At most so many bytes of UTF-8, which is how the server counts, without half a character at the end. */
export const clip = (text: string, mostBytes: number): string => {
  if (Buffer.byteLength(text) <= mostBytes) return text
  const ellipsis = "…"
  const room = mostBytes - Buffer.byteLength(ellipsis)
  let bytes = 0
  let kept = ""
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > room) break
    kept += character
  }
  return `${kept}${ellipsis}`
}

/** The object's name as far as it fits, and something unique. Not every object's name would do for an Event. */
export const nameFor = (objectName: string, unique: string): string => {
  const fit = objectName
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/gu, "-")
    .replaceAll(/(^|\.)[.-]+|-+(?=\.)/gu, "$1")
    .slice(0, nameMost - unique.length - 1)
    .replace(/[.-]+$/u, "")
  return fit === "" ? unique : `${fit}.${unique}`
}

export const namespaceOf = ({ first: { regarding } }: Series): string => regarding.namespace ?? "default"

export const draft = (series: Series, name: string, { controller, instance }: Reporter): Draft<Event> => {
  const { action, note, reason, regarding, time, type } = series.first
  return {
    metadata: { name, namespace: namespaceOf(series) },
    eventTime: time,
    reportingController: controller,
    reportingInstance: clip(instance, wordMost),
    action: clip(action, wordMost),
    reason: clip(reason, wordMost),
    type,
    note: clip(note, noteMostBytes),
    regarding: {
      apiVersion: regarding.apiVersion,
      kind: regarding.kind,
      name: regarding.name,
      ...(regarding.namespace !== undefined && { namespace: regarding.namespace }),
      ...(regarding.uid !== undefined && { uid: regarding.uid })
    },
    ...(series.count > 1 && { series: { count: series.count, lastObservedTime: series.lastTime } })
  }
}
