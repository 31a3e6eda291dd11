/** A process that takes part in an election and writes as fast as it can while it leads: who it is, and the how-manieth time. */
import { Duration, Effect, Layer, Stream } from "effect"
import * as Builtin from "../../src/Builtin.ts"
import * as Caches from "../../src/Caches.ts"
import * as Client from "../../src/Client.ts"
import * as Connection from "../../src/Connection.ts"
import * as Controller from "../../src/Controller.ts"
import * as LeaderElection from "../../src/LeaderElection.ts"
import * as Operator from "../../src/Operator.ts"
import * as Requeue from "../../src/Requeue.ts"
import * as Watch from "../../src/Watch.ts"

const [, , server = "", name = "", leaseMs = "2000"] = process.argv
const lease = Number(leaseMs)
let count = 0

const write = Client.Client.use((client) =>
  client.patch(
    Builtin.ConfigMap,
    { namespace: "default", name: "work" },
    { type: "merge", patch: { data: { by: name, count: String(++count) } } }
  )
)

const controller = Controller.make({
  name: "work",
  watches: [Watch.stream(Stream.make({ name: "work" }))],
  reconcile: () => Effect.as(Effect.repeat(write, { times: 20 }), Requeue.after(Duration.millis(1)))
})

const shared = Layer.mergeAll(
  Caches.layer,
  LeaderElection.layer({
    name: "election",
    namespace: "default",
    identity: name,
    leaseDuration: lease,
    renewDeadline: lease * 0.65,
    retryPeriod: lease * 0.15
  })
)

Operator.run([controller], { leadership: LeaderElection.acquire }).pipe(
  Effect.provide(
    LeaderElection.guardedClient.pipe(
      Layer.provideMerge(shared),
      Layer.provide(Client.layerFromConnection(Connection.make({ server })))
    )
  ),
  Operator.runMain
)
