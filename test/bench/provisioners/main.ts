/**
 * What a pass costs that finds nothing to do: a manager's pass over trees of a hundred children, of an object that its cache has.
 * `node --conditions=@berth/source test/bench/provisioners/main.ts` prints JSON, and ends with 1 if such a pass sent a request.
 */
import * as Client from "@berth/kube/Client"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Manager from "@berth/provisioners/Manager"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Effect, Option, Result } from "effect"
import { Requests } from "../../../packages/provisioners/test/support/requests.ts"
import { Widget, widgets } from "../../../packages/provisioners/test/support/widgets.ts"
import { median } from "../support/numbers.ts"
import * as Results from "../support/results.ts"

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

const measures = Effect.forEach(Object.entries(trees), ([name, tree]) =>
  Effect.map(Effect.provide(measured(tree), widgets, { local: true }), ({ cpuMs, requests, timesMs }) => {
    const what = `no-op pass over ${childrenCount} children, ${name}`
    const aim = { own: "most", than: aimMs } as const
    return [
      { what, unit: "ms", berth: median(timesMs), aim },
      // On a machine with other work, this is the figure to compare.
      { what: "CPU for each", unit: "ms", berth: cpuMs / passesMeasured, aim },
      {
        what: `requests of ${passesMeasured} of them`,
        unit: "1",
        berth: requests,
        aim: { own: "most", than: 0 } as const
      }
    ]
  })
)

const program = Effect.gen(function* () {
  const result: Results.Result = { benchmark: "provisioners", measures: (yield* measures).flat() }
  const sent = result.measures.some((measure) => measure.unit === "1" && Results.reached(measure) === false)
  yield* Effect.sync(() => {
    console.log(JSON.stringify({ machine: Results.machine(), results: [result] }, undefined, 2))
    process.exitCode = sent ? 1 : 0
  })
})

await Effect.runPromise(program)
