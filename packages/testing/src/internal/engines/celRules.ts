import type { Cause } from "./causes.ts"
import type { Old } from "./correlate.ts"
import type { Schema } from "./schema.ts"

export interface CelRules {
  readonly validate: (object: unknown, old: Old) => ReadonlyArray<Cause>
}
export const celRules = (_schema: Schema): CelRules | undefined => undefined
