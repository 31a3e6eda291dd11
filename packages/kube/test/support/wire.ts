/** A transport that answers from memory as a test says, for tests of time. */
import { Effect, Layer, Stream } from "effect"
import * as Client from "../../src/Client.ts"
import type * as KubeError from "../../src/KubeError.ts"
import * as Transport from "../../src/Transport.ts"

export type WireAnswer =
  | Transport.TransportResponse
  | Effect.Effect<Transport.TransportResponse, KubeError.Unreachable | KubeError.Timeout>

/** What was asked, and a client that asked it. */
export const wire = (script: (request: Transport.TransportRequest, index: number) => WireAnswer) => {
  const requests: Array<Transport.TransportRequest> = []
  const transport = Layer.succeed(Transport.Transport, {
    request: (request) =>
      Effect.suspend(() => {
        requests.push(request)
        const answer = script(request, requests.length - 1)
        return Effect.isEffect(answer) ? answer : Effect.succeed(answer)
      })
  })
  return { requests, layer: Layer.provide(Client.layer, transport) }
}

/** An answer of JSON. */
export const json = (
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {}
): Transport.TransportResponse =>
  Transport.response(status, JSON.stringify(body), { "content-type": "application/json", ...headers })

/** The server's way to refuse. */
export const refusal = (code: number, reason: string, more: object = {}): object => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  code,
  reason,
  message: `said with ${code}`,
  ...more
})

/** The bytes of a watch, in the given pieces. */
export const body = (...pieces: ReadonlyArray<Uint8Array | string>): Stream.Stream<Uint8Array> =>
  Stream.fromIterable(pieces.map((piece) => (typeof piece === "string" ? new TextEncoder().encode(piece) : piece)))
