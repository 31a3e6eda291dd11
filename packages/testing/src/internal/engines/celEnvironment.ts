/**
 * The CEL environments: one that checks a rule against the types of its schema, one that runs it on plain values.
 *
 * **Caveats**
 * - The library fixes some built-in functions; they are reached through others by rewriting their calls in the text.
 *
 * @since 0.1.0
 */
import { Environment, type Optional } from "@marcbachmann/cel-js"
import { type CelFunction, functions } from "./celFunctions.ts"
import { Cidr, functions as networkFunctions, Ip, NamedFormat } from "./celNetwork.ts"
import { Quantity } from "./celQuantity.ts"
import { isObject } from "./json.ts"

/** A part of an expression, as macros of the library see it. */
interface Node {
  readonly op: string
  readonly args: ReadonlyArray<never>
}

interface Checker {
  readonly check: (node: Node, context: unknown) => unknown
  readonly getType: (name: string) => unknown
  readonly createError: (code: string, message: string, node: Node) => Error
}

interface Evaluator {
  readonly run: (node: Node, context: unknown) => unknown
}

class Namespace {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

class Sets extends Namespace {}
class Ips extends Namespace {}
class Formats extends Namespace {}

/** `has(e.f)` for any `e`; the library's own takes only chains of names. */
const hasField = ({ args }: { readonly args: ReadonlyArray<Node> }) => {
  const [selection] = args
  const [target, name]: ReadonlyArray<never> = selection?.args ?? []
  return {
    typeCheck: (checker: Checker, _macro: unknown, context: unknown) => {
      if (selection === undefined || selection.op !== ".") {
        throw checker.createError(
          "invalid_macro_argument",
          "invalid argument to has() macro",
          selection ?? { op: "", args: [] }
        )
      }
      checker.check(selection, context)
      return checker.getType("bool")
    },
    evaluate: (evaluator: Evaluator, _macro: unknown, context: unknown) => {
      if (target === undefined || name === undefined) return false
      const object = evaluator.run(target, context)
      // A nullable member that is null counts as absent.
      return isObject(object) && object[name] !== undefined && object[name] !== null
    }
  }
}

const base = (lenient: boolean): Environment => {
  const environment = new Environment({
    enableOptionalTypes: true,
    unlistedVariablesAreDyn: lenient,
    homogeneousAggregateLiterals: !lenient
  })
    .registerType("kubernetes.Quantity", Quantity)
    .registerType("kubernetes.IP", Ip)
    .registerType("kubernetes.CIDR", Cidr)
    .registerType("kubernetes.URL", URL)
    .registerType("kubernetes.NamedFormat", NamedFormat)
    .registerType("kubernetes.Sets", Sets)
    .registerType("kubernetes.IPs", Ips)
    .registerType("kubernetes.Formats", Formats)
    .registerConstant("sets", "kubernetes.Sets", new Sets("sets"))
    .registerConstant("ip", "kubernetes.IPs", new Ips("ip"))
    .registerConstant("format", "kubernetes.Formats", new Formats("format"))
    .registerOperator(
      "kubernetes.Quantity == kubernetes.Quantity",
      (left: Quantity, right: Quantity) => left.nanos === right.nanos
    )
    .registerOperator("kubernetes.IP == kubernetes.IP", (left: Ip, right: Ip) => left.text === right.text)
    .registerOperator("kubernetes.CIDR == kubernetes.CIDR", (left: Cidr, right: Cidr) => left.text === right.text)
    .registerOperator("kubernetes.URL == kubernetes.URL", (left: URL, right: URL) => left.href === right.href)
    .registerFunction("hasField(ast): bool", hasField)
  for (const declared of [...functions, ...networkFunctions]) register(environment, declared, lenient)
  return environment
}

const register = (environment: Environment, { check, run, handler }: CelFunction, lenient: boolean): void => {
  for (const signature of lenient ? [run] : check) {
    environment.registerFunction(signature, (...args: ReadonlyArray<unknown>) =>
      handler(...(args as ReadonlyArray<never>))
    )
  }
}

/** The environment to check in; clone it before adding to it. */
export const checking = base(false)

/** The environment to run in. */
export const running = base(true).registerFunction("optional.present(): dyn", (optional: Optional) => optional.value())

const TEXTS = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/u.source
const CALLS = new RegExp(`(?:${TEXTS})|\\b([a-z]+)(?=\\s*\\()`, "gu")

const CHECKED: ReadonlyMap<string, string> = new Map([
  ["has", "hasField"],
  ["matches", "matchesRegex"]
])
/** The library takes what `value()` gives for a type of its own when it cannot know the type. */
const RUN: ReadonlyMap<string, string> = new Map([...CHECKED, ["value", "present"]])

const rename = (expression: string, names: ReadonlyMap<string, string>): string =>
  expression.replaceAll(CALLS, (match, name: string | undefined) =>
    name === undefined ? match : (names.get(name) ?? match)
  )

/** The expression to check, with calls of built-in functions replaced by this module's. */
export const rewriteToCheck = (expression: string): string => rename(expression, CHECKED)

/** The expression to run, with calls of built-in functions replaced by this module's. */
export const rewriteToRun = (expression: string): string => rename(expression, RUN)

/** A duration, or the text when it is none. */
export const toDuration = (text: string): unknown => {
  try {
    return running.evaluate("duration(text)", { text })
  } catch {
    // The format of the field is checked elsewhere.
    return text
  }
}
