/**
 * What every part of the server works on.
 */
import type { Registry } from "./registry.ts"
import type { Store } from "./store.ts"
import type { User } from "./request.ts"

/** Time as the test has it. @internal */
export interface Time {
  readonly nowMs: () => number
  /** Runs once after a while, unless the returned function is called before. */
  readonly after: (ms: number, run: () => void) => () => void
}

/** What `kubectl logs` asks for. */
export interface LogQuery {
  /** Absent: the only container. */
  readonly container: string | undefined
  /** Whether to go on with what is still to be written. */
  readonly follow: boolean
  /** Whether the log before the last restart is wanted. */
  readonly previous: boolean
  readonly timestamps: boolean
  readonly tailLines: number | undefined
  readonly limitBytes: number | undefined
  readonly sinceSeconds: number | undefined
}

/** Writes a Pod's log piece by piece; returns how to stop it. @internal */
export type LogSource = (
  namespace: string,
  pod: string,
  query: LogQuery,
  sink: { readonly write: (text: string) => void; readonly end: () => void }
) => (() => void) | undefined

/** @internal */
export interface Api {
  readonly store: Store
  readonly registry: Registry
  readonly time: Time
  readonly rbac: boolean
  /** Bearer tokens of users that the test made up. */
  readonly users: Map<string, User>
  /** Signs the tokens of service accounts. */
  readonly tokenKey: Buffer
  readonly caCertificate: string
  readonly logSources: Set<LogSource>
}
