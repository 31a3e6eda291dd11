/** What a program has asked of the API server, told by its own traces, in the words of what it declares. */
import type { Access } from "@berth/kube/Access"
import * as Collector from "../../../packages/operator/test/support/collector.ts"

/** The namespaces that an operator has; every other one is an environment's. */
export type Places = Readonly<Record<"managementNamespace" | "sharedNamespace", string>>

/** The namespaces of a program by their names, such as `managementNamespace`; everything else is said of the cluster. */
type Named = Readonly<Record<string, string>>

const place = (places: Named, namespace: unknown): string =>
  Object.entries(places)
    .find(([, name]) => name === namespace)?.[0]
    .replace(/Namespace$/u, "") ?? "cluster"

/** As kubectl and the traces write it: `slices.berth.dev/status`. */
const qualified = ({ group, resource }: Access): string => {
  const [plural = "", ...subresource] = resource.split("/")
  return [group === "" ? plural : `${plural}.${group}`, ...subresource].join("/")
}

const unique = (lines: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(lines)].toSorted()

/** Asked for along with a request, not by one of its own. */
const implied = new Set<string>(["bind", "impersonate"])

/** Such as `management: patch slices.berth.dev/status`, each once. */
export const declared = (all: ReadonlyArray<Access>, places: Named): ReadonlyArray<string> =>
  unique(
    all.flatMap((access) =>
      access.verbs
        .filter((verb) => !implied.has(verb))
        .map((verb) => `${place(places, access.namespace)}: ${verb} ${qualified(access)}`)
    )
  )

interface Request {
  readonly verb: string
  /** Of the answer; NaN where there was none. */
  readonly status: number
  /** As the verbs below are written. */
  readonly line: (verb: string) => string
}

const requests = (spans: ReadonlyArray<Collector.Span>, places: Named): ReadonlyArray<Request> =>
  spans.flatMap((span) => {
    const attributes = Collector.attributes(span)
    const resource = attributes["k8s.resource"]
    // What is done for an account is that account's right.
    if (typeof resource !== "string" || attributes["k8s.impersonated_user"] !== undefined) return []
    const [verb = ""] = span.name.split(" ")
    const where = place(places, attributes["k8s.namespace.name"])
    return [
      { verb, status: Number(attributes["http.response.status_code"]), line: (each) => `${where}: ${each} ${resource}` }
    ]
  })

/**
 * The same of what was asked. Where an apply has made the object, the server asked for the right to create it; and who watches may have
 * to list, on a server without streaming lists.
 */
export const asked = (spans: ReadonlyArray<Collector.Span>, places: Named): ReadonlyArray<string> =>
  unique(
    requests(spans, places).flatMap(({ line, status, verb }) => {
      const implied = verb === "watch" ? ["list"] : verb === "patch" && status === 201 ? ["create"] : []
      return [verb, ...implied].map(line)
    })
  )

/** What the operator had no right to. */
export const refused = (spans: ReadonlyArray<Collector.Span>, places: Named): ReadonlyArray<string> =>
  unique(requests(spans, places).flatMap(({ line, status, verb }) => (status === 403 ? [line(verb)] : [])))
