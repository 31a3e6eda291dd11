/** Reads what `record.ts` recorded. */
import * as fs from "node:fs"

export const golden = (name: string): unknown =>
  JSON.parse(fs.readFileSync(new URL(`./testdata/${name}.json`, import.meta.url), "utf8"))
