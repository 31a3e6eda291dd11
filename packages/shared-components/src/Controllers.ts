/**
 * All controllers of shared components, and what they share.
 *
 * @since 0.1.0
 */
import * as Access from "@berth/kube/Access"
import type { Caches } from "@berth/kube/Caches"
import type { Client } from "@berth/kube/Client"
import type * as Controller from "@berth/kube/Controller"
import type { CdDriver } from "@berth/provisioners/CdDriver"
import type { RemoteClusters } from "@berth/provisioners/RemoteCluster"
import { Effect, Layer } from "effect"
import * as EnvironmentExpiry from "./EnvironmentExpiry.ts"
import * as Environments from "./Environments.ts"
import * as EnvironmentTemplates from "./EnvironmentTemplates.ts"
import * as declared from "./internal/access.ts"
import * as LedgerAudits from "./LedgerAudits.ts"
import { ProvisionLeases } from "./ProvisionLease.ts"
import { definitions, Records } from "./Records.ts"
import type { Settings } from "./Settings.ts"
import * as SharedComponentProviders from "./SharedComponentProviders.ts"
import * as SharedComponents from "./SharedComponents.ts"
import * as Slices from "./Slices.ts"
import * as StallLabels from "./StallLabels.ts"

/**
 * What the controllers need when they run.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Caches | CdDriver | Client | ProvisionLeases | Records | RemoteClusters | Settings

/**
 * The controllers, in no order that matters.
 *
 * @category constructors
 * @since 0.1.0
 */
export const all: Effect.Effect<ReadonlyArray<Controller.Controller<Services>>, never, Records> = Effect.gen(
  function* () {
    const single = yield* Effect.all([
      SharedComponentProviders.make,
      SharedComponents.make,
      EnvironmentTemplates.make,
      Slices.make,
      Environments.make,
      EnvironmentExpiry.make,
      LedgerAudits.make
    ])
    return [...single, ...(yield* StallLabels.make)]
  }
)

/**
 * What they share: one for the program.
 *
 * **Example** (A program of these controllers)
 * ```ts
 * import * as Caches from "@berth/kube/Caches"
 * import type { Client } from "@berth/kube/Client"
 * import * as Operator from "@berth/kube/Operator"
 * import type { CdDriver } from "@berth/provisioners/CdDriver"
 * import type { RemoteClusters } from "@berth/provisioners/RemoteCluster"
 * import * as Controllers from "@berth/shared-components/Controllers"
 * import { Settings } from "@berth/shared-components/Settings"
 * import { Effect, Layer } from "effect"
 *
 * const settings = Layer.succeed(Settings, {
 *   managementNamespace: "berth-system",
 *   sharedNamespace: "berth-shared",
 *   deployment: "berth",
 *   instance: "berth-0"
 * })
 *
 * export const program = (client: Layer.Layer<Client>, places: Layer.Layer<CdDriver | RemoteClusters>) =>
 *   Effect.flatMap(Controllers.all, (controllers) => Operator.run(controllers)).pipe(
 *     Effect.provide(Controllers.layer.pipe(Layer.provideMerge(Layer.merge(settings, places)))),
 *     Effect.provide(Caches.observedClient.pipe(Layer.provideMerge(Caches.layer), Layer.provide(client)))
 *   )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<ProvisionLeases | Records, never, Caches | Settings> = Layer.mergeAll(
  Records.layer,
  ProvisionLeases.layer()
)

/**
 * What they ask of the API server, the caches included.
 *
 * @category access
 * @since 0.1.0
 */
export const access = (
  places: Pick<Settings["Service"], "deployerRole" | "managementNamespace" | "sharedNamespace">
): ReadonlyArray<Access.Access> => [
  ...Object.values(definitions(places)).flatMap((definition) => Access.ofCache(definition)),
  ...declared.all(places)
]
