/** Runs a template's tree over a context. */
import type { Branch, Command, Node, Operand, Pipe } from "./ast.ts"
import { fail } from "./failure.ts"
import { functions, type Parameter, type TemplateFunction } from "./functions.ts"
import { format, isFields, isList, lift, sortedKeys, truth, type TypeName, typeName, type Value } from "./values.ts"

export interface Limits {
  readonly outputMax: number
  readonly workMax: number
}

interface Variable {
  readonly name: string
  value: Value
}

class State {
  readonly limits: Limits
  readonly output: Array<string> = []
  readonly variables: Array<Variable>
  size = 0
  work = 0

  constructor(limits: Limits, root: Value) {
    this.limits = limits
    this.variables = [{ name: "$", value: root }]
  }

  /** One unit for each node, and for every 64 characters that a function takes or gives. */
  spend(offset: number, size: number): void {
    this.work += size
    if (this.work > this.limits.workMax)
      fail(offset, { kind: "LimitExceeded", what: "steps", limit: this.limits.workMax })
  }

  fits(offset: number, length: number): void {
    if (length > this.limits.outputMax)
      fail(offset, { kind: "LimitExceeded", what: "characters", limit: this.limits.outputMax })
  }

  write(offset: number, text: string): void {
    this.size += text.length
    this.fits(offset, this.size)
    this.output.push(text)
  }

  variable(offset: number, name: string): Variable {
    return this.variables.findLast((each) => each.name === name) ?? fail(offset, { kind: "UnknownVariable", name })
  }

  /** Runs work whose variables end with it. */
  scoped<A>(work: () => A): A {
    const before = this.variables.length
    const made = work()
    this.variables.length = before
    return made
  }
}

const bad = (offset: number, problem: string): never => fail(offset, { kind: "BadValue", problem })

const dotted = (path: ReadonlyArray<string>): string => path.map((key) => `.${key}`).join("")

/** A map's value by key. What every JavaScript object inherits is missing: only the map's own keys count. */
const entry = (offset: number, map: Value, key: string, named: string): Value => {
  const found = isFields(map) && Object.hasOwn(map, key) ? map[key] : undefined
  if (found === undefined) return fail(offset, { kind: "MissingKey", path: named })
  return lift(found) ?? (found === null ? null : bad(offset, `${named} is not a value that a template can hold`))
}

/** Follows keys from a value; `before` is how the template names that value. */
const follow = (offset: number, from: Value, path: ReadonlyArray<string>, before: string): Value =>
  path.reduce<Value>((value, key, index) => {
    const parent = before + dotted(path.slice(0, index))
    return isFields(value)
      ? entry(offset, value, key, `${parent}.${key}`)
      : bad(offset, `${parent === "" ? "." : parent} is a ${typeName(value)}, which has no key ${key}`)
  }, from)

/** One step of `index`. A key is named only where the template spells it out, since another may be secret. */
const step = (offset: number, value: Value, key: Value, operand: Operand | undefined): Value => {
  if (isFields(value)) {
    if (typeof key !== "string") return bad(offset, `index of a map needs a string, not a ${typeName(key)}`)
    return entry(
      offset,
      value,
      key,
      operand?.type === "String" ? `index ${JSON.stringify(key)}` : "the key that index is given"
    )
  }
  const items = typeof value === "string" ? Buffer.from(value) : isList(value) ? value : undefined
  if (items === undefined) return bad(offset, `index cannot look into a ${typeName(value)}`)
  if (typeof key !== "bigint") return bad(offset, `index of a list needs an int, not a ${typeName(key)}`)
  // Go leaves the check of the end itself to its runtime, which refuses as well.
  if (key < 0n || key >= BigInt(items.length)) return bad(offset, "index is out of range")
  return lift(items[Number(key)]) ?? null
}

const accepts: Readonly<Record<Parameter, ReadonlyArray<TypeName>>> = {
  any: ["string", "bool", "int", "float", "nil", "list", "map"],
  string: ["string"],
  int: ["int"],
  scalar: ["string", "bool", "int", "float"]
}

const checked = (offset: number, name: string, parameter: Parameter, value: Value): Value =>
  accepts[parameter].includes(typeName(value))
    ? value
    : bad(offset, `${name} needs ${parameter === "int" ? "an int" : `a ${parameter}`}, not a ${typeName(value)}`)

/** An operand in the place of a function's argument, where a whole float constant is an int as well. */
const argument = (state: State, dot: Value, name: string, parameter: Parameter, operand: Operand): Value => {
  if (operand.type === "Nil") return checked(operand.offset, name, parameter, null)
  const integer = parameter === "int" && operand.type === "Number" ? operand.number.integer : undefined
  return integer ?? checked(operand.offset, name, parameter, evaluateOperand(state, dot, operand))
}

const indexed = (state: State, dot: Value, command: Command, piped: Value | undefined): Value => {
  const given = command.rest.map((each) => argument(state, dot, "index", "any", each))
  const [from, ...keys] = piped === undefined ? given : [...given, piped]
  if (from === undefined) return bad(command.offset, "index needs a value to look into")
  if (from === null) return bad(command.offset, "index cannot look into nil")
  return keys.reduce<Value>((value, key, at) => step(command.offset, value, key, command.rest[at + 1]), from)
}

/** Stops at the first argument that decides, and returns it. */
const shortCircuit = (state: State, dot: Value, name: string, command: Command, piped: Value | undefined): Value => {
  let last: Value | undefined
  for (const operand of command.rest) {
    last = argument(state, dot, name, "any", operand)
    if (truth(last) === (name === "or")) return last
  }
  return piped ?? (piped === null ? null : (last ?? null))
}

const size = (value: Value): number => (typeof value === "string" ? Math.ceil(value.length / 64) : 1)

/** What is wrong with the number of a function's arguments. */
export const arity = ({ parameters, rest }: TemplateFunction, name: string, count: number): string | undefined =>
  count < parameters.length || (rest === undefined && count > parameters.length)
    ? `${name} takes ${rest === undefined ? "" : "at least "}${parameters.length} argument${parameters.length === 1 ? "" : "s"}, not ${count}`
    : undefined

const call = (state: State, dot: Value, name: string, command: Command, piped: Value | undefined): Value => {
  const { offset, rest } = command
  if (name === "index") return indexed(state, dot, command, piped)
  const definition = functions.get(name) ?? fail(offset, { kind: "UnknownFunction", name })
  const wrong = arity(definition, name, rest.length + (piped === undefined ? 0 : 1))
  if (wrong !== undefined) return bad(offset, wrong)
  if (name === "and" || name === "or") return shortCircuit(state, dot, name, command, piped)
  const parameter = (at: number): Parameter => definition.parameters[at] ?? definition.rest ?? "any"
  const given = rest.map((operand, at) => argument(state, dot, name, parameter(at), operand))
  const args = piped === undefined ? given : [...given, checked(offset, name, parameter(given.length), piped)]
  for (const each of args) state.spend(offset, size(each))
  const made = definition.call(
    {
      refuse: (problem) => bad(offset, problem),
      spend: (units) => state.spend(offset, units),
      fits: (length) => state.fits(offset, length)
    },
    args
  )
  if (typeof made === "string") state.fits(offset, made.length)
  return made
}

const evaluateOperand = (state: State, dot: Value, operand: Operand): Value => {
  state.spend(operand.offset, 1)
  switch (operand.type) {
    case "Dot":
      return dot
    case "Nil":
      return bad(operand.offset, "nil is not a value by itself")
    case "Bool":
      return operand.value
    case "String":
      return operand.value
    case "Number":
      return operand.number.value ?? bad(operand.offset, "the number does not fit in 64 bits")
    case "Field":
      return follow(operand.offset, dot, operand.path, "")
    case "Variable":
      return follow(operand.offset, state.variable(operand.offset, operand.name).value, operand.path, operand.name)
    case "Chain":
      return follow(operand.offset, evaluateOperand(state, dot, operand.operand), operand.path, "(…)")
    case "Pipe":
      return evaluatePipe(state, dot, operand.pipe)
    case "Function":
      break
  }
  return call(state, dot, operand.name, { first: operand, rest: [], offset: operand.offset }, undefined)
}

const evaluateCommand = (state: State, dot: Value, command: Command, piped: Value | undefined): Value => {
  const { first, offset, rest } = command
  if (first.type === "Function") return call(state, dot, first.name, command, piped)
  if (rest.length > 0 || piped !== undefined) return bad(offset, "a value that is not a function is given an argument")
  return evaluateOperand(state, dot, first)
}

const evaluatePipe = (state: State, dot: Value, pipe: Pipe): Value => {
  state.spend(pipe.offset, 1)
  let value: Value | undefined
  for (const command of pipe.commands) value = evaluateCommand(state, dot, command, value)
  const result = value ?? null
  for (const name of pipe.variables) {
    if (pipe.assigns) state.variable(pipe.offset, name).value = result
    else state.variables.push({ name, value: result })
  }
  return result
}

type Signal = "Break" | "Continue" | undefined
type Iteration = readonly [key: Value, value: Value]

function* iterations(value: Value, offset: number, names: number): Iterable<Iteration> {
  if (typeof value === "bigint") {
    if (names > 1) bad(offset, "a range over an int has one variable")
    for (let at = 0n; at < value; at++) yield [null, at]
  } else if (isList(value)) {
    for (const [at, each] of value.entries()) yield [BigInt(at), lift(each) ?? null]
  } else if (isFields(value)) {
    for (const key of sortedKeys(value)) yield [key, lift(value[key]) ?? null]
  } else if (value !== null) {
    bad(offset, `range cannot go over a ${typeName(value)}`)
  }
}

const range = (state: State, dot: Value, { body, offset, otherwise, pipe }: Branch): Signal => {
  const over = evaluatePipe(state, dot, pipe)
  const names = pipe.variables
  const slots = pipe.assigns
    ? names.map((name) => state.variable(offset, name))
    : state.variables.slice(state.variables.length - names.length)
  let ran = false
  for (const pair of iterations(over, offset, names.length)) {
    ran = true
    state.spend(offset, 1)
    // With two variables the key comes first; a single one takes the value.
    slots.forEach((slot, at) => {
      slot.value = pair[at + 2 - slots.length] ?? null
    })
    if (state.scoped(() => walk(state, pair[1], body)) === "Break") return undefined
  }
  return ran || otherwise === undefined ? undefined : walk(state, dot, otherwise)
}

const branch = (state: State, dot: Value, node: Branch): Signal =>
  state.scoped(() => {
    if (node.type === "Range") return range(state, dot, node)
    const value = evaluatePipe(state, dot, node.pipe)
    if (truth(value)) return walk(state, node.type === "With" ? value : dot, node.body)
    return node.otherwise === undefined ? undefined : walk(state, dot, node.otherwise)
  })

const print = (state: State, offset: number, value: Value): void => {
  // A nil by itself is printed like this, inside of a list or map like <nil>: that is Go's way.
  const text = value === null ? "<no value>" : format(value, (units) => state.spend(offset, units))
  state.write(offset, text)
}

const walk = (state: State, dot: Value, nodes: ReadonlyArray<Node>): Signal => {
  for (const node of nodes) {
    state.spend(node.offset, 1)
    if (node.type === "Text") state.write(node.offset, node.text)
    else if (node.type === "Action") {
      const value = evaluatePipe(state, dot, node.pipe)
      if (node.pipe.variables.length === 0) print(state, node.offset, value)
    } else if (node.type === "Break" || node.type === "Continue") return node.type
    else {
      const signal = branch(state, dot, node)
      if (signal !== undefined) return signal
    }
  }
  return undefined
}

/** The text that the tree makes of the context. */
export const evaluate = (nodes: ReadonlyArray<Node>, context: Value, limits: Limits): string => {
  const state = new State(limits, context)
  walk(state, context, nodes)
  return state.output.join("")
}
