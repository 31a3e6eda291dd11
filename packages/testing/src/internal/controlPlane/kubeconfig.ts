/** The kubeconfig of a user that has a certificate. */
import { stringify } from "yaml"

const base64 = (text: string): string => Buffer.from(text).toString("base64")

export const kubeconfigOf = (options: {
  readonly server: string
  readonly ca: string
  readonly cert: string
  readonly key: string
}): string =>
  stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "control-plane", cluster: { server: options.server, "certificate-authority-data": base64(options.ca) } }
    ],
    users: [
      {
        name: "user",
        user: { "client-certificate-data": base64(options.cert), "client-key-data": base64(options.key) }
      }
    ],
    contexts: [{ name: "control-plane", context: { cluster: "control-plane", user: "user" } }],
    "current-context": "control-plane"
  })
