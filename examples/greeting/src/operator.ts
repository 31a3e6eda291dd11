import { Builtin, Caches, Kind, Operator } from "@berth/kube"
import { Manager, ObjectProvisioner } from "@berth/provisioners"
import { Effect, Layer, Schema } from "effect"

// One schema is the type, the codec and the CustomResourceDefinition.
export const Greeting = Kind.make({
  group: "example.com",
  version: "v1",
  kind: "Greeting",
  scope: "Namespaced",
  spec: Schema.Struct({ text: Kind.Text(1, 100) }),
  status: Schema.Struct(Manager.statusFields)
})

// A manager keeps finalizers, conditions and retries; you say what is to be there.
const greetings = Manager.make({
  kind: Greeting,
  owns: [Builtin.ConfigMap],
  provisioner: ({ metadata, spec }) => {
    const object = { metadata: { name: `greeting-${metadata.name}`, namespace: "default" }, data: { text: spec.text } }
    return ObjectProvisioner.make("text", { type: Builtin.ConfigMap, owner: metadata, object })
  }
})

const caches = Caches.observedClient.pipe(Layer.provideMerge(Caches.layer))
export const operator = Operator.run([greetings]).pipe(Effect.provide(caches))
