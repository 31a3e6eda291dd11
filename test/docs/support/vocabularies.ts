/** A guide that has a table for each vocabulary: every reason as it is declared, and what a person does about it. */
import * as Disposition from "@berth/provisioners/Disposition"
import { assert } from "@effect/vitest"
import * as Markdown from "../../support/markdown.ts"

/** The table stands under a heading that ends in the vocabulary's name. */
export const isDocumented = (
  guide: string,
  name: string,
  vocabulary: Parameters<typeof Disposition.describe>[0]
): void => {
  const [, ...documented] = Markdown.rows(guide, new RegExp(`\\(\`${name}\`\\)$`, "u"))
  assert.deepStrictEqual(
    documented.map((cells) => cells.slice(0, 3)),
    Disposition.describe(vocabulary).map(({ disposition, reason, template }) => [
      `\`${reason}\``,
      disposition,
      template
    ])
  )
  for (const [reason = "", , , advice = ""] of documented) assert.notStrictEqual(advice, "", reason)
}
