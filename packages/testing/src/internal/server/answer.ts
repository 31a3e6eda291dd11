/**
 * What a request is answered with.
 */
import type { Fields } from "./json.ts"
import type { Watch } from "./watching.ts"

/** @internal */
export type Answer =
  | {
      readonly _tag: "Json"
      readonly status: number
      readonly body: string
      readonly contentType: string
      readonly warnings: ReadonlyArray<string>
    }
  | { readonly _tag: "Text"; readonly status: number; readonly body: string }
  | { readonly _tag: "Watch"; readonly watch: Watch; readonly warnings: ReadonlyArray<string> }
  /** A text that comes piece by piece. */
  | { readonly _tag: "Flow"; readonly start: (sink: FlowSink) => (() => void) | undefined }

/** @internal */
export interface FlowSink {
  readonly write: (text: string) => void
  readonly end: () => void
}

/** @internal */
export const json = (
  object: Fields,
  options?: { readonly status?: number; readonly warnings?: ReadonlyArray<string>; readonly contentType?: string }
): Answer => ({
  _tag: "Json",
  status: options?.status ?? 200,
  body: JSON.stringify(object),
  contentType: options?.contentType ?? "application/json",
  warnings: options?.warnings ?? []
})

/** @internal */
export const text = (body: string, status = 200): Answer => ({ _tag: "Text", status, body })
