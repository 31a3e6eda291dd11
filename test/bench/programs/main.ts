/**
 * Starts the program as small and as quickly as Node allows: out of Node's compile cache, so that code which was compiled once is not
 * compiled at the next start; and without the optimizing compiler for WebAssembly, of which there is nothing but undici's parser of
 * HTTP, and which takes 13 MB for it.
 */
import { enableCompileCache } from "node:module"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"

setFlagsFromString("--no-wasm-tier-up")
setFlagsFromString("--no-wasm-dynamic-tiering")
enableCompileCache(join(import.meta.dirname, "compiled"))
await import("./operator.ts")
