/**
 * The built-in kinds: their schemas, defaults and validation. A kind is named `Kind.group`, or `Kind` in the core group.
 *
 * **Caveats**
 * - Kinds that are not named here have metadata that is validated, and nothing else.
 *
 * @since 0.1.0
 */
import type { Cause } from "./causes.ts"
import { checkCrd } from "./crdCheck.ts"
import { validateConfigMap, validateSecret } from "./dataValidation.ts"
import { isObject, type JsonObject, objectOf } from "./json.ts"
import { type MetadataRules, validateMetadata } from "./metadataValidation.ts"
import { validateNamespaceName, validatePathSegment, validateSubdomain } from "./names.ts"
import {
  validateBudget,
  validateClaim,
  validateClusterRoleBinding,
  validateLease,
  validateRole,
  validateRoleBinding,
  validateService
} from "./otherValidation.ts"
import { validatePodSpec } from "./podValidation.ts"
import {
  validateCronJob,
  validateDaemonSet,
  validateDeployment,
  validateJob,
  validateReplicaSet,
  validateStatefulSet
} from "./workloadValidation.ts"

export { blankBuiltin } from "./builtinBlanks.ts"
export { decodeBuiltin } from "./builtinDefaults.ts"
export { defaultBuiltin, prepareBuiltin } from "./builtinPrepare.ts"
export { builtinSchema } from "./builtinSchemas.ts"

interface Rules {
  readonly check?: (object: JsonObject, old: JsonObject | undefined) => ReadonlyArray<Cause>
  readonly name?: (name: string) => ReadonlyArray<string>
}

const RBAC = "rbac.authorization.k8s.io"

const RULES: { readonly [kind: string]: Rules } = {
  ConfigMap: { check: validateConfigMap },
  Secret: { check: validateSecret },
  Namespace: { name: validateNamespaceName },
  Service: { check: validateService, name: validateNamespaceName },
  Pod: { check: (object) => validatePodSpec(objectOf(object["spec"]), "spec") },
  PersistentVolumeClaim: { check: validateClaim },
  "Deployment.apps": { check: validateDeployment },
  "ReplicaSet.apps": { check: validateReplicaSet },
  "StatefulSet.apps": { check: validateStatefulSet },
  "DaemonSet.apps": { check: validateDaemonSet },
  "Job.batch": { check: validateJob },
  "CronJob.batch": { check: validateCronJob },
  "Lease.coordination.k8s.io": { check: validateLease },
  [`Role.${RBAC}`]: { check: validateRole, name: validatePathSegment },
  [`ClusterRole.${RBAC}`]: { check: validateRole, name: validatePathSegment },
  [`RoleBinding.${RBAC}`]: { check: validateRoleBinding, name: validatePathSegment },
  [`ClusterRoleBinding.${RBAC}`]: { check: validateClusterRoleBinding, name: validatePathSegment },
  "PodDisruptionBudget.policy": { check: validateBudget },
  "CustomResourceDefinition.apiextensions.k8s.io": { check: checkCrd }
}

const ADMISSION = "admissionregistration.k8s.io"

/** Built-in kinds that take any finalizer, as custom kinds do: their metadata is not checked by the rules of the core group. */
const ANY_FINALIZER = new Set([
  "Event",
  "PodDisruptionBudget.policy",
  "Lease.coordination.k8s.io",
  "CustomResourceDefinition.apiextensions.k8s.io",
  `MutatingWebhookConfiguration.${ADMISSION}`,
  `ValidatingAdmissionPolicy.${ADMISSION}`,
  `ValidatingAdmissionPolicyBinding.${ADMISSION}`,
  `ValidatingWebhookConfiguration.${ADMISSION}`
])

const NOTHING: Rules = {}

const rulesOf = (kind: string): Rules => (Object.hasOwn(RULES, kind) ? (RULES[kind] ?? NOTHING) : NOTHING)

/** What the metadata of a built-in kind has to be like. */
export const metadataRules = (kind: string): MetadataRules => ({
  name: rulesOf(kind).name ?? validateSubdomain,
  standardFinalizers: !ANY_FINALIZER.has(kind)
})

/** What is wrong with an object, after its defaults; `old` is the stored object of an update. */
export const validateBuiltin = (kind: string, object: unknown, old?: unknown): ReadonlyArray<Cause> => {
  const checked = objectOf(object)
  const before = isObject(old) ? old : undefined
  return [...validateMetadata(checked, metadataRules(kind), before), ...(rulesOf(kind).check?.(checked, before) ?? [])]
}
