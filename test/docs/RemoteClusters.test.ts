/** The guide to remote clusters lists the reasons as they are. */
import * as Disposition from "@berth/provisioners/Disposition"
import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
import { assert, describe, it } from "@effect/vitest"
import * as Markdown from "../support/markdown.ts"

const guide = "docs/guides/remote-clusters.md"

describe(guide, () => {
  it("P26: lists every reason of a cluster that cannot be used, and what to do", () => {
    const [, ...documented] = Markdown.rows(guide, /\(`remote_cluster`\)$/u)

    assert.deepStrictEqual(
      documented.map((cells) => cells.slice(0, 3)),
      Disposition.describe(RemoteCluster.Reasons).map(({ disposition, reason, template }) => [
        `\`${reason}\``,
        disposition,
        template
      ])
    )
    for (const [reason = "", , , advice = ""] of documented) assert.notStrictEqual(advice, "", reason)
  })

  it("P28: names the annotation, the labels and the Event as they are", () => {
    const text = Markdown.read(guide)

    for (const name of [RemoteCluster.abandonAnnotation, "berth.dev/abandoned-cluster", "ClusterAbandoned"]) {
      assert.include(text, name)
    }
  })
})
