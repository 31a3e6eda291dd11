/** Random lives of several objects on one remote cluster, against a model that only knows who is there. */
import * as Builtin from "@berth/kube/Builtin"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type * as RemoteCluster from "../src/RemoteCluster.ts"
import * as remotes from "./support/remote.ts"

beforeAll(remotes.loadParser, 60_000)

const names = ["a", "b", "c"] as const
const Name = Schema.Literals(names)

/** What may happen next: an object comes or goes, or somebody meddles. */
const Step = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("comes"), who: Name }),
  Schema.Struct({ _tag: Schema.tag("goes"), who: Name }),
  Schema.Struct({ _tag: Schema.tag("comesTwice"), who: Name }),
  Schema.Struct({ _tag: Schema.tag("goesTwice"), who: Name }),
  Schema.Struct({ _tag: Schema.tag("swaps"), who: Name, other: Name }),
  Schema.Struct({ _tag: Schema.tag("restarts") }),
  Schema.Struct({ _tag: Schema.tag("registrationsAreDeleted") }),
  Schema.Struct({ _tag: Schema.tag("secretIsDeleted") }),
  Schema.Struct({ _tag: Schema.tag("secretIsBack") })
])
type Step = typeof Step.Type
const Steps = Schema.Array(Step).check(Schema.isMaxLength(24))

/** Who should be there. Without the Secret nobody comes, and everybody may still go. */
const modelled = (present: ReadonlySet<string>, hasSecret: boolean, step: Step): ReadonlySet<string> => {
  const next = new Set(present)
  if (step._tag === "swaps") next.delete(step.who)
  if ((step._tag === "comes" || step._tag === "comesTwice") && hasSecret) next.add(step.who)
  if (step._tag === "swaps" && hasSecret) next.add(step.other)
  if (step._tag === "goes" || step._tag === "goesTwice") next.delete(step.who)
  return next
}

/** The objects, and two processes that serve them. */
const stage = Effect.gen(function* () {
  const { remote, site } = yield* remotes.scenario
  const owners = new Map<string, RemoteCluster.Owner>(names.map((name) => [name, remotes.ownerOf(name)]))
  const provisioners = new Map([...owners].map(([name, owner]) => [name, remotes.remoteSettings(owner, name)]))
  let programs = [yield* site.makeProgram(), yield* site.makeProgram()]

  const serve = (name: string, phase: "provision" | "deprovision", program = programs[0]) => {
    const provisioner = provisioners.get(name)
    if (provisioner === undefined || program === undefined) return Effect.void
    // As a manager does, again and again; what only the user can mend ends it.
    return Effect.retry(program[phase](provisioner), { times: 20, while: ({ _tag }) => _tag !== "UserActionRequired" })
  }
  const both = (name: string, phase: "provision" | "deprovision") =>
    Effect.all(
      programs.map((program) => Effect.result(serve(name, phase, program))),
      { concurrency: 2 }
    )
  const act = Effect.fnUntraced(function* (step: Step) {
    if (step._tag === "comes") return yield* Effect.result(serve(step.who, "provision"))
    if (step._tag === "goes") return yield* Effect.result(serve(step.who, "deprovision"))
    if (step._tag === "comesTwice") return yield* both(step.who, "provision")
    if (step._tag === "goesTwice") return yield* both(step.who, "deprovision")
    if (step._tag === "swaps" && step.who !== step.other) {
      const goes = Effect.result(serve(step.who, "deprovision", programs[0]))
      return yield* Effect.all([goes, Effect.result(serve(step.other, "provision", programs[1]))], { concurrency: 2 })
    }
    if (step._tag === "restarts") programs = [yield* site.makeProgram(), yield* site.makeProgram()]
    if (step._tag === "registrationsAreDeleted") {
      const all = yield* site.registrations
      const remove = (name: string) => site.client.delete(Builtin.Secret, { namespace: remotes.home, name })
      yield* Effect.forEach(all, ({ metadata }) => remove(metadata.name), { discard: true })
    }
    if (step._tag === "secretIsDeleted") yield* Effect.result(site.client.delete(Builtin.Secret, remotes.secretRef))
    if (step._tag === "secretIsBack") yield* site.point(remote.kubeconfig)
  })
  return { act, remote, site, leaveAll: Effect.forEach(names, (name) => serve(name, "deprovision"), { discard: true }) }
})

describe("RemoteCluster: any order of things", () => {
  it.effect.prop(
    "P27: whoever is there is referred to, exactly once, and nobody else is",
    { steps: Steps },
    ({ steps }) =>
      Effect.gen(function* () {
        const { act, leaveAll, remote, site } = yield* stage
        let present: ReadonlySet<string> = new Set()
        let hasSecret = true

        for (const step of steps) {
          const meaningless = step._tag === "swaps" && step.who === step.other
          if (meaningless) continue
          yield* act(step)
          present = modelled(present, hasSecret, step)
          if (step._tag === "secretIsDeleted") hasSecret = false
          if (step._tag === "secretIsBack") hasSecret = true

          assert.deepStrictEqual(yield* remotes.settingsOn(remote), [...present].toSorted(), step._tag)
          const counts = yield* site.counts
          assert.notInclude(counts, 0, "a registration has no reference")
          assert.strictEqual(
            counts.reduce((sum, count) => sum + count, 0),
            present.size,
            step._tag
          )
        }
        yield* leaveAll

        assert.deepStrictEqual([yield* site.registrations, yield* remotes.settingsOn(remote)], [[], []])
      }).pipe(Effect.scoped),
    { timeout: 120_000, arbitrary: { runs: 20, size: 40 } }
  )
})
