/**
 * The part of JSONPath that printer columns use: fields, indexes, wildcards and filters that compare.
 */
import { isFields, list, shown } from "./json.ts"

type Step = (values: ReadonlyArray<unknown>) => ReadonlyArray<unknown>

const token =
  /\.((?:\\.|[^.[\]\\])+)|\['((?:[^'])*)'\]|\["((?:[^"])*)"\]|\[(-?\d+)\]|\[(\*)\]|\[\?\(\s*@((?:\.[^\s=!<>)]+)*)\s*(==|!=)\s*(?:'([^']*)'|"([^"]*)"|([^)\s]+))\s*\)\]/gu

const member = (name: string): Step => {
  const field = name.replaceAll(/\\(.)/gu, "$1")
  if (field === "*")
    return (values) => values.flatMap((value) => (isFields(value) ? Object.values(value) : list(value)))
  return (values) => values.flatMap((value) => (isFields(value) && value[field] !== undefined ? [value[field]] : []))
}

const filter = (path: string, equal: boolean, wanted: string): Step => {
  const inner = parse(path)
  return (values) =>
    values.flatMap((value) =>
      list(value).filter((item) => {
        const [found] = inner(item)
        return found !== undefined && (shown(found) === wanted) === equal
      })
    )
}

const stepOf = (match: RegExpExecArray): Step => {
  const [, field, single, double, index, all, path, sign, text1, text2, text3] = match
  const name = field ?? single ?? double
  if (name !== undefined) return member(name)
  if (all !== undefined) return (values) => values.flatMap(list)
  if (index !== undefined) return (values) => values.flatMap((value) => list(value).slice(Number(index)).slice(0, 1))
  return filter(path ?? "", sign === "==", text1 ?? text2 ?? text3 ?? "")
}

/** What a path finds in a value. @internal */
export const parse = (path: string): ((value: unknown) => ReadonlyArray<unknown>) => {
  const bare = path.replace(/^\{(.*)\}$/u, "$1").replace(/^\$/u, "")
  const dotted = bare === "" || bare.startsWith(".") || bare.startsWith("[") ? bare : `.${bare}`
  const steps = [...dotted.matchAll(token)].map(stepOf)
  return (value) => steps.reduce<ReadonlyArray<unknown>>((values, step) => step(values), [value])
}
