import { at } from "../../src/internal/engines/json.ts"
import type { Schema } from "../../src/internal/engines/schema.ts"
import { cases as crds } from "./cases/crd.ts"
import { type Case, cases, schema } from "./cases/structural.ts"
import { isSuccess, type Oracle, refusalOf } from "./oracle.ts"
import { crdOf, GROUP, withKind } from "./recordApply.ts"

const objectOf = (name: string, spec: unknown) => ({
  apiVersion: `${GROUP}/v1`,
  kind: "Structure",
  metadata: { name },
  ...(spec === undefined ? {} : { spec })
})

const CRD = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/structures.${GROUP}`

const FREE: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true }

/** What an update starts from is stored while no schema forbids it. */
const storeOlds = async (oracle: Oracle, path: string) => {
  for (const [index, { old }] of cases.entries()) {
    if (old === undefined) continue
    const stored = await oracle.call("POST", path, objectOf(`s${index}`, old))
    if (!isSuccess(stored)) throw new Error(JSON.stringify(stored.body))
  }
  const versions = crdOf("structures", "Structure", schema).spec.versions
  await oracle.call("PATCH", CRD, { spec: { versions } }, "application/merge-patch+json")
  while (isSuccess(await oracle.call("POST", `${path}?dryRun=All`, objectOf("s", "x")))) continue
}

const judge = (oracle: Oracle, path: string, { spec, old }: Case, index: number) =>
  old === undefined
    ? oracle.call("POST", `${path}?dryRun=All`, objectOf("s", spec))
    : oracle.call(
        "PATCH",
        `${path}/s${index}?dryRun=All`,
        [{ op: "replace", path: "/spec", value: spec }],
        "application/json-patch+json"
      )

export const recordStructural = (oracle: Oracle) =>
  withKind(oracle, "structures", "Structure", FREE, async (path) => {
    await storeOlds(oracle, path)
    const goldens = []
    for (const [index, one] of cases.entries()) {
      const answer = await judge(oracle, path, one, index)
      const outcome = isSuccess(answer) ? { spec: at(answer.body, "spec") } : { refused: refusalOf(answer) }
      goldens.push({ title: one.title, ...outcome })
    }
    return goldens
  })

export const recordCrd = async (oracle: Oracle) => {
  const goldens = []
  for (const { title, schema } of crds) {
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"
    const answer = await oracle.call("POST", path, crdOf("probes", "Probe", schema))
    goldens.push({ title, ...(isSuccess(answer) ? {} : { refused: refusalOf(answer) }) })
  }
  return goldens
}
