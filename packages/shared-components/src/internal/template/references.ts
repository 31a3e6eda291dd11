/**
 * Finds the paths that a template may read, without running it.
 *
 * A value is followed as the set of context paths it may be. Each declaration of a variable has one set for the whole
 * template, which only grows; the template is walked until none grows any more, so that assignments in loops are seen.
 */
import type { Branch, Command, Node, Operand, Pipe } from "./ast.ts"
import { arity } from "./evaluate.ts"
import type { Fault } from "./failure.ts"
import { functions } from "./functions.ts"

export type Path = ReadonlyArray<string | undefined>

export interface Found {
  readonly path: Path
  readonly offset: number
  /** Whether a condition decides if it is read. */
  readonly conditional: boolean
}

/** The context paths that a value may be; empty for a value that is made by the template itself. */
type Origins = ReadonlyArray<Path>

/** Beyond these a value is taken to be anything: the path of one unknown key. */
const originsMax = 64
const lengthMax = 32
const passesMax = 16
const anything: Origins = [[undefined]]

const isAnything = (path: Path): boolean => path.length === 1 && path[0] === undefined

const id = (path: Path): string => JSON.stringify(path.map((key) => (key === undefined ? 0 : key)))

const union = (...all: ReadonlyArray<Origins>): Origins => {
  const distinct = [...new Map(all.flat().map((path) => [id(path), path])).values()]
  return distinct.length > originsMax || distinct.some(isAnything) ? anything : distinct
}

const extend = (origins: Origins, keys: Path): Origins =>
  origins.some((path) => path.length + keys.length > lengthMax) ? anything : origins.map((path) => [...path, ...keys])

/** One declaration of a variable. */
interface Declared {
  readonly name: string
  readonly site: string
}

class Reader {
  readonly sites = new Map<string, Origins>()
  found = new Map<string, Found>()
  passed = new Map<string, Found>()
  faults: Array<{ readonly fault: Fault; readonly offset: number }> = []
  variables: Array<Declared> = [{ name: "$", site: "$" }]
  grew = false
  passes = 0
  conditions = 0

  at(offset: number, path: Path): Found {
    return { path, offset, conditional: this.conditions > 0 }
  }

  /** Follows what may or may not be evaluated. */
  conditionally<A>(work: () => A): A {
    this.conditions++
    const made = work()
    this.conditions--
    return made
  }

  /** The value itself is read. */
  use(offset: number, origins: Origins): void {
    for (const path of origins) this.found.set(`${offset} ${id(path)}`, this.at(offset, path))
  }

  /** The value is looked through, on the way to something in it. */
  pass(offset: number, origins: Origins): void {
    for (const path of origins) this.passed.set(`${offset} ${id(path)}`, this.at(offset, path))
  }

  grow(site: string, origins: Origins): void {
    const before = this.sites.get(site) ?? []
    const after = this.passes > passesMax ? anything : union(before, origins)
    if (id(after.flat()) !== id(before.flat())) this.grew = true
    this.sites.set(site, after)
  }

  set(pipe: Pipe, values: ReadonlyArray<Origins>): void {
    pipe.variables.forEach((name, index) => {
      const site = `${pipe.offset} ${index}`
      if (!pipe.assigns) this.variables.push({ name, site })
      const declared = this.variables.findLast((each) => each.name === name)
      if (declared === undefined) this.faults.push({ fault: { kind: "UnknownVariable", name }, offset: pipe.offset })
      else this.grow(declared.site, values[index] ?? [])
    })
  }

  scoped(work: () => void): void {
    const before = this.variables.length
    work()
    this.variables.length = before
  }
}

/** What a stage of a pipeline gets from the one before, and where that stands. */
interface Piped {
  readonly origins: Origins
  readonly offset: number
}

const literalKey = (operand: Operand): string | undefined => {
  if (operand.type === "String") return operand.value
  return operand.type === "Number" ? String(operand.number.value) : undefined
}

const indexed = (reader: Reader, dot: Origins, { rest }: Command, piped: Piped | undefined): Origins => {
  const [from, ...keys] = rest
  if (from === undefined) return piped?.origins ?? []
  for (const key of keys) reader.use(key.offset, originsOf(reader, dot, key))
  if (piped !== undefined) reader.use(piped.offset, piped.origins)
  return extend(originsOf(reader, dot, from), [...keys.map(literalKey), ...(piped === undefined ? [] : [undefined])])
}

const called = (reader: Reader, dot: Origins, name: string, command: Command, piped: Piped | undefined): Origins => {
  const { offset, rest } = command
  if (name === "index") return indexed(reader, dot, command, piped)
  const definition = functions.get(name)
  const count = rest.length + (piped === undefined ? 0 : 1)
  const problem = definition === undefined ? undefined : arity(definition, name, count)
  if (problem !== undefined) reader.faults.push({ fault: { kind: "BadValue", problem }, offset })
  const shortCircuits = name === "and" || name === "or"
  const followed = rest.map((each, at) =>
    shortCircuits && at > 0 ? reader.conditionally(() => originsOf(reader, dot, each)) : originsOf(reader, dot, each)
  )
  const values = [...followed, ...(piped === undefined ? [] : [piped.origins])]
  const place = (at: number): number => rest[at]?.offset ?? piped?.offset ?? offset
  // These give back one of their arguments; whoever takes the result reads it.
  if (shortCircuits || name === "default") {
    values.forEach((each, at) => {
      const pass = () => reader.pass(place(at), each)
      if (shortCircuits && at > 0) reader.conditionally(pass)
      else pass()
    })
    return union(...values)
  }
  values.forEach((each, at) => reader.use(place(at), each))
  return []
}

const variableOrigins = (reader: Reader, name: string): Origins => {
  if (name === "$") return [[]]
  const declared = reader.variables.findLast((each) => each.name === name)
  return declared === undefined ? [] : (reader.sites.get(declared.site) ?? [])
}

const originsOf = (reader: Reader, dot: Origins, operand: Operand): Origins => {
  if (operand.type === "Dot") return dot
  if (operand.type === "Field") return extend(dot, operand.path)
  if (operand.type === "Variable") return extend(variableOrigins(reader, operand.name), operand.path)
  if (operand.type === "Chain") return extend(originsOf(reader, dot, operand.operand), operand.path)
  if (operand.type === "Pipe") return pipeOrigins(reader, dot, operand.pipe)
  if (operand.type !== "Function") return []
  return called(reader, dot, operand.name, { first: operand, rest: [], offset: operand.offset }, undefined)
}

const commandOrigins = (reader: Reader, dot: Origins, command: Command, piped: Piped | undefined): Origins => {
  const { first, offset, rest } = command
  if (first.type === "Function") return called(reader, dot, first.name, command, piped)
  if (rest.length > 0 || piped !== undefined) {
    reader.faults.push({
      fault: { kind: "BadValue", problem: "a value that is not a function is given an argument" },
      offset
    })
  }
  return originsOf(reader, dot, first)
}

const valueOrigins = (reader: Reader, dot: Origins, pipe: Pipe): Origins => {
  let piped: Piped | undefined
  for (const command of pipe.commands) {
    piped = { origins: commandOrigins(reader, dot, command, piped), offset: command.offset }
  }
  return piped?.origins ?? []
}

const pipeOrigins = (reader: Reader, dot: Origins, pipe: Pipe): Origins => {
  const value = valueOrigins(reader, dot, pipe)
  if (pipe.variables.length > 0) reader.pass(pipe.offset, value)
  reader.set(pipe, [value])
  return value
}

const branch = (reader: Reader, dot: Origins, { body, otherwise, pipe, type }: Branch): void =>
  reader.scoped(() => {
    const value = type === "Range" ? valueOrigins(reader, dot, pipe) : pipeOrigins(reader, dot, pipe)
    if (type === "If") reader.use(pipe.offset, value)
    else reader.pass(pipe.offset, value)
    const elements = extend(value, [undefined])
    // Of two variables the first takes the key, which is no value of the context. Over nothing an assigned one keeps the whole.
    if (type === "Range") {
      reader.set(pipe, [...(pipe.variables.length > 1 ? [[]] : []), pipe.assigns ? union(elements, value) : elements])
    }
    reader.conditionally(() => {
      reader.scoped(() => walk(reader, type === "If" ? dot : type === "With" ? value : elements, body))
      if (otherwise !== undefined) walk(reader, dot, otherwise)
    })
  })

const walk = (reader: Reader, dot: Origins, nodes: ReadonlyArray<Node>): void => {
  for (const node of nodes) {
    if (node.type === "Action") {
      const value = pipeOrigins(reader, dot, node.pipe)
      if (node.pipe.variables.length === 0) reader.use(node.offset, value)
    } else if (node.type === "If" || node.type === "With" || node.type === "Range") branch(reader, dot, node)
  }
}

/** The paths inside of which something else is read as well. */
const prefixes = (all: ReadonlyArray<Found>): ReadonlySet<string> =>
  new Set(all.flatMap(({ path }) => path.map((_, length) => id(path.slice(0, length)))))

const byPlace = (a: Found, b: Found): number => a.offset - b.offset

export interface Reading {
  readonly references: ReadonlyArray<Found>
  readonly faults: ReadonlyArray<{ readonly fault: Fault; readonly offset: number }>
}

export const read = (nodes: ReadonlyArray<Node>): Reading => {
  const reader = new Reader()
  do {
    reader.grew = false
    reader.passes++
    reader.faults = []
    reader.found = new Map()
    reader.passed = new Map()
    reader.scoped(() => walk(reader, [[]], nodes))
  } while (reader.grew)
  const found = [...reader.found.values()]
  const read = new Set(found.map(({ path }) => id(path)))
  const ledThrough = prefixes(found)
  const passed = [...reader.passed.values()].filter(({ path }) => !read.has(id(path)) && !ledThrough.has(id(path)))
  return { references: [...found, ...passed].sort(byPlace), faults: reader.faults }
}
