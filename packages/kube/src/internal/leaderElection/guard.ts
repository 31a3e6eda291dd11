/** A client whose requests need a permit, each of them, right before it is sent. */
import { Effect, Stream } from "effect"
import type { Client } from "../../Client.ts"
import { Permit } from "../permit.ts"

export const guard = (client: Client["Service"], permit: Permit): Client["Service"] => {
  const one = Effect.provideService(Permit, permit)
  const many = Stream.provideService(Permit, permit)
  return {
    get: (type, ref, options) => one(client.get(type, ref, options)),
    list: (type, options) => one(client.list(type, options)),
    listStream: (type, options) => many(client.listStream(type, options)),
    watch: (type, options) => many(client.watch(type, options)),
    create: (type, object, options) => one(client.create(type, object, options)),
    update: (type, object, options) => one(client.update(type, object, options)),
    patch: (type, ref, patch, options) => one(client.patch(type, ref, patch, options)),
    apply: (type, object, options) => one(client.apply(type, object, options)),
    delete: (type, ref, options) => one(client.delete(type, ref, options)),
    getPath: (path, options) => one(client.getPath(path, options))
  }
}
