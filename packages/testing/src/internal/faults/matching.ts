/** Which requests a rule is about, and which faults hit this one. */
import type { TransportRequest } from "@berth/kube/Transport"
import * as Chance from "./chance.ts"
import type { Fault, Matcher, On, Rule, Sent } from "./model.ts"

const reads: ReadonlyArray<string> = ["get", "list", "watch"]

export const isWrite = (verb: string): boolean => !reads.includes(verb)

const isVerb = (wanted: string, verb: string): boolean =>
  wanted === verb || (wanted === "write" && isWrite(verb)) || (wanted === "read" && !isWrite(verb))

type About = Pick<Sent, "verb" | "resource" | "namespace" | "name">

/** All but what only the request itself tells. */
export const isAbout = (on: Matcher, sent: About): boolean =>
  (on.verb === undefined || [on.verb].flat().some((verb) => isVerb(verb, sent.verb))) &&
  (on.resource === undefined || on.resource === sent.resource) &&
  (on.namespace === undefined || on.namespace === sent.namespace) &&
  (on.name === undefined || on.name === sent.name)

const pageOf = (path: string): "first" | "later" =>
  new URL(path, "http://server").searchParams.has("continue") ? "later" : "first"

const matches = (on: On, request: TransportRequest): boolean =>
  isAbout(on, request.about) &&
  (on.page === undefined || (request.about.verb === "list" && on.page === pageOf(request.path))) &&
  (on.where === undefined || on.where(request))

/** A rule at work, with its count of the requests that it matched. */
export const watchFor = ({ fault, on = {} }: Rule) => {
  const { nth = 1, times = on.nth === undefined ? Number.POSITIVE_INFINITY : 1 } = on
  let matched = 0
  return (request: TransportRequest): ReadonlyArray<Fault> => {
    if (!matches(on, request)) return []
    matched += 1
    return matched >= nth && matched < nth + times ? [fault] : []
  }
}

const watchFaults: ReadonlyArray<Fault["_tag"]> = [
  "DropWatch",
  "StallWatch",
  "ExpireWatch",
  "DuplicateEvents",
  "LateEvents"
]

/** Whether the fault can befall such a request at all. */
const befalls = ({ _tag }: Fault, verb: string): boolean => {
  if (watchFaults.includes(_tag)) return verb === "watch"
  if (_tag === "StaleRead") return verb === "get" || verb === "list"
  return _tag === "LostAnswer" || _tag === "Crash" ? isWrite(verb) : true
}

/** A throw of the dice that depends on nothing but the seed and which request it is, so that other requests do not change it. */
const thrown = (
  fault: Extract<Fault, { readonly _tag: "Random" }>,
  sent: Omit<Sent, "faults">
): ReadonlyArray<Fault> => {
  const possible = fault.faults.filter((each) => befalls(each, sent.verb))
  const { name = "", namespace = "", occurrence, resource, verb } = sent
  const identity = [fault.seed, verb, resource, namespace, name, occurrence].join(" ")
  if (Chance.fraction(`hit ${identity}`) >= fault.rate) return []
  const chosen = possible[Math.floor(Chance.fraction(`which ${identity}`) * possible.length)]
  return chosen === undefined ? [] : resolved(chosen, sent)
}

/** With chance taken out of it, and without what cannot befall such a request. */
export const resolved = (fault: Fault, sent: Omit<Sent, "faults">): ReadonlyArray<Fault> => {
  if (fault._tag === "Random") return thrown(fault, sent)
  return befalls(fault, sent.verb) ? [fault] : []
}
