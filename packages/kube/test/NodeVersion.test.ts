import { readFileSync } from "node:fs"
import { assert, describe, it, vi } from "@effect/vitest"
import { Schema } from "effect"
import * as NodeVersion from "../src/NodeVersion.ts"

const Engines = Schema.fromJsonString(Schema.Struct({ engines: Schema.Struct({ node: Schema.String }) }))

const asked = (version: string) => {
  const said = vi.spyOn(process.stderr, "write").mockReturnValue(true)
  try {
    const isEnough = NodeVersion.isEnough("shop", version)
    return { isEnough, said: said.mock.calls.map(([text]) => text), code: process.exitCode }
  } finally {
    said.mockRestore()
    process.exitCode = undefined
  }
}

describe("NodeVersion", () => {
  it.each(["22.19.0", "22.20.1", "24.0.0", "100.1.2"])("Node %s will do", (version) => {
    assert.deepStrictEqual(asked(version), { isEnough: true, said: [], code: undefined })
  })

  it.each(["20.20.2", "22.18.9", "9.11.2"])("of Node %s it says in a line that it is too old", (version) => {
    assert.deepStrictEqual(asked(version), {
      isEnough: false,
      said: [`shop: this is Node ${version}, and Node 22.19 or newer is needed\n`],
      code: 2
    })
  })

  it.each(["kube", "operator", "db-provider"])("the oldest is that of the engines of %s", (name) => {
    const text = readFileSync(new URL(`../../${name}/package.json`, import.meta.url), "utf8")

    assert.strictEqual(Schema.decodeUnknownSync(Engines)(text).engines.node, `>=${NodeVersion.oldest}`)
  })
})
