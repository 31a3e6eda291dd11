/** As much of an API server as an election needs: Leases that change by compare-and-swap. */
import type { Lease } from "../../src/Builtin.ts"
import type { TransportRequest, TransportResponse } from "../../src/Transport.ts"
import { json, refusal } from "./wire.ts"

const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/u

const content = ({ metadata: { annotations, labels }, spec }: Lease): string =>
  JSON.stringify([annotations, labels, spec])

export const leases = () => {
  let version = 0
  let stored: Lease | undefined
  let refuses: (spec: object) => boolean = () => false
  const store = (lease: Lease): Lease => {
    const uid = stored?.metadata.uid ?? `uid-${version}`
    // A write that changes nothing makes no version.
    const same = stored !== undefined && content(stored) === content(lease)
    const resourceVersion = same ? stored?.metadata.resourceVersion : String(++version)
    stored = { ...lease, metadata: { ...lease.metadata, uid, resourceVersion: resourceVersion ?? "" } }
    return stored
  }

  const answer = ({ body = "{}", method }: TransportRequest): TransportResponse => {
    if (method === "POST") {
      return stored === undefined ? json(201, store(JSON.parse(body))) : json(409, refusal(409, "AlreadyExists"))
    }
    if (stored === undefined) return json(404, refusal(404, "NotFound"))
    if (method === "GET") return json(200, stored)
    const sent: Lease = JSON.parse(body)
    if (!microTime.test(sent.spec?.renewTime ?? "")) return json(400, refusal(400, "BadRequest"))
    if (refuses(sent.spec ?? {})) return json(422, refusal(422, "Invalid"))
    return sent.metadata.resourceVersion === stored.metadata.resourceVersion
      ? json(200, store(sent))
      : json(409, refusal(409, "Conflict"))
  }

  return {
    answer,
    get: () => stored,
    holder: () => stored?.spec?.holderIdentity ?? "",
    put: (spec: object | undefined, metadata: object = {}) =>
      void store(
        JSON.parse(
          JSON.stringify({
            apiVersion: "coordination.k8s.io/v1",
            kind: "Lease",
            metadata: { name: "election", namespace: "shop", ...metadata },
            spec
          })
        )
      ),
    refuse: (when: (spec: object) => boolean) => void (refuses = when),
    remove: () => void (stored = undefined)
  }
}
