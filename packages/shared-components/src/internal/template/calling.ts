/** What a function may ask of the evaluation that calls it. */
export interface Calling {
  /** Gives up with a sentence that names no value. */
  readonly refuse: (problem: string) => never
  /** Counts work against the limit. */
  readonly spend: (size: number) => void
  /** Fails before something longer than a template may hold is made. */
  readonly fits: (length: number) => void
}
