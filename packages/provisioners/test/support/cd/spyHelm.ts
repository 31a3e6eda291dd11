/** A program that stands for helm where only how it is called counts. */
import { chmod, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Cluster from "@berth/testing/Cluster"
import { Effect, Redacted } from "effect"
import * as CdDriver from "../../../src/CdDriver.ts"
import * as HelmCli from "../../../src/HelmCli.ts"
import * as Identifier from "../../../src/Identifier.ts"
import { temporary } from "./fakeHelmTool.ts"

/** Of no use to the embedded API, which asks for none. */
export const token = "let-me-in"

/** `script` runs after the arguments, the folder's and the files' modes, and the values have been noted. */
export const spy = Effect.fnUntraced(function* (script: string) {
  const folder = yield* temporary("berth-spy-")
  const program = join(folder, "helm")
  const text = `#!/bin/sh
cd "$(dirname "$KUBECONFIG")"
printf '%s\\n' "$@" > ${folder}/arguments
stat -c '%a %n' . kubeconfig values.json > ${folder}/modes
cp values.json ${folder}/values; cp kubeconfig ${folder}/config; env > ${folder}/environment
pwd > ${folder}/place
${script}
`
  yield* Effect.promise(() => writeFile(program, text))
  yield* Effect.promise(() => chmod(program, 0o755))
  const { connection } = yield* Cluster.Cluster
  const read = (name: string) => Effect.promise(() => readFile(join(folder, name), "utf8").then((all) => all.trim()))
  return { layer: HelmCli.layer({ connection: { ...connection, token: Redacted.make(token) }, program }), read }
})

export const wanted = (values: CdDriver.Values, chart?: CdDriver.Chart): CdDriver.Wanted => ({
  id: Identifier.of("web-1234567890"),
  ownerUid: "2b7a3f0e-0000-4000-8000-000000000001",
  name: "web",
  namespace: "default",
  chart: chart ?? { source: "repository", url: "https://charts.example.com", name: "web", version: "1.2.3" },
  values,
  ignoredDifferences: [],
  digest: "0123456789abcdef0123456789abcdef01234567"
})

export const applied = (values: CdDriver.Values, chart?: CdDriver.Chart) =>
  CdDriver.CdDriver.use((driver) => driver.apply(wanted(values, chart)))
