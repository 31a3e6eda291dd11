/**
 * The provider as a program: the API on every replica, the controllers on the leader, and what `@berth/kube` puts around them.
 *
 * **Guarantees**
 * - D20: the API serves whether or not this process leads, and whatever the shards do; neither is looked at for readiness. When the
 *   process is to end it is not ready any more, goes on serving for `drain`, and then finishes what it has.
 * - K19, K21, K22, K29, K30: those of `Program` in `@berth/kube`.
 *
 * @since 0.1.0
 */
import * as Program from "@berth/kube/Program"
import { Effect, Layer } from "effect"
import * as ApiServer from "./ApiServer.ts"
import * as Audit from "./Audit.ts"
import * as AuditSink from "./AuditSink.ts"
import type { CertificateInvalid } from "./Certificates.ts"
import type { Configuration } from "./Configuration.ts"
import { Connector } from "./Connector.ts"
import * as Controllers from "./Controllers.ts"
import { version } from "./internal/version.ts"
import { Records } from "./Records.ts"
import { Settings } from "./Settings.ts"
import { ShardServers } from "./ShardServers.ts"
import * as StateMetrics from "./StateMetrics.ts"

/**
 * Why the provider ends by itself.
 *
 * @category errors
 * @since 0.1.0
 */
export type ProviderError = ApiServer.ListenFailed | AuditSink.SinkFailed | CertificateInvalid | Program.ProgramError

/**
 * Runs the provider until it is interrupted, or has lost leadership.
 *
 * **Errors**: those of `Program.run`, `Program.layer` and `ApiServer.serve`; SinkFailed where audit events cannot be written.
 *
 * @category running
 * @since 0.1.0
 */
export const run = (configuration: Configuration): Effect.Effect<void, ProviderError> => {
  const { instance, namespace } = configuration
  const program = Program.layer({
    name: "berth-db-provider",
    version,
    reporter: "berth.dev/db-provider",
    namespace,
    namespaceFlag: "--namespace",
    settings: configuration
  })
  const settings = Layer.succeed(Settings, { releaseNamespace: namespace, instance })
  const shared = Layer.mergeAll(Records.layer, audit(configuration)).pipe(Layer.provideMerge(settings))
  const leader = Effect.flatMap(Controllers.all, Program.controllers).pipe(
    Effect.provide(Layer.provide(ShardServers.layer, Connector.layer()))
  )
  const everywhere = Layer.merge(StateMetrics.layer, api(configuration))
  return Program.run({ leader, everywhere }).pipe(Effect.provide(shared), Effect.provide(program))
}

const audit = ({ auditFile, instance }: Configuration) =>
  Layer.unwrap(
    Effect.map(auditFile === undefined ? Effect.succeed(AuditSink.stdout) : AuditSink.file(auditFile), (sink) =>
      Audit.layer({ instance, sink })
    )
  )

const api = ({ apiListen, drain, grace, tlsCertificate, tlsKey }: Configuration) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const files = { certificateFile: tlsCertificate, keyFile: tlsKey }
      const port = yield* ApiServer.serve({ ...apiListen, ...files, drain, grace })
      yield* Effect.logInfo(`the API is on ${apiListen.host}:${port}`)
    })
  )
