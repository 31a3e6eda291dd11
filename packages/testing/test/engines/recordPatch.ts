import { arrayOf, at, objectOf, stringOf } from "../../src/internal/engines/json.ts"
import { cases, fieldSelectors, labels, labelSelectors } from "./cases/patch.ts"
import { isSuccess, type Oracle, refusalOf } from "./oracle.ts"

const TYPES = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json"
}

/** What a patch can change. */
export const contentOf = (object: unknown) => {
  const { labels, annotations, finalizers } = objectOf(at(object, "metadata"))
  const { data, template } = objectOf(object)
  return JSON.parse(JSON.stringify({ labels, annotations, finalizers, data, template }))
}

export const recordPatch = async (oracle: Oracle) => {
  const goldens = []
  for (const { title, path, object, type, patch } of cases) {
    const made = await oracle.call("POST", path, object)
    if (!isSuccess(made)) throw new Error(JSON.stringify(made.body))
    const answer = await oracle.call("PATCH", `${path}/p?dryRun=All`, patch, TYPES[type])
    await oracle.call("PATCH", `${path}/p`, { metadata: { finalizers: null } }, TYPES.merge)
    await oracle.call("DELETE", `${path}/p`)
    const before = contentOf(made.body)
    goldens.push({
      title,
      before,
      ...(isSuccess(answer) ? { after: contentOf(answer.body) } : { refused: refusalOf(answer) })
    })
  }
  return goldens
}

const PATH = "/api/v1/namespaces/default/configmaps"

const select = async (oracle: Oracle, parameter: string, texts: ReadonlyArray<string>) => {
  const goldens = []
  for (const text of texts) {
    const answer = await oracle.call("GET", `${PATH}?${parameter}=${encodeURIComponent(text)}`)
    const names = arrayOf(at(answer.body, "items")).map((item) => stringOf(at(item, "metadata", "name")))
    goldens.push(
      isSuccess(answer) ? { text, selects: names.includes("p") } : { text, error: refusalOf(answer).message }
    )
  }
  return goldens
}

export const recordSelectors = async (oracle: Oracle) => {
  await oracle.call("POST", PATH, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "p", labels } })
  const byLabels = await select(oracle, "labelSelector", labelSelectors)
  const byFields = await select(oracle, "fieldSelector", fieldSelectors)
  await oracle.call("DELETE", `${PATH}/p`)
  return { byLabels, byFields }
}
