/** What the driver suite asks of a tool, and what it says about applications. */
import { randomUUID } from "node:crypto"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Clusters from "@berth/testing/Clusters"
import { Context, Effect, Option, type Scope } from "effect"
import * as Application from "../../../src/Application.ts"
import type * as CdDriver from "../../../src/CdDriver.ts"
import * as Disposition from "../../../src/Disposition.ts"
import type * as Provisioner from "../../../src/Provisioner.ts"
import { outcome } from "./outcome.ts"

export type Version = "0.1.0" | "0.2.0"

/** The suite's chart, in both versions. */
export interface Catalogue {
  readonly chart: (version: Version) => CdDriver.Chart
  /** Takes it out. */
  readonly withdraw: (version: Version) => Effect.Effect<void>
}

/** The tool behind a driver. */
export class Tool extends Context.Service<
  Tool,
  {
    /** One for each test, which may take charts out. */
    readonly catalogue: Effect.Effect<Catalogue, never, Scope.Scope>
    /** What stands for the release, with a resourceVersion each: nothing was written while they stay the same. */
    readonly records: (namespace: string) => Effect.Effect<ReadonlyArray<string>, never, Client.Client>
    /** The Deployment gives up, where no controller does that. */
    readonly giveUp: (namespace: string, name: string) => Effect.Effect<void, never, Client.Client>
    /** While the effect runs, the tool is not there. */
    readonly without: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Gives the tool time to act. */
    readonly pause: Effect.Effect<void>
  }
>()("test/Tool") {}

/** In a namespace of its own. */
const owner = Effect.map(Clusters.unique("shop"), (namespace): Owner => ({
  metadata: { name: "shop", namespace, uid: randomUUID() }
}))

export interface Owner {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string }
}

const release = "shop-web"

/** A role that allows everything, where it is bound. */
const role = "berth-test-deployer"

const deployer = Effect.gen(function* () {
  const client = yield* Client.Client
  const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]
  yield* client.apply(Builtin.ClusterRole, { metadata: { name: role }, rules }, { force: true })
  const elsewhere = yield* Clusters.unique("elsewhere")
  yield* client.create(Builtin.Namespace, { metadata: { name: elsewhere } })
  return { account: { name: "deployer", role }, elsewhere }
})

/** An application of the suite's chart, and what can be seen of it. */
export const scene = Effect.gen(function* () {
  const { catalogue, ...tool } = yield* Tool
  const { chart, withdraw } = yield* catalogue
  const mine = yield* owner
  const { namespace } = mine.metadata
  const client = yield* Client.Client
  const ref = { namespace, name: release }
  return {
    ...tool,
    withdraw,
    /** An account for charts, and a namespace in which it has no rights. */
    deployer,
    /** What a hostile chart makes, if it may. */
    isEvil: Effect.gen(function* () {
      const evil = `${namespace}-evil`
      const { items } = yield* client.list(Builtin.ConfigMap, { fieldSelector: `metadata.name=${evil}` })
      const bound = yield* Effect.option(client.get(Builtin.ClusterRoleBinding, { name: evil }))
      return items.length > 0 || Option.isSome(bound)
    }),
    namespace,
    owner: mine,
    web: (
      values: CdDriver.Values,
      options: Partial<Application.Options<Owner, never>> & { readonly version?: Version } = {}
    ) => Application.make("web", { owner: mine, chart: chart(options.version ?? "0.1.0"), values, ...options }),
    /** What the chart's ConfigMap says. */
    deployed: Effect.map(Effect.option(client.get(Builtin.ConfigMap, ref)), (found) =>
      Option.getOrUndefined(Option.map(found, ({ data }) => data))
    ),
    isGone: Effect.map(Effect.option(client.get(Builtin.ConfigMap, ref)), Option.isNone),
    letGo: client.patch(Builtin.ConfigMap, ref, { type: "merge", patch: { metadata: { finalizers: null } } }),
    giveAddress: client.patch(
      Builtin.Service,
      ref,
      { type: "merge", patch: { status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } } } },
      { subresource: "status" }
    )
  }
})

type Pass<R> = Effect.Effect<void, Disposition.ProvisionError, R>

const passesMax = 300

/** Pass after pass, as a manager would, until one ends as expected. */
export const until = Effect.fnUntraced(function* <R>(
  pass: Pass<R>,
  expected: (failure: Disposition.ProvisionError | undefined) => boolean
) {
  const { pause } = yield* Tool
  let last = yield* outcome(pass)
  for (let passes = 1; !expected(last); passes++) {
    // A pass that parks is not followed by another.
    if (passes === passesMax || (last !== undefined && Disposition.isTerminal(last)))
      return yield* Effect.die(new Error(`still ${last?.reason}: ${last?.why}`, { cause: last }))
    yield* pause
    last = yield* outcome(pass)
  }
  return last
})

const finished = (failure: Disposition.ProvisionError | undefined) => failure === undefined

export const provisioned = <R>({ provision }: Provisioner.Provisioner<R>) => until(provision, finished)
export const deprovisioned = <R>({ deprovision }: Provisioner.Provisioner<R>) => until(deprovision, finished)
