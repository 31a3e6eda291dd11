import * as Builtin from "@berth/kube/Builtin"
import { assert, describe, it } from "@effect/vitest"
import * as ObjectProvisioner from "../src/ObjectProvisioner.ts"
import * as Scheduling from "../src/Scheduling.ts"
import { type Atom, atoms, fragmentOf, merged } from "./support/scheduling.ts"

const shown = (scheduling: Scheduling.Scheduling) => ({
  ...Scheduling.podSpec(scheduling),
  ...Scheduling.container(scheduling)
})

/** Without those whose value is undefined. */
const said = (entries: ReadonlyArray<readonly [string, string | undefined]>) => {
  const last = Object.entries(Object.fromEntries(entries)).filter(([, value]) => value !== undefined)
  return last.length === 0 ? undefined : Object.fromEntries(last)
}
const of = <T extends Atom["_tag"]>(all: ReadonlyArray<Atom>, tag: T) =>
  all.filter((atom): atom is Extract<Atom, { readonly _tag: T }> => atom._tag === tag)

const gpu = { key: "gpu", effect: "NoExecute" } as const
const web = { topologyKey: "zone", matchLabels: { app: "web", tier: "1" } }
const sameWeb = { ...web, matchLabels: { tier: "1", app: "web" } }
const [arch, disk] = [
  { key: "arch", operator: "In", values: ["a"] },
  { key: "disk", operator: "Exists" }
] as const
const subjects = [
  {
    reason: "for how long is no part of a taint",
    earlier: Scheduling.tolerations({ ...gpu, value: "yes", tolerationSeconds: 1 }),
    later: Scheduling.tolerations({ ...gpu, operator: "Equal", value: "yes", tolerationSeconds: 2 })
  },
  {
    reason: "whether it is required is said of the same Pods",
    earlier: Scheduling.podAffinity("required", web),
    later: Scheduling.podAffinity(10, sameWeb)
  },
  {
    reason: "a skew is said of a place",
    earlier: Scheduling.topologySpread(web),
    later: Scheduling.topologySpread({ ...web, maxSkew: 3, whenUnsatisfiable: "ScheduleAnyway" })
  },
  {
    reason: "values are said of a label",
    earlier: Scheduling.requiredNodes(arch),
    later: Scheduling.requiredNodes({ ...arch, values: ["b"] })
  },
  {
    reason: "requirements have no order",
    earlier: Scheduling.preferredNodes(1, arch, disk),
    later: Scheduling.preferredNodes(2, disk, arch)
  }
]

describe("Scheduling", () => {
  it.each(subjects)("the later stands for the earlier, since $reason", ({ earlier, later }) => {
    assert.deepStrictEqual(shown(Scheduling.merge(earlier, later)), shown(later))
  })

  it("both stand where the subjects differ", () => {
    const both = Scheduling.merge(
      Scheduling.tolerations({ key: "gpu", operator: "Exists" }, { key: "gpu" }, { key: "gpu", value: "yes" }),
      Scheduling.requiredNodes(arch, { ...arch, operator: "NotIn" }),
      Scheduling.podAffinity(1, web),
      Scheduling.podAntiAffinity(1, web),
      Scheduling.topologySpread(web),
      Scheduling.topologySpread({ ...web, whenUnsatisfiable: "DoNotSchedule" })
    )

    assert.lengthOf(Object.keys(both.parts), 9)
  })

  it.prop("merging is associative, and nothing is its identity", { a: atoms, b: atoms, c: atoms }, ({ a, b, c }) => {
    const [x, y, z] = [merged(a), merged(b), merged(c)]

    const flat = Scheduling.merge(x, y, z)

    assert.deepStrictEqual(Scheduling.merge(x, Scheduling.merge(y, z)), flat)
    assert.deepStrictEqual(Scheduling.merge(Scheduling.merge(x, y), z), flat)
    assert.deepStrictEqual(Scheduling.merge(Scheduling.empty, flat), flat)
    assert.deepStrictEqual(Scheduling.merge(flat, Scheduling.empty), flat)
    assert.deepStrictEqual(Scheduling.merge(flat, flat), flat)
  })

  it.prop("of what speaks of the same subject the later wins, and the rest is kept", { all: atoms }, ({ all }) => {
    const { nodeSelector, priorityClassName, resources, tolerations = [] } = shown(merged(all))
    const amounts = (which: "request" | "limit") =>
      said(of(all, "resource").map((atom) => [atom.resource, atom[which]]))

    assert.deepStrictEqual(nodeSelector, said(of(all, "nodeSelector").map(({ label, value }) => [label, value])))
    assert.strictEqual(priorityClassName, of(all, "priority").at(-1)?.name)
    assert.deepStrictEqual([resources?.requests, resources?.limits], [amounts("request"), amounts("limit")])
    const bySubject = new Map(
      of(all, "toleration")
        .map(({ toleration }): Scheduling.Toleration => toleration)
        .map((toleration) => [JSON.stringify({ ...toleration, tolerationSeconds: 0 }), toleration])
    )
    assert.sameDeepMembers(tolerations, [...bySubject.values()])
  })

  it.prop(
    "whatever is merged last is there as it was said alone",
    { all: atoms, last: atoms },
    ({ all, last: [last] }) => {
      const fragment = last === undefined ? Scheduling.empty : fragmentOf(last)

      const whole = Scheduling.merge(merged(all), fragment)

      for (const key of Object.keys(fragment.parts)) assert.deepStrictEqual(whole.parts[key], fragment.parts[key])
    }
  )

  it.prop("the order does not matter where no two speak of the same subject", { a: atoms, b: atoms }, ({ a, b }) => {
    const x = merged(a)
    const y = merged(b.filter((atom) => Object.keys(fragmentOf(atom).parts).every((key) => !(key in x.parts))))

    assert.strictEqual(JSON.stringify(shown(Scheduling.merge(x, y))), JSON.stringify(shown(Scheduling.merge(y, x))))
  })

  it("gives the fields of a Pod, and none that nobody spoke of", () => {
    const zone = { topologyKey: "topology.kubernetes.io/zone", matchLabels: { app: "web" } }
    const all = Scheduling.merge(
      Scheduling.controlPlane,
      Scheduling.requiredNodes({ key: "arch", operator: "In", values: ["amd64"] }, { key: "disk", operator: "Exists" }),
      Scheduling.preferredNodes(10, { key: "spot", operator: "DoesNotExist" }),
      Scheduling.podAntiAffinity(50, zone),
      Scheduling.podAntiAffinity("required", { ...zone, topologyKey: "kubernetes.io/hostname" }),
      Scheduling.topologySpread(zone),
      Scheduling.priorityClass("high"),
      Scheduling.resources({ requests: { cpu: "1" }, limits: { memory: "1Gi" } })
    )
    const labelSelector = { matchLabels: { app: "web" } }

    assert.deepStrictEqual(shown(all), {
      nodeSelector: { "node-role.kubernetes.io/control-plane": "" },
      tolerations: [{ key: "node-role.kubernetes.io/control-plane", operator: "Exists", effect: "NoSchedule" }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: "arch", operator: "In", values: ["amd64"] },
                  { key: "disk", operator: "Exists" }
                ]
              }
            ]
          },
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 10, preference: { matchExpressions: [{ key: "spot", operator: "DoesNotExist" }] } }
          ]
        },
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "kubernetes.io/hostname", labelSelector }],
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 50, podAffinityTerm: { topologyKey: "topology.kubernetes.io/zone", labelSelector } }
          ]
        }
      },
      topologySpreadConstraints: [
        {
          topologyKey: "topology.kubernetes.io/zone",
          labelSelector,
          maxSkew: 1,
          whenUnsatisfiable: "ScheduleAnyway"
        }
      ],
      priorityClassName: "high",
      resources: { requests: { cpu: "1" }, limits: { memory: "1Gi" } }
    })
    assert.deepStrictEqual(shown(Scheduling.empty), {})
  })

  it("fits where an author puts it", () => {
    const labels = { app: "web" }
    const made = ObjectProvisioner.make("web", {
      type: Builtin.Deployment,
      owner: { uid: "1" },
      object: {
        metadata: { name: "web", namespace: "shop" },
        spec: {
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              ...Scheduling.podSpec(Scheduling.controlPlane),
              containers: [{ name: "web", image: "web:1", ...Scheduling.container(Scheduling.empty) }]
            }
          }
        }
      }
    })

    assert.strictEqual(made.name, "web")
  })
})
