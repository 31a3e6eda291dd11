/** Random fragments of scheduling that an API server accepts, alone and merged. */
import { Arbitrary, Schema } from "effect"
import * as Scheduling from "../../src/Scheduling.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const { Literals, Struct, UndefinedOr } = Schema

const Effects = Literals(["NoSchedule", "PreferNoSchedule"])
const Weight = Schema.Union([Literals(["required"]), between(1, 100)])
const Group = Struct({
  topologyKey: Literals(["kubernetes.io/hostname", "topology.kubernetes.io/zone"]),
  matchLabels: Struct({ app: Literals(["web", "db"]) })
})
const Requirement = Schema.Union([
  Struct({ key: Literals(["arch", "disk"]), operator: Literals(["Exists", "DoesNotExist"]) }),
  Struct({
    key: Literals(["arch", "disk"]),
    operator: Literals(["In", "NotIn"]),
    values: Schema.Array(Literals(["a", "b"])).check(Schema.isMinLength(1), Schema.isMaxLength(2))
  })
])

/** Of each sort a few subjects only, so that fragments speak of the same often. */
const Atom = Schema.Union([
  Struct({
    _tag: Schema.tag("nodeSelector"),
    label: Literals(["pool", "arch", "example.com/disk"]),
    value: UndefinedOr(Literals(["", "x", "y"]))
  }),
  Struct({
    _tag: Schema.tag("toleration"),
    toleration: Schema.Union([
      Struct({ key: Literals(["gpu", "spot"]), operator: Literals(["Exists"]), effect: Effects }),
      Struct({ key: Literals(["gpu", "spot"]), value: Literals(["yes", "no"]), effect: Effects }),
      Struct({
        key: Literals(["gpu"]),
        operator: Literals(["Exists"]),
        effect: Literals(["NoExecute"]),
        tolerationSeconds: between(0, 9)
      })
    ])
  }),
  Struct({ _tag: Schema.tag("required"), requirement: Requirement }),
  Struct({
    _tag: Schema.tag("preferred"),
    weight: between(1, 100),
    requirements: Schema.Array(Requirement).check(Schema.isMinLength(1), Schema.isMaxLength(2))
  }),
  Struct({ _tag: Literals(["near", "far"]), weight: Weight, group: Group }),
  Struct({
    _tag: Schema.tag("spread"),
    group: Group,
    maxSkew: between(1, 3),
    whenUnsatisfiable: Literals(["DoNotSchedule", "ScheduleAnyway"])
  }),
  Struct({ _tag: Schema.tag("priority"), name: Literals(["low", "high"]) }),
  Struct({
    _tag: Schema.tag("resource"),
    resource: Literals(["cpu", "memory"]),
    request: UndefinedOr(Literals(["1", "2"])),
    limit: UndefinedOr(Literals(["2", "3"]))
  })
])
export type Atom = typeof Atom.Type

export const fragmentOf = (atom: Atom): Scheduling.Scheduling => {
  switch (atom._tag) {
    case "nodeSelector":
      return Scheduling.nodeSelector({ [atom.label]: atom.value })
    case "toleration":
      return Scheduling.tolerations(atom.toleration)
    case "required":
      return Scheduling.requiredNodes(atom.requirement)
    case "preferred":
      return Scheduling.preferredNodes(atom.weight, ...atom.requirements)
    case "near":
      return Scheduling.podAffinity(atom.weight, atom.group)
    case "far":
      return Scheduling.podAntiAffinity(atom.weight, atom.group)
    case "spread": {
      const { group, maxSkew, whenUnsatisfiable } = atom
      return Scheduling.topologySpread({ ...group, maxSkew, whenUnsatisfiable })
    }
    case "priority":
      return Scheduling.priorityClass(atom.name)
    case "resource":
      return Scheduling.resources({
        requests: { [atom.resource]: atom.request },
        limits: { [atom.resource]: atom.limit }
      })
  }
}

export const atoms = Arbitrary.schema(Schema.Array(Atom).check(Schema.isMaxLength(8)))
export const merged = (all: ReadonlyArray<Atom>): Scheduling.Scheduling => Scheduling.merge(...all.map(fragmentOf))
