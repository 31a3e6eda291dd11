/** A connector whose connections are cut at a chosen message: before it is sent, while it runs, or before its answer arrives. */
import { Effect, Layer } from "effect"
import { type Connection, Connector } from "../../src/Connector.ts"
import { ConnectionLost } from "../../src/PostgresError.ts"
import type { Fragment } from "../../src/Sql.ts"

export type Moment = "before" | "during" | "after"

/** What is counted, and where the cut is; none: nothing is cut. */
export interface Plan {
  sent: Array<string>
  cut: { readonly at: number; readonly moment: Moment } | undefined
}

export const plan = (): Plan => ({ sent: [], cut: undefined })

const lost = () => new ConnectionLost({ problem: "cut by the test" })

const cutting = (plan: Plan, inner: Connection): Connection => {
  let usable = true
  const guard = <A, E>(statement: Fragment, send: Effect.Effect<A, E>): Effect.Effect<A, E | ConnectionLost> =>
    Effect.suspend((): Effect.Effect<A, E | ConnectionLost> => {
      plan.sent.push(statement.sql)
      if (plan.cut === undefined || plan.cut.at !== plan.sent.length) return send
      usable = false
      switch (plan.cut.moment) {
        case "before":
          return Effect.fail(lost())
        case "during":
          // The scope closes next, and with it the socket, while the server is at work.
          return Effect.andThen(Effect.forkDetach(Effect.ignore(send), { startImmediately: true }), Effect.fail(lost()))
        case "after":
          return Effect.andThen(Effect.ignore(send), Effect.fail(lost()))
      }
    })
  return {
    query: (statement, row) => guard(statement, inner.query(statement, row)),
    run: (statement) => guard(statement, inner.run(statement)),
    isUsable: () => usable && inner.isUsable()
  }
}

/** The connector of the context, with the cuts of a plan. */
export const layer = (plan: Plan): Layer.Layer<Connector, never, Connector> =>
  Layer.effect(
    Connector,
    Effect.map(Connector, ({ connect }) => ({
      connect: (target) => Effect.map(connect(target), (connection) => cutting(plan, connection))
    }))
  )
