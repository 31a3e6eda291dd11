/** What is asked of etcd itself, by the HTTP side of its API. */
import { Effect } from "effect"

const nothing = Buffer.from([0]).toString("base64")

const ask = async (url: string, path: string, body: object): Promise<unknown> => {
  const response = await fetch(`${url}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`etcd answered ${response.status} to ${path}`)
  return response.json()
}

const revisionIn = (answer: unknown): string => {
  const header = typeof answer === "object" && answer !== null && "header" in answer ? answer.header : undefined
  const revision = typeof header === "object" && header !== null && "revision" in header ? header.revision : undefined
  return String(revision)
}

/** Lets etcd forget every revision but the newest. */
export const compact = (url: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    const revision = revisionIn(await ask(url, "range", { key: nothing, limit: 1, keys_only: true }))
    await ask(url, "compaction", { revision, physical: true })
  })
