/**
 * Which field of a protobuf message is which field of the object.
 */

/** @internal */
export interface Field {
  readonly name: string
  /** `text`, `bytes`, `bool`, `int`, `time`, or the name of a message. */
  readonly type: string
  readonly repeated: "no" | "list" | "map"
}

/** @internal */
export type Message = Readonly<Record<number, Field>>

/** `name`, `name: type`, `name: [type]` or `name: {type}`, under its number. */
const message = (fields: Readonly<Record<number, string>>): Message =>
  Object.fromEntries(
    Object.entries(fields).map(([number, written]) => {
      const [name = "", type = "text"] = written.split(": ")
      const repeated = type.startsWith("[") ? "list" : type.startsWith("{") ? "map" : "no"
      return [number, { name, type: type.replaceAll(/[[\]{}]/gu, ""), repeated }]
    })
  )

const roleLike = message({ 1: "metadata: ObjectMeta", 2: "rules: [PolicyRule]" })
const bindingLike = message({ 1: "metadata: ObjectMeta", 2: "subjects: [Subject]", 3: "roleRef: RoleRef" })

/** @internal */
export const messages: Readonly<Record<string, Message>> = {
  ObjectMeta: message({
    1: "name",
    2: "generateName",
    3: "namespace",
    5: "uid",
    6: "resourceVersion",
    8: "creationTimestamp: time",
    11: "labels: {text}",
    12: "annotations: {text}",
    13: "ownerReferences: [OwnerReference]",
    14: "finalizers: [text]"
  }),
  OwnerReference: message({
    1: "kind",
    3: "name",
    4: "uid",
    5: "apiVersion",
    6: "controller: bool",
    7: "blockOwnerDeletion: bool"
  }),
  DeleteOptions: message({
    1: "gracePeriodSeconds: int",
    2: "preconditions: Preconditions",
    3: "orphanDependents: bool",
    4: "propagationPolicy",
    5: "dryRun: [text]",
    6: "ignoreStoreReadErrorWithClusterBreakingPotential: bool"
  }),
  Preconditions: message({ 1: "uid", 2: "resourceVersion" }),
  Namespace: message({ 1: "metadata: ObjectMeta" }),
  ConfigMap: message({ 1: "metadata: ObjectMeta", 2: "data: {text}", 3: "binaryData: {bytes}", 4: "immutable: bool" }),
  Secret: message({
    1: "metadata: ObjectMeta",
    2: "data: {bytes}",
    3: "type",
    4: "stringData: {text}",
    5: "immutable: bool"
  }),
  ServiceAccount: message({ 1: "metadata: ObjectMeta", 4: "automountServiceAccountToken: bool" }),
  PolicyRule: message({
    1: "verbs: [text]",
    2: "apiGroups: [text]",
    3: "resources: [text]",
    4: "resourceNames: [text]",
    5: "nonResourceURLs: [text]"
  }),
  Subject: message({ 1: "kind", 2: "apiGroup", 3: "name", 4: "namespace" }),
  RoleRef: message({ 1: "apiGroup", 2: "kind", 3: "name" }),
  Role: roleLike,
  ClusterRole: roleLike,
  RoleBinding: bindingLike,
  ClusterRoleBinding: bindingLike,
  TokenRequest: message({ 1: "metadata: ObjectMeta", 2: "spec: TokenRequestSpec" }),
  TokenRequestSpec: message({ 1: "audiences: [text]", 4: "expirationSeconds: int" }),
  SelfSubjectReview: message({}),
  SelfSubjectAccessReview: message({ 2: "spec: SelfSubjectAccessReviewSpec" }),
  SelfSubjectAccessReviewSpec: message({
    1: "resourceAttributes: ResourceAttributes",
    2: "nonResourceAttributes: NonResourceAttributes"
  }),
  ResourceAttributes: message({
    1: "namespace",
    2: "verb",
    3: "group",
    4: "version",
    5: "resource",
    6: "subresource",
    7: "name"
  }),
  NonResourceAttributes: message({ 1: "path", 2: "verb" }),
  SelfSubjectRulesReview: message({ 2: "spec: SelfSubjectRulesReviewSpec" }),
  SelfSubjectRulesReviewSpec: message({ 1: "namespace" })
}
