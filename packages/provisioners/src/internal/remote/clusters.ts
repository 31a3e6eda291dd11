/** What all remote clusters of a program share: their clients, their registrations, and what kubeconfigs may use. */
import * as Client from "@berth/kube/Client"
import type { Connection } from "@berth/kube/Connection"
import * as Events from "@berth/kube/Events"
import * as Transport from "@berth/kube/Transport"
import { Context, type Duration, Effect, Layer, RcMap, type Scope, Semaphore } from "effect"
import type * as Disposition from "../../Disposition.ts"
import type * as Identifier from "../../Identifier.ts"
import * as Answers from "./answers.ts"
import * as Identity from "./identity.ts"
import * as Kubeconfig from "./kubeconfig.ts"
import type { Book } from "./registration.ts"

export interface Clusters {
  readonly book: Book
  readonly recorder: Events.Recorder["Service"]
  /** A cluster that answers, for as long as the scope. */
  readonly open: (
    text: Kubeconfig.Text,
    source: Kubeconfig.Source
  ) => Effect.Effect<Opened, Disposition.ProvisionError, Scope.Scope>
}

export interface Opened {
  readonly client: Client.Client["Service"]
  readonly connection: Connection
  readonly identity: Identifier.Identifier
}

export interface Settings {
  readonly namespace: string
  readonly policy: Kubeconfig.Policy
  readonly idle: Duration.Input
  readonly deadline: Duration.Input
  readonly transport: (connection: Connection) => Layer.Layer<Transport.Transport>
}

export const make = Effect.fnUntraced(function* (settings: Settings) {
  const { deadline, idle, namespace, policy, transport } = settings
  // Connections are equal when all their parts are, secrets included: other credentials are another client.
  const clients = yield* RcMap.make({
    lookup: (connection: Connection) => {
      const layer = Layer.provide(Client.layer, Answers.bound(transport(connection), Answers.bytesMax))
      return Effect.map(Layer.build(Layer.fresh(layer)), Context.get(Client.Client))
    },
    idleTimeToLive: idle
  })
  const open: Clusters["open"] = Effect.fnUntraced(function* (text, source) {
    const connection = yield* Kubeconfig.connect(text, source, policy)
    const client = yield* RcMap.get(clients, connection)
    const about = { cluster: Kubeconfig.hostOf(connection), secret: Kubeconfig.secretOf(source) }
    return { client, connection, identity: yield* Identity.ask(client, about, deadline) }
  })
  const book = { client: yield* Client.Client, namespace, turn: yield* Semaphore.make(1) }
  return { book, recorder: yield* Events.Recorder, open } satisfies Clusters
})
