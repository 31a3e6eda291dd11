/** Answers of the API. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Problem from "../../Problem.ts"
import { RequestId } from "./requestId.ts"

const headersOf = ({ code, retryAfterSeconds }: Problem.Problem): Record<string, string> => ({
  ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
  // What RFC 9110 asks for with a 401.
  ...(code === "unauthorized" ? { "www-authenticate": "Bearer" } : {})
})

/** The problem document of this request. */
export const refusal = (
  problem: Problem.Problem,
  headers: Record<string, string> = {}
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(RequestId, (requestId) =>
    HttpServerResponse.jsonUnsafe(Problem.document(problem, requestId), {
      status: Problem.statusOf(problem.code),
      contentType: Problem.contentType,
      headers: { ...headersOf(problem), ...headers }
    })
  )
