/** Asks for the permit once more when a connection is there: right before the request is written to it. */
import type { Dispatcher } from "undici"
import * as Permit from "./permit.ts"

const looking = (inner: Dispatcher.DispatchHandler, { holds }: Permit.Permit): Dispatcher.DispatchHandler => ({
  onRequestStart: (controller, context) => {
    inner.onRequestStart?.(controller, context)
    if (!holds()) controller.abort(new Error("the permit to send is gone"))
  },
  onRequestUpgrade: (controller, status, headers, socket) =>
    inner.onRequestUpgrade?.(controller, status, headers, socket),
  onResponseStart: (controller, status, headers, text) => inner.onResponseStart?.(controller, status, headers, text),
  onResponseData: (controller, chunk) => inner.onResponseData?.(controller, chunk),
  onResponseEnd: (controller, trailers) => inner.onResponseEnd?.(controller, trailers),
  onResponseError: (controller, error) => inner.onResponseError?.(controller, error)
})

export const lastLook = (dispatcher: Dispatcher, permit: Permit.Permit): Dispatcher =>
  permit === Permit.always
    ? dispatcher
    : dispatcher.compose((dispatch) => (options, handler) => dispatch(options, looking(handler, permit)))
