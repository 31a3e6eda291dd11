import { Builtin, Client, Kind, Operator } from "@berth/kube"
import { Effect } from "effect"
import { Greeting, operator } from "./operator.ts"

Client.Client.use((client) => client.apply(Builtin.CustomResourceDefinition, Kind.crd(Greeting), { force: true })).pipe(
  Effect.andThen(operator),
  Effect.provide(Client.layerDetected()),
  Operator.runMain
)
