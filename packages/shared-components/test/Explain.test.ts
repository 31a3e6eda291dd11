import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Environment } from "../src/Environment.ts"
import * as Explain from "../src/Explain.ts"
import * as Names from "../src/Names.ts"
import { Settings } from "../src/Settings.ts"
import * as Bench from "./support/Bench.ts"
import * as Berth from "./support/Berth.ts"

const asked = (client: Client["Service"], explanation: Explain.Explanation) =>
  explanation.pipe(
    Effect.provideService(Client, client),
    Effect.provideService(Settings, {
      managementNamespace: Berth.management,
      sharedNamespace: Berth.shared,
      deployment: "berth",
      instance: "berth"
    }),
    Effect.orDie
  )

/** A Pod of a Job that has ended with these words. */
const pod = Effect.fnUntraced(function* (bench: Bench.Bench, job: string, message: string) {
  const metadata = { name: "pod", namespace: Bench.shared, labels: { "batch.kubernetes.io/job-name": job } }
  const spec = { containers: [{ name: "script", image: "berth" }] }
  yield* bench.client.create(Builtin.Pod, { metadata, spec })
  const terminated = { exitCode: 3, message }
  const containerStatuses = [
    { name: "script", image: "berth", imageID: "", ready: false, restartCount: 0, state: { terminated } }
  ]
  yield* bench.client.patch(
    Builtin.Pod,
    { name: "pod", namespace: Bench.shared },
    { type: "merge", patch: { status: { containerStatuses } } },
    { subresource: "status" }
  )
}, Effect.orDie)

describe("Explain", () => {
  it.effect(
    "S33, S15: says of a slice what it waits for, since when, what comes next, and its script's last words",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.parse("2026-01-01T00:00:00Z"))
        const bench = yield* Bench.make(1)
        const operator = yield* bench.operator()
        bench.outside.decide(() => "fails")
        yield* bench.environment("shop")
        const { metadata, spec } = yield* bench.slice("shop")
        const job = Names.job(spec.sliceId, "provision", 4)
        while ((yield* bench.reason(metadata.name)) !== "failed") yield* bench.round(operator, metadata.name)
        const secret = bench.outside.runs[0]?.secret ?? "none"
        yield* pod(bench, job, `no route to ${Bench.marker}\npassword ${secret}`)
        yield* TestClock.adjust("2 hours")

        const lines = yield* asked(bench.client, Explain.slice(metadata.name))

        assert.deepStrictEqual(lines, [
          `Slice ${metadata.name}: Provisioning`,
          `  waits for: The provision script of the provider postgres failed 4 times, last as the Job ${job} in the namespace berth-shared: read that Job's log, then mend the provider, or annotate the slice with berth.dev/retry. [failed]`,
          "  since: 2026-01-01T00:00:35Z (2h ago)",
          "  next: nothing by itself; it goes on when its spec or berth.dev/retry changes, or one of: SharedComponent berth-system/postgres, SharedComponentProvider berth-system/postgres, Secret berth-shared/pg, Environment berth-system/shop",
          `  last: attempt 4 of provision, Job ${job}: Failed at 2026-01-01T00:00:35Z (2h ago)`,
          "      exit code 3: no route to [hidden]",
          "      password [hidden]"
        ])
      }).pipe(Bench.test)
  )

  it.effect("S33, S25: shows no last words where a secret that they may hold cannot be read", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const operator = yield* bench.operator()
      bench.outside.decide(() => "fails")
      yield* bench.environment("shop")
      const { metadata, spec } = yield* bench.slice("shop")
      while ((yield* bench.reason(metadata.name)) !== "retrying") yield* bench.round(operator, metadata.name)
      yield* pod(bench, Names.job(spec.sliceId, "provision", 1), "words")
      const seen = yield* asked(bench.client, Explain.slice(metadata.name))
      assert.include(seen.join("\n"), "words")

      yield* bench.remove(Builtin.Secret, "pg", Bench.shared)
      const unseen = yield* asked(bench.client, Explain.slice(metadata.name))

      assert.notInclude(unseen.join("\n"), "words")
    }).pipe(Bench.test)
  )

  Berth.story("S33: says of an environment what it waits for in turn, down to the shared component", function* () {
    const { client, environment, instance, operator, provider, ready, says, sharedComponent, slices, template } =
      yield* Berth.stopped
    yield* operator.start
    yield* provider()
    yield* sharedComponent("postgres", { maxConsumers: 2 })
    yield* template("shop", [Berth.db])
    yield* environment("a")
    yield* says(Environment, "a", "shared_component_stalled", "Stalled")
    const [record] = yield* slices("a")

    const lines = yield* asked(client, Explain.environment("a"))

    const text = lines.map((line) => line.replace(/ \(\d+s ago\)|\d{4}-\S+Z/gu, "")).join("\n")
    assert.match(
      text,
      new RegExp(
        [
          "^Environment a: Failed$",
          "^  waits for: The shared component postgres, which db needs, is stalled: .* \\[shared_component_stalled\\]$",
          "^  since: $",
          "^  next: nothing by itself; .*SharedComponent berth-system/postgres.*$",
          "^(?:  last: .*\n)?  Slice [^\n]*: Waiting$",
          "[^]*^    SharedComponent postgres: not Ready, 0 slices of 2, [01] waiting$",
          "^      waits for: The Secret pg, .* \\[secret_missing\\]$"
        ].join("\n"),
        "mu"
      )
    )
    assert.include(text, record?.metadata.name ?? "none")
    yield* instance()
    yield* ready(Environment, "a")
    assert.deepStrictEqual(yield* asked(client, Explain.environment("a")), ["Environment a: Ready"])
  })
})
