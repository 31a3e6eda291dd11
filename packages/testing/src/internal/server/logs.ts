/**
 * The log of a Pod, from whoever runs the Pods of the test.
 */
import type { Answer } from "./answer.ts"
import type { Api } from "./api.ts"
import { badRequest, methodNotAllowed } from "./apiError.ts"
import { at, list, text } from "./json.ts"
import { flag, wholeNumber, type ApiRequest, type Target } from "./request.ts"
import { existing } from "./updating.ts"

const containerOf = (names: ReadonlyArray<string>, asked: string | null, pod: string): string | undefined => {
  if (asked !== null && asked !== "") {
    if (names.includes(asked)) return asked
    throw badRequest(`container ${asked} is not valid for pod ${pod}`)
  }
  if (names.length > 1) {
    throw badRequest(`a container name must be specified for pod ${pod}, choose one of: [${names.join(" ")}]`)
  }
  return names[0]
}

/** @internal */
export const podLog = (api: Api, target: Target, request: ApiRequest): Answer => {
  if (request.method !== "GET") throw methodNotAllowed()
  const { query } = request
  const pod = existing(api, target)
  const { name, namespace = "" } = pod.metadata
  const names = [...list(at(pod, "spec", "containers")), ...list(at(pod, "spec", "initContainers"))]
  const asked = {
    container: containerOf(
      names.map((container) => text(at(container, "name"))),
      query.get("container"),
      name
    ),
    follow: query.has("follow") && flag(query, "follow"),
    previous: query.has("previous") && flag(query, "previous"),
    timestamps: query.has("timestamps") && flag(query, "timestamps"),
    tailLines: wholeNumber(query, "tailLines"),
    limitBytes: wholeNumber(query, "limitBytes"),
    sinceSeconds: wholeNumber(query, "sinceSeconds")
  }
  return {
    _tag: "Flow",
    start: (sink) => {
      for (const source of api.logSources) {
        const stop = source(namespace, name, asked, sink)
        if (stop !== undefined) return stop
      }
      sink.end()
      return undefined
    }
  }
}
