/**
 * The CustomResourceDefinitions of the provider's kinds, made from what it decodes with.
 *
 * @since 0.1.0
 */
import * as Kind from "@berth/kube/Kind"
import { stringify } from "yaml"
import { Consumer } from "./Consumer.ts"
import { Database } from "./Database.ts"
import { Shard } from "./Shard.ts"

/**
 * The definitions, in order of their names.
 *
 * @category constants
 * @since 0.1.0
 */
export const all = [Consumer, Database, Shard].map(Kind.crd)

// What occurs twice is written twice: not every reader of YAML follows anchors.
const format = { aliasDuplicateObjects: false }

/**
 * The definitions as one YAML stream, ready for `kubectl apply --server-side -f -`.
 *
 * @category conversions
 * @since 0.1.0
 */
export const yaml = (): string => all.map((crd) => `---\n${stringify(crd, format)}`).join("")
