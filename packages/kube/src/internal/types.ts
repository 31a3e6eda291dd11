/** The one place that names the package of built-in types, whose paths hold the API groups. */
export type * as apps from "kubernetes-types/apps/v1.js"
export type * as batch from "kubernetes-types/batch/v1.js"
export type * as coordination from "kubernetes-types/coordination/v1.js"
export type * as core from "kubernetes-types/core/v1.js"
export type * as meta from "kubernetes-types/meta/v1.js"
export type * as rbac from "kubernetes-types/rbac/v1.js"
