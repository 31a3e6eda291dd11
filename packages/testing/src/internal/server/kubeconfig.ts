/**
 * A kubeconfig for one server.
 */
import { stringify } from "yaml"

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
          ...(options.ca === undefined
            ? {}
            : { "certificate-authority-data": Buffer.from(options.ca).toString("base64") })
        }
      }
    ],
    users: [{ name: "admin", user: options.token === undefined ? {} : { token: options.token } }],
    contexts: [{ name: "embedded", context: { cluster: "embedded", user: "admin" } }],
    "current-context": "embedded"
  })
