/**
 * Writes docs/reference/db-provider-openapi.json: the API of the database provider, as it serves it at `/openapi.json`.
 * `node --conditions=@berth/source scripts/openapi.ts`, whenever its definition has changed: a test compares the file with the code.
 */
import { writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Effect } from "effect"
import { openApi } from "@berth/db-provider/Api"

const path = join(resolve(import.meta.dirname, ".."), "docs/reference/db-provider-openapi.json")

writeFileSync(path, `${JSON.stringify(Effect.runSync(openApi), null, 2)}\n`)
