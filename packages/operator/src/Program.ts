/**
 * The operator as a program: the controllers of shared components, and what `@berth/kube` puts around them.
 *
 * **Guarantees**
 * - K19, K21, K22, K29, K30: those of `Program` in `@berth/kube`.
 *
 * @since 0.1.0
 */
import * as Program from "@berth/kube/Program"
import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
import * as Controllers from "@berth/shared-components/Controllers"
import { Settings } from "@berth/shared-components/Settings"
import { Effect, Layer } from "effect"
import * as CdDrivers from "./CdDrivers.ts"
import type { Configuration } from "./Configuration.ts"
import * as DatabaseProviderBackend from "./DatabaseProviderBackend.ts"
import { version } from "./internal/version.ts"

/**
 * Runs the operator until it is interrupted, or has lost leadership.
 *
 * **Errors**: those of `Program.run`.
 *
 * @category running
 * @since 0.1.0
 */
export const run = (configuration: Configuration): Effect.Effect<void, Program.ProgramError> => {
  const { deployerRole, deployment, instance, managementNamespace, sharedNamespace } = configuration
  const settings = Layer.succeed(Settings, { managementNamespace, sharedNamespace, deployment, instance, deployerRole })
  const program = Program.layer({
    name: "berth-operator",
    version,
    reporter: "berth.dev/operator",
    namespace: managementNamespace,
    namespaceFlag: "--management-namespace",
    settings: configuration
  })
  const leader = Effect.flatMap(Controllers.all, Program.controllers).pipe(
    Effect.provide(
      Layer.mergeAll(
        Layer.provideMerge(Controllers.layer, settings),
        DatabaseProviderBackend.layer,
        CdDrivers.layer(configuration),
        RemoteCluster.layer({ namespace: managementNamespace })
      )
    )
  )
  return Program.run({ leader }).pipe(Effect.provide(program))
}
