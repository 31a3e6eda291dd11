import { Builtin, Caches, Client, Kind, Operator } from "@berth/kube"
import { Effect, Layer } from "effect"
import { controller } from "./controller.ts"
import { Tenant } from "./Tenant.ts"

const caches = Caches.observedClient.pipe(Layer.provideMerge(Caches.layer))

Client.Client.use((client) => client.apply(Builtin.CustomResourceDefinition, Kind.crd(Tenant), { force: true })).pipe(
  Effect.andThen(Operator.run([controller])),
  Effect.provide(caches),
  Effect.provide(Client.layerDetected()),
  Operator.runMain
)
