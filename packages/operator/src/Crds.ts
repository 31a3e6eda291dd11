/**
 * The CustomResourceDefinitions of everything that the operator serves, made from the kinds that it decodes with.
 *
 * @since 0.1.0
 */
import * as Kind from "@berth/kube/Kind"
import { Environment } from "@berth/shared-components/Environment"
import { EnvironmentTemplate } from "@berth/shared-components/EnvironmentTemplate"
import { SharedComponent } from "@berth/shared-components/SharedComponent"
import { SharedComponentProvider } from "@berth/shared-components/SharedComponentProvider"
import { Slice } from "@berth/shared-components/Slice"
import { stringify } from "yaml"

/**
 * The definitions, in order of their names.
 *
 * @category constants
 * @since 0.1.0
 */
export const all = [Environment, EnvironmentTemplate, SharedComponentProvider, SharedComponent, Slice].map(Kind.crd)

// What occurs twice is written twice: not every reader of YAML follows anchors.
const format = { aliasDuplicateObjects: false }

/**
 * The definitions as one YAML stream, ready for `kubectl apply --server-side -f -`.
 *
 * **Example** (Print them)
 * ```ts
 * import * as Crds from "@berth/operator/Crds"
 * import { Console } from "effect"
 *
 * export const print = Console.log(Crds.yaml())
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const yaml = (): string => all.map((crd) => `---\n${stringify(crd, format)}`).join("")
