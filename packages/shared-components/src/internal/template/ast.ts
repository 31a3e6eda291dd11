/** The syntax tree of a template. */
import type { Numeral } from "./literals.ts"

interface At {
  readonly offset: number
}

export type Operand = At &
  (
    | { readonly type: "Dot" }
    | { readonly type: "Nil" }
    | { readonly type: "Bool"; readonly value: boolean }
    | { readonly type: "Number"; readonly number: Numeral }
    | { readonly type: "String"; readonly value: string }
    | { readonly type: "Field"; readonly path: ReadonlyArray<string> }
    | { readonly type: "Variable"; readonly name: string; readonly path: ReadonlyArray<string> }
    | { readonly type: "Function"; readonly name: string }
    | { readonly type: "Chain"; readonly operand: Operand; readonly path: ReadonlyArray<string> }
    | { readonly type: "Pipe"; readonly pipe: Pipe }
  )

/** A function or value with its arguments. */
export interface Command extends At {
  readonly first: Operand
  readonly rest: ReadonlyArray<Operand>
}

export interface Pipe extends At {
  /** Variables that take the value, each with its `$`; of two the first takes a range's index. */
  readonly variables: ReadonlyArray<string>
  /** `=` in place of `:=`. */
  readonly assigns: boolean
  readonly commands: ReadonlyArray<Command>
}

export interface Branch extends At {
  readonly type: "If" | "With" | "Range"
  readonly pipe: Pipe
  readonly body: ReadonlyArray<Node>
  readonly otherwise: ReadonlyArray<Node> | undefined
}

export type Node =
  | Branch
  | (At &
      (
        | { readonly type: "Text"; readonly text: string }
        | { readonly type: "Action"; readonly pipe: Pipe }
        | { readonly type: "Break" }
        | { readonly type: "Continue" }
      ))
