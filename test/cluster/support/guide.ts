/** Follows guides as their reader would: manifests by `kubectl apply`, commands in a shell, all in one folder. */
import { cpSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Cluster from "@berth/testing/Cluster"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as berth from "../../../packages/operator/test/support/berth.ts"
import type * as Markdown from "../../support/markdown.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))

export interface Options {
  /** Folders of programs. */
  readonly path: ReadonlyArray<string>
  /** Commands that are programs of this repository, by their names: what runs them. */
  readonly commands: Readonly<Record<string, ReadonlyArray<string>>>
  readonly env: Readonly<Record<string, string>>
}

/** Returns the folder, and what runs blocks there. */
export const reader = Effect.fnUntraced(function* ({ commands, env, path }: Options) {
  const { kubeconfigFile } = yield* Cluster.Cluster
  const folder = yield* LocalProcess.temporaryFolder("berth-guide")
  const bin = join(folder, ".bin")
  yield* Effect.sync(() => {
    cpSync(join(root, "charts"), join(folder, "charts"), { recursive: true })
    mkdirSync(bin)
  })
  for (const [name, command] of Object.entries(commands)) {
    const words = command.map((word) => `'${word}'`).join(" ")
    writeFileSync(join(bin, name), `#!/usr/bin/env bash\nexec ${words} "$@"\n`, { mode: 0o755 })
  }
  const variables = {
    ...env,
    PATH: [bin, ...path, process.env["PATH"] ?? ""].join(":"),
    HOME: folder,
    KUBECONFIG: yield* kubeconfigFile
  }
  const follow = Effect.fnUntraced(function* ({ at, language, text }: Markdown.Block, more: Options["env"] = {}) {
    const script = language === "yaml" ? "kubectl apply --server-side -f -" : text
    const ended = yield* berth.run(["--norc", "-euo", "pipefail", "-c", `cd '${folder}'\n${script}`], {
      command: ["bash"],
      env: { ...variables, ...more },
      stdin: language === "yaml" ? text : ""
    })
    assert.strictEqual(ended.code, 0, `${at}: ${ended.stdout}${ended.stderr}`)
    return ended.stdout
  })
  return { folder, follow }
})
