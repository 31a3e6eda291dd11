/** The kinds and a real API server agree: neither takes what the other cannot. */
import * as Client from "@berth/kube/Client"
import * as Kind from "@berth/kube/Kind"
import type * as KubeError from "@berth/kube/KubeError"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { Environment } from "@berth/shared-components/Environment"
import { EnvironmentTemplate } from "@berth/shared-components/EnvironmentTemplate"
import { SharedComponent } from "@berth/shared-components/SharedComponent"
import { SharedComponentProvider } from "@berth/shared-components/SharedComponentProvider"
import { Slice } from "@berth/shared-components/Slice"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import { assert, describe, layer } from "@effect/vitest"
import { Arbitrary, Effect, Layer, Option, Result, Schema } from "effect"
import { type Json, mutated } from "../../packages/kube/test/support/mutation.ts"

const candidate = Clusters.each().find(({ kind }) => kind === "existing")
if (candidate === undefined) console.warn(`${Clusters.variable} is not set: nothing is tried on a real API server`)

type Tried = KubeObject & { readonly spec: Json }

interface Subject {
  readonly crd: ReturnType<typeof Kind.crd>
  readonly kind: string
  readonly type: ResourceType.ResourceType<Tried>
  readonly spec: Schema.ConstraintCodec<object, unknown>
  readonly decode: (object: unknown) => Effect.Effect<{ readonly spec: object }, Schema.SchemaError>
  /** What an author would also see to. */
  readonly completed: (spec: Record<string, Json>) => Record<string, Json>
}

const script: Json = { image: "example.com/tool", script: "true" }
const scripts = { provision: script, deprovision: script }

/** One of the ways to have slices, with the scripts that it needs. */
const provider = ({
  custom,
  databaseProvider,
  external,
  workload,
  ...rest
}: Record<string, Json>): Record<string, Json> => {
  const { check: _, deprovision: __, instanceSecret, list: ___, provision: ____, rotate: _____, ...bare } = rest
  if (workload !== undefined) {
    return { ...scripts, ...bare, ...(instanceSecret === undefined ? {} : { instanceSecret }), workload }
  }
  if (databaseProvider !== undefined) return { ...bare, databaseProvider }
  if (custom !== undefined) return { ...bare, custom }
  return { ...scripts, ...bare, external: external ?? { secretRef: { name: "pg" } } }
}

const isObject = (value: Json | undefined): value is Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** One place for each chart. */
const template = (spec: Record<string, Json>): Record<string, Json> => {
  const components = Array.isArray(spec["components"]) ? spec["components"] : []
  const placed = components.filter(isObject).map((component) => {
    const { helm, ...rest } = component
    if (!isObject(helm)) return component
    const { git: _, oci: __, path: ___, ...chart } = helm
    return { ...rest, helm: { repo: "https://charts.example.com", ...chart } }
  })
  return { ...spec, components: placed }
}

/** Scripts, or another backend. */
const slice = (spec: Record<string, Json>): Record<string, Json> => {
  const { capsule } = spec
  if (!isObject(capsule) || capsule["backend"] !== undefined) return spec
  const instance = { secretRef: { name: "pg" }, hostKey: "host", portKey: "port" }
  return { ...spec, capsule: { instance, ...scripts, ...capsule } }
}

const asIs = (spec: Record<string, Json>) => spec
const completions: Record<string, Subject["completed"]> = {
  EnvironmentTemplate: template,
  SharedComponentProvider: provider,
  Slice: slice
}
const subjects: ReadonlyArray<Subject> = [
  Environment,
  EnvironmentTemplate,
  SharedComponent,
  SharedComponentProvider,
  Slice
].map((kind) => ({
  crd: Kind.crd(kind),
  kind: kind.kind,
  type: ResourceType.make<Tried>(kind),
  spec: kind.spec,
  decode: kind.decode,
  completed: completions[kind.kind] ?? asIs
}))

/** The API server replaces halves of surrogate pairs, as every UTF-8 does. */
const overTheWire = (value: unknown): Json => JSON.parse(JSON.stringify(value).replace(/\\ud[89a-f][0-9a-f]{2}/gu, "?"))
const salt = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 })))
const options = { arbitrary: { runs: 200, size: 8 }, timeout: 120_000 }

/** The texts of the CRD's own rules: what they refuse, no schema of ours can know. */
const rulesOf = (node: unknown): ReadonlyArray<string> => {
  if (Array.isArray(node)) return node.flatMap(rulesOf)
  if (typeof node !== "object" || node === null) return []
  return Object.entries(node).flatMap(([key, value]: [string, unknown]) =>
    key === "x-kubernetes-validations" && Array.isArray(value)
      ? value.flatMap(({ message }: { readonly message?: string }) => message ?? [])
      : rulesOf(value)
  )
}

const isRule = (rules: ReadonlyArray<string>, error: KubeError.KubeError): boolean =>
  error._tag === "Invalid" && error.causes.every(({ message }) => rules.some((rule) => message.endsWith(rule)))

/** What the API server makes of an object of this spec, without keeping it. */
const tried = ({ type }: Subject, spec: Json) =>
  Client.Client.use((client) =>
    client.create(type, { metadata: { name: "tried", namespace: "default" }, spec }, { dryRun: true })
  ).pipe(
    // What is not kept has no version.
    Effect.map((answer) => ({ ...answer, metadata: { ...answer.metadata, resourceVersion: "1" } })),
    Effect.result
  )

const defined = Layer.effectDiscard(Effect.forEach(subjects, ({ crd }) => Clusters.definition(crd), { discard: true }))

const record = Schema.Record(Schema.String, Schema.Unknown)

const tests = (subject: Subject) => {
  const encoded = Arbitrary.schema(Schema.toEncoded(subject.spec))
  const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(subject.spec))
  const encode = Schema.encodeUnknownEffect(subject.spec)
  const rules = rulesOf(subject.crd)
  /** A spec as a codec writes it; none where the generator missed what only the codec knows. */
  const written = (value: unknown) =>
    Effect.gen(function* () {
      const plain = yield* Schema.decodeUnknownEffect(record)(overTheWire(value))
      const spec = subject.completed(plain as Record<string, Json>)
      return overTheWire(yield* encode(yield* decode(spec)))
    }).pipe(Effect.option)
  return { encoded, decode, encode, rules, written }
}

describe.skipIf(candidate === undefined)("The kinds on a real API server", () => {
  layer(Layer.provideMerge(defined, candidate?.layer ?? Cluster.embeddedWithClient()), {
    timeout: 60_000,
    excludeTestServices: true
  })((it) => {
    for (const subject of subjects) {
      const { decode, encode, encoded, rules, written } = tests(subject)
      let accepted = 0

      it.effect.prop(
        `K24: what the codec of ${subject.kind} encodes the CRD accepts, and the codec decodes again`,
        { value: encoded },
        ({ value }) =>
          Effect.gen(function* () {
            const spec = yield* written(value)
            if (Option.isNone(spec)) return
            const answer = yield* tried(subject, spec.value)
            if (Result.isFailure(answer)) {
              assert.isTrue(isRule(rules, answer.failure), `${answer.failure.message}: ${JSON.stringify(spec.value)}`)
              return
            }
            accepted += 1
            const again = yield* subject.decode(answer.success)

            assert.deepStrictEqual(
              overTheWire(yield* encode(again.spec)),
              overTheWire(yield* encode(yield* decode(spec.value)))
            )
          }),
        options
      )

      it.effect(`K24: of those, the CRD of ${subject.kind} accepted fifty at least`, () =>
        Effect.sync(() => assert.isAtLeast(accepted, 50))
      )

      it.effect.prop(
        `K24: what the CRD of ${subject.kind} accepts the codec decodes, however careless its author was`,
        { value: encoded, salt },
        ({ salt, value }) =>
          Effect.gen(function* () {
            const spec = yield* written(value)
            if (Option.isNone(spec)) return
            const answer = yield* tried(subject, mutated(spec.value, salt))
            if (Result.isFailure(answer)) return
            const decoded = yield* Effect.result(subject.decode(answer.success))

            assert.isTrue(Result.isSuccess(decoded), JSON.stringify(answer.success))
          }),
        options
      )
    }
  })
})
