/** The older `auth-provider` entries of a kubeconfig, such as OpenID Connect, as the official client knows them. */
import { Effect, Redacted } from "effect"
import type { AuthProvider } from "../Connection.ts"
import type { RequestOptions } from "node:https"
import { CredentialsUnavailable } from "./credentialsUnavailable.ts"

/** The Authorization header that the provider gives now, refreshed by itself where it has expired. */
export const authorization = (
  provider: AuthProvider,
  server: string
): Effect.Effect<Redacted.Redacted | undefined, CredentialsUnavailable> =>
  Effect.tryPromise({
    try: async () => {
      const { KubeConfig } = await import("@kubernetes/client-node")
      const config = new KubeConfig()
      const authProvider = { name: provider.name, config: { ...Redacted.value(provider.config) } }
      config.loadFromClusterAndUser({ name: "cluster", server, skipTLSVerify: true }, { name: "user", authProvider })
      const options: RequestOptions = {}
      await config.applyToHTTPSOptions(options)
      const headers = options.headers
      const header = headers === undefined || "at" in headers ? undefined : headers["Authorization"]
      return typeof header === "string" ? Redacted.make(header) : undefined
    },
    catch: () =>
      new CredentialsUnavailable({ source: `auth-provider ${provider.name}`, problem: "the provider gave none" })
  })
