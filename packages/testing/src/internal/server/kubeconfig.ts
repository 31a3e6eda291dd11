/**
 * Kubeconfigs: one for this server, and others as they are needed here.
 */
import { resolve } from "node:path"
import { parse, stringify } from "yaml"
import { fields, isFields } from "./json.ts"

/** @internal */
export const kubeconfigOf = (options: {
  readonly server: string
  readonly ca: string | undefined
  readonly token: string | undefined
}): string =>
  stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "embedded",
        cluster: {
          server: options.server,
          // Without TLS there is nothing to verify, which client-node wants to be told.
          ...(options.ca === undefined
            ? { "insecure-skip-tls-verify": true }
            : { "certificate-authority-data": Buffer.from(options.ca).toString("base64") })
        }
      }
    ],
    users: [{ name: "admin", user: options.token === undefined ? {} : { token: options.token } }],
    contexts: [{ name: "embedded", context: { cluster: "embedded", user: "admin" } }],
    "current-context": "embedded"
  })

const paths: ReadonlyArray<string> = ["certificate-authority", "client-certificate", "client-key", "tokenFile"]

const withFullPaths = (value: unknown, folder: string): unknown => {
  if (Array.isArray(value)) return value.map((item) => withFullPaths(item, folder))
  if (!isFields(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      paths.includes(name) && typeof inner === "string" ? resolve(folder, inner) : withFullPaths(inner, folder)
    ])
  )
}

/** A kubeconfig that was read from a folder, for use anywhere, with another current context. @internal */
export const withContext = (text: string, folder: string, context: string): string =>
  stringify({ ...fields(withFullPaths(parse(text), folder)), "current-context": context })
