import { Builtin, Client, Kind, Operator } from "@berth/kube"
import { Config, Effect } from "effect"
import { operator } from "./controller.ts"
import { Site } from "./Site.ts"

/** Holds the credentials of every region: nobody else should read or write it. */
const namespace = "berth-sites"

/** Regions on this machine, as those of kind and minikube, are refused unless this is set. */
const local = Config.Boolean("SITES_LOCAL").pipe(Config.withDefault(false))

const program = Effect.gen(function* () {
  const client = yield* Client.Client
  yield* client.apply(Builtin.CustomResourceDefinition, Kind.crd(Site), { force: true })
  yield* client.apply(Builtin.Namespace, { metadata: { name: namespace } })
  yield* operator({ namespace, ...((yield* local) && { refusedNetworks: [] }) })
})

program.pipe(Effect.provide(Client.layerDetected()), Operator.runMain)
