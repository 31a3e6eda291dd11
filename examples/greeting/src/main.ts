import { Builtin, Client, Connection, Kind, Operator } from "@berth/kube"
import { Effect, Layer } from "effect"
import { Greeting, operator } from "./operator.ts"

const client = Layer.unwrap(Effect.map(Connection.detect(), Client.layerFromConnection))

Client.Client.use((client) => client.apply(Builtin.CustomResourceDefinition, Kind.crd(Greeting), { force: true })).pipe(
  Effect.andThen(operator),
  Effect.provide(client),
  Operator.runMain
)
