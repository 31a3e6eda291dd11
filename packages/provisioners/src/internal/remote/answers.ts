/** Bounds what a server may answer: whoever names it may as well have written it. */
import * as KubeError from "@berth/kube/KubeError"
import * as Transport from "@berth/kube/Transport"
import { Effect, Layer, Stream } from "effect"

/** More than any page of a list. */
export const bytesMax = 32 * 1_024 * 1_024

const bounded = (
  answer: Transport.TransportResponse,
  about: KubeError.Request,
  limit: number
): Transport.TransportResponse => ({
  ...answer,
  text: Effect.suspend(() => {
    let bytes = 0
    const counted = Stream.mapEffect(answer.body, (chunk) => {
      bytes += chunk.length
      return bytes > limit
        ? Effect.fail(
            new KubeError.Unreachable({ ...about, cause: new Error(`the answer has more than ${limit} bytes`) })
          )
        : Effect.succeed(chunk)
    })
    return Stream.mkString(Stream.decodeText(counted))
  })
})

/** The same transport, whose answers fail where they are longer than this. Watches are not bounded, since they never end. */
export const bound = <E, R>(
  transport: Layer.Layer<Transport.Transport, E, R>,
  limit: number
): Layer.Layer<Transport.Transport, E, R> =>
  Layer.effect(
    Transport.Transport,
    Transport.Transport.useSync(({ request }) => ({
      request: (asked) => Effect.map(request(asked), (answer) => bounded(answer, asked.about, limit))
    }))
  ).pipe(Layer.provide(transport))
