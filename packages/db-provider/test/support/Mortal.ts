/** A process that dies at a chosen step: before a write to the cluster or a message to a server, while the server works, or after. */
import { Client } from "@berth/kube/Client"
import type { ResourceType } from "@berth/kube/ResourceType"
import { Effect, Layer } from "effect"
import { type Connection, Connector } from "../../src/Connector.ts"
import type { Fragment } from "../../src/Sql.ts"

export type Moment = "before" | "during" | "after"

export interface Fate {
  /** What it has done, in words. */
  readonly steps: Array<string>
  readonly cut: { readonly at: number; readonly moment: Moment } | undefined
  isDead: boolean
}

export const fate = (cut?: Fate["cut"]): Fate => ({ steps: [], cut, isDead: false })

/** Whoever is dead does nothing more. */
const alive = <A, E, R>(self: Fate, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => (self.isDead ? Effect.interrupt : work))

const step = <A, E, R>(self: Fate, what: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  alive(
    self,
    Effect.suspend(() => {
      self.steps.push(what)
      if (self.cut?.at !== self.steps.length) return work
      self.isDead = true
      switch (self.cut.moment) {
        case "before":
          return Effect.interrupt
        case "during":
          return Effect.andThen(Effect.forkDetach(Effect.ignore(work), { startImmediately: true }), Effect.interrupt)
        case "after":
          return Effect.andThen(Effect.ignore(work), Effect.interrupt)
      }
    })
  )

const client = (self: Fate) =>
  Layer.effect(
    Client,
    Effect.map(Client, (inner) =>
      Client.of({
        ...inner,
        get: (type, ref, options) => alive(self, inner.get(type, ref, options)),
        list: (type, options) => alive(self, inner.list(type, options)),
        create: (type, object, options) => step(self, words("create", type), inner.create(type, object, options)),
        update: (type, object, options) => step(self, words("update", type), inner.update(type, object, options)),
        patch: (type, ref, patch, options) =>
          step(self, words("patch", type, options?.subresource), inner.patch(type, ref, patch, options)),
        apply: (type, object, options) => step(self, words("apply", type), inner.apply(type, object, options)),
        delete: (type, ref, options) => step(self, words("delete", type), inner.delete(type, ref, options))
      })
    )
  )

const words = (verb: string, { plural }: ResourceType, subresource?: string) =>
  [verb, plural, ...(subresource === undefined ? [] : [subresource])].join(" ")

const mortal = (self: Fate, inner: Connection): Connection => {
  const said = (statement: Fragment) => statement.sql.slice(0, 60)
  return {
    query: (statement, row) => step(self, said(statement), inner.query(statement, row)),
    run: (statement) => step(self, said(statement), inner.run(statement)),
    isUsable: inner.isUsable
  }
}

const connector = (self: Fate) =>
  Layer.effect(
    Connector,
    Effect.map(Connector, ({ connect }) => ({
      connect: (target) =>
        alive(
          self,
          Effect.map(connect(target), (connection) => mortal(self, connection))
        )
    }))
  )

/** The client and the connector of the context, for a process with this fate. */
export const layer = (self: Fate): Layer.Layer<Client | Connector, never, Client | Connector> =>
  Layer.merge(client(self), connector(self))
