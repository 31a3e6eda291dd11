/** What a pass costs that finds nothing to do: a manager's pass over trees of a hundred children, of an object that its cache has. */
import * as Client from "@berth/kube/Client"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Manager from "@berth/provisioners/Manager"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Effect, Option, Result } from "effect"
import { Requests } from "../../../packages/provisioners/test/support/requests.ts"
import { Widget, widgets } from "../../../packages/provisioners/test/support/widgets.ts"
import type { Benchmark } from "../support/bench.ts"
import { median } from "../support/numbers.ts"

const childrenCount = 100
const layersCount = 10
const passesWarm = 100
const passesMeasured = 300
const aimMs = 5

const ref = { name: "bench", namespace: "default" }

const children = Array.from({ length: childrenCount }, (_, index) =>
  Provisioner.make(Identifier.Identifier.make(`child-${index}`), { provision: Effect.void, deprovision: Effect.void })
)

/** Each child needs those of the layer before. */
const edges = Object.fromEntries(
  children.map(({ name }, index) => {
    const layer = Math.floor(index / layersCount)
    return [
      name,
      layer === 0 ? [] : children.slice((layer - 1) * layersCount, layer * layersCount).map((each) => each.name)
    ]
  })
)

/** Made anew for each pass, as a manager's function does. */
const trees: Readonly<Record<string, () => Provisioner.Provisioner>> = {
  serial: () => Provisioner.serial("all", children),
  concurrent: () => Provisioner.concurrent("all", children),
  graph: () => Result.getOrThrow(Provisioner.graphResult("all", children, edges))
}

/** What passes that found nothing to do took, each on the clock and all on the processor, and how many requests they sent. */
const measured = Effect.fnUntraced(function* (tree: () => Provisioner.Provisioner) {
  const client = yield* Client.Client
  const requests = yield* Requests
  yield* client.create(Widget, { metadata: ref, spec: { size: 1 } })
  let cached = yield* client.get(Widget, ref)
  const pass = Manager.passes({ kind: Widget, provisioner: tree }, () => Effect.sync(() => Option.some(cached)))
  yield* pass(ref)
  cached = yield* client.get(Widget, ref)
  yield* Effect.repeat(pass(ref), { times: passesWarm })

  yield* requests.forget
  const timesMs: Array<number> = []
  const before = process.cpuUsage()
  for (let count = 0; count < passesMeasured; count++) {
    const startMs = performance.now()
    yield* pass(ref)
    timesMs.push(performance.now() - startMs)
  }
  const { system, user } = process.cpuUsage(before)
  return { timesMs, cpuMs: (user + system) / 1000, requests: (yield* requests.all).length }
})

/** On the embedded API, where the passes only have to read what they were made with. */
export const tree: Benchmark = () =>
  Effect.map(
    Effect.forEach(Object.entries(trees), ([name, make]) =>
      Effect.map(Effect.provide(measured(make), widgets, { local: true }), ({ cpuMs, requests, timesMs }) => {
        const what = `no-op pass over ${childrenCount} children, ${name}`
        const aim = { own: "most", than: aimMs } as const
        return [
          { what, unit: "ms", berth: median(timesMs), aim },
          { what: "CPU for each", unit: "ms", berth: cpuMs / passesMeasured },
          {
            what: `requests of ${passesMeasured} of them`,
            unit: "",
            berth: requests,
            aim: { own: "most", than: 0 } as const
          }
        ]
      })
    ),
    (measures) => measures.flat()
  )
