/**
 * A whole API server: its state, the controllers inside it and its HTTP side.
 */
import { randomBytes } from "node:crypto"
import type { Server } from "node:http"
import type { Api, Time } from "./api.ts"
import { builtinKinds } from "./builtinKinds.ts"
import type { Certificate } from "../../Certificate.ts"
import { Controllers } from "./controllers.ts"
import { addFirstRoles } from "./firstRoles.ts"
import { httpServer } from "./httpServer.ts"
import { addNamespace, firstNamespaces } from "./namespaces.ts"
import { Registry } from "./registry.ts"
import type { User } from "./request.ts"
import { Store } from "./store.ts"

/** @internal */
export interface ServerOptions {
  readonly time: Time
  readonly historyMax: number
  readonly rbac: boolean
  readonly users: Iterable<readonly [string, User]>
  readonly certificate: Certificate | undefined
}

/** @internal */
export interface ApiServer {
  readonly api: Api
  readonly http: Server
}

/** @internal */
export const makeServer = (options: ServerOptions): ApiServer => {
  const api: Api = {
    store: new Store(options.historyMax),
    registry: new Registry(builtinKinds),
    time: options.time,
    rbac: options.rbac,
    users: new Map(options.users),
    tokenKey: randomBytes(32),
    caCertificate: options.certificate?.cert ?? "",
    logSources: new Set()
  }
  const controllers = new Controllers(api)
  for (const name of firstNamespaces) addNamespace(api, name)
  addFirstRoles(api)
  controllers.settle()
  return { api, http: httpServer(api, controllers, options.certificate) }
}
