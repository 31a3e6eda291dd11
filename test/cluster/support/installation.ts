/** A program that helm has installed, run as a process of this machine: a control plane without nodes runs no Deployment. */
import { fileURLToPath } from "node:url"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import { Effect, Schedule, Schema } from "effect"
import * as berth from "../../../packages/operator/test/support/berth.ts"
import * as Accounts from "./accounts.ts"

const Container = Schema.Struct({
  args: Schema.Array(Schema.String),
  env: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      value: Schema.optionalKey(Schema.String),
      valueFrom: Schema.optionalKey(Schema.Struct({ fieldRef: Schema.Struct({ fieldPath: Schema.String }) }))
    })
  )
})
const Template = Schema.Struct({ serviceAccountName: Schema.String, containers: Schema.Tuple([Container]) })

/** What the Deployment would run: its arguments and variables as a Pod of this name has them, and its account. */
const programOf = Effect.fnUntraced(function* (deployment: Accounts.Account, pod: string) {
  const { spec } = yield* Client.use((client) => client.get(Builtin.Deployment, deployment))
  const template = yield* Schema.decodeUnknownEffect(Template)(spec?.template.spec)
  const [{ args, env }] = template.containers
  const fields: Readonly<Record<string, string>> = {
    "metadata.name": pod,
    "metadata.namespace": deployment.namespace
  }
  const variables = env.map(({ name, value, valueFrom }) => [
    name,
    value ?? fields[valueFrom?.fieldRef.fieldPath ?? ""] ?? ""
  ])
  const account = { name: template.serviceAccountName, namespace: deployment.namespace }
  return { account, args, variables: Object.fromEntries(variables) }
})

/** The database provider's command, from the sources. */
export const provider: typeof berth.sources = [
  process.execPath,
  "--conditions=@berth/source",
  fileURLToPath(new URL("../../../packages/db-provider/src/main.ts", import.meta.url))
]

/** What is run in place of the image, with what it is told besides. */
export interface Program {
  readonly command?: typeof berth.sources
  readonly args?: ReadonlyArray<string>
  /** Goes over the variables of the Deployment. */
  readonly env?: Readonly<Record<string, string>>
}

/** Runs it with the credentials of its ServiceAccount, and waits until it serves health. Default: the operator. */
export const start = Effect.fnUntraced(function* (
  deployment: Accounts.Account,
  { args: more = [], command = berth.sources, env = {} }: Program = {}
) {
  const { account, args, variables } = yield* programOf(deployment, `${deployment.name}-0`)
  const place = ["--kubeconfig", yield* Accounts.kubeconfig(account), "--listen", "127.0.0.1:0"]
  const operator = yield* berth.start([...args, ...place, ...more], { command, env: { ...variables, ...env } })
  const [, address = ""] = yield* operator.says(/health and metrics are on ([^\s"]+)/u)
  const read = (path: string) =>
    Effect.promise(async () => {
      const response = await fetch(`http://${address}${path}`)
      return { isOk: response.ok, text: await response.text() }
    })
  /** The first answer of the ready check that is as awaited. */
  const ready = (holds: (answer: { readonly isOk: boolean; readonly text: string }) => boolean) =>
    Effect.repeat(read("/readyz"), { until: holds, schedule: Schedule.spaced("50 millis") })
  return { ...operator, read, ready }
})
