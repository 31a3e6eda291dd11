import { Client, Connection, Operator } from "@berth/kube"
import { Effect, Layer } from "effect"
import { operator } from "./operator.ts"

const client = Layer.unwrap(Effect.map(Connection.detect(), Client.layerFromConnection))

Operator.runMain(Effect.provide(operator, client))
