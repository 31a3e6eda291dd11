/** Replicas of the database provider, as processes: one leads, the others only serve the API. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Certificate from "@berth/testing/Certificate"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Effect } from "effect"
import * as Caller from "./caller.ts"
import { bundle } from "./bundle.ts"
import { launch } from "./launch.ts"
import { imageEnv } from "./peers.ts"
import * as Prometheus from "./prometheus.ts"
import * as Tenancy from "./tenancy.ts"

const entry = join(import.meta.dirname, "..", "..", "..", "packages", "db-provider", "src", "main.ts")

/** The program, and what its replicas share. */
export const prepare = Effect.fnUntraced(function* (kubeconfigFile: string) {
  const folder = yield* LocalProcess.temporaryFolder("berth-bench-provider")
  const program = yield* Effect.promise(() => bundle(entry, join(folder, "program")))
  const [certificateFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")]
  const { cert, key } = Certificate.selfSigned()
  writeFileSync(certificateFile, cert)
  writeFileSync(keyFile, key, { mode: 0o600 })
  return { program, folder, kubeconfigFile, certificateFile, keyFile, cert }
})

export type Prepared = Effect.Success<ReturnType<typeof prepare>>

/** How often a replica that starts is asked whether it serves. */
const askAgain = "50 millis"

/** One replica, until the scope closes. The first one that is started leads. */
export const start = Effect.fnUntraced(function* (prepared: Prepared, instance: string, token: string) {
  const { cert, certificateFile, folder, keyFile, kubeconfigFile, program } = prepared
  const [apiPort = 0, port = 0] = yield* LocalProcess.freePorts(2)
  const launched = yield* launch(
    instance,
    process.execPath,
    [
      program,
      "run",
      `--namespace=${Tenancy.namespace}`,
      `--kubeconfig=${kubeconfigFile}`,
      `--instance=${instance}`,
      `--api-listen=127.0.0.1:${apiPort}`,
      `--listen=127.0.0.1:${port}`,
      `--tls-certificate=${certificateFile}`,
      `--tls-key=${keyFile}`,
      `--audit-file=${join(folder, `${instance}.audit`)}`,
      "--drain=0 seconds",
      // On a busy machine nobody has to hear that leadership is lost.
      "--leader-elect-lease-duration=2 minutes",
      "--leader-elect-renew-deadline=1 minute"
    ],
    imageEnv
  )
  const caller = yield* Caller.make({ port: apiPort, ca: cert, token })
  const serves = Effect.repeat(
    Effect.delay(
      Effect.orElseSucceed(caller.list({ limit: 1 }), () => undefined),
      askAgain
    ),
    { until: (answer) => answer !== undefined }
  )
  yield* Effect.raceFirst(serves, launched.ended)
  return { ...launched, apiPort, caller, metrics: Prometheus.read(port) }
})

export type Replica = Effect.Success<ReturnType<typeof start>>

/** Somebody with another token. */
export const caller = ({ cert }: Prepared, { apiPort }: Replica, token: string) =>
  Caller.make({ port: apiPort, ca: cert, token })
