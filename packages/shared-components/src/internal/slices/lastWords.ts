/** What a script said at its end, for the operator's log. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import { Effect } from "effect"

const wordsMax = 1024
const hidden = "[hidden]"

/** As scripts write it: as it is, line by line, in a URL, in JSON, in base64. */
const written = (secret: string): ReadonlyArray<string> => [
  secret,
  ...secret.split(/\r?\n/u),
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString("base64"),
  Buffer.from(secret).toString("base64url")
]

/** Hides every secret text, the longest first, so that one inside another leaves nothing behind. */
export const redacted = (text: string, secrets: ReadonlyArray<string>): string => {
  // A text of one or two characters would blot out everything, and gives nothing away.
  const known = [...new Set(secrets.filter((secret) => secret.length > 2).flatMap(written))]
    .filter((form) => form.length > 2)
    .toSorted((a, b) => b.length - a.length)
  return known.reduce((left, secret) => left.replaceAll(secret, hidden), text)
}

const terminated = (pod: Builtin.Pod) =>
  pod.status?.containerStatuses?.flatMap(({ state }) => state?.terminated ?? []) ?? []

/** A Pod that cannot be read has no last words; nothing depends on them. */
export const read = (
  job: { readonly name: string; readonly namespace: string },
  secrets: ReadonlyArray<string>
): Effect.Effect<string, never, Client> =>
  Client.use((client) =>
    client.list(Builtin.Pod, { namespace: job.namespace, labelSelector: `batch.kubernetes.io/job-name=${job.name}` })
  ).pipe(
    Effect.map(({ items }) => {
      const ended = items
        .flatMap(terminated)
        .map(({ exitCode, message }) => `exit code ${exitCode}: ${message ?? "no message"}`)
      // Redacted before it is cut: half a secret would not be recognised.
      return redacted(ended.join("; "), secrets).slice(-wordsMax)
    }),
    Effect.orElseSucceed(() => "")
  )
