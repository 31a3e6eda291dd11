/** The older `auth-provider` entries of a kubeconfig, such as OpenID Connect, as the official client knows them. */
import { Effect, Redacted } from "effect"
import type { RequestOptions } from "node:https"
import type { AuthProvider } from "../Connection.ts"
import { CredentialsUnavailable } from "./credentialsUnavailable.ts"

/** Loaded only here: the official client takes half a second. */
const load = async (provider: AuthProvider, server: string) => {
  const { KubeConfig } = await import("@kubernetes/client-node")
  const config = new KubeConfig()
  const authProvider = { name: provider.name, config: { ...Redacted.value(provider.config) } }
  // It is asked for headers only, and makes no connection to this server.
  config.loadFromClusterAndUser({ name: "cluster", server, skipTLSVerify: true }, { name: "user", authProvider })
  return config
}

/**
 * The Authorization header that the provider gives at the moment. A token that has expired is renewed, and the new one
 * remembered, by what is loaded at the first use.
 */
export const make = (
  provider: AuthProvider,
  server: string
): Effect.Effect<Redacted.Redacted | undefined, CredentialsUnavailable> => {
  let loading: ReturnType<typeof load> | undefined
  return Effect.tryPromise({
    try: async () => {
      loading ??= load(provider, server)
      const options: RequestOptions = {}
      await (await loading).applyToHTTPSOptions(options)
      const headers = options.headers
      const header = headers === undefined || "at" in headers ? undefined : headers["Authorization"]
      return typeof header === "string" ? Redacted.make(header) : undefined
    },
    catch: () =>
      new CredentialsUnavailable({ source: `auth-provider ${provider.name}`, problem: "the provider gave none" })
  })
}
