/** The cluster of a command that is not the provider itself. */
import * as Client from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import type { ConnectionError } from "@berth/kube/ConnectionError"
import { Effect, Layer } from "effect"

export interface Which {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
}

export const client = ({ context, kubeconfig }: Which): Layer.Layer<Client.Client, ConnectionError> =>
  Layer.unwrap(Effect.map(Connection.detect({ kubeconfig, context }), Client.layerFromConnection))
