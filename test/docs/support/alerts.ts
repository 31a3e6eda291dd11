/** The alert rules of a chart, read from its template: the metrics that their expressions use, and what is wrong with them. */

export interface Alert {
  readonly name: string
  /** The expression, without what is Helm's. */
  readonly expression: string
  readonly metrics: ReadonlyArray<string>
  readonly summary: string
  /** What Prometheus would not take. */
  readonly problems: ReadonlyArray<string>
}

/** What an expression may have beside metrics: functions, operators, labels. */
const words = new Set(
  "and bool by group_left group_right histogram_quantile ignoring increase max min offset on or rate sum time unless vector without".split(
    " "
  )
)

const unbalanced = (expression: string): ReadonlyArray<string> => {
  const closes: Readonly<Record<string, string>> = { ")": "(", "}": "{", "]": "[" }
  const open: Array<string> = []
  for (const sign of expression.replace(/"[^"]*"/gu, "")) {
    if ("({[".includes(sign)) open.push(sign)
    else if (closes[sign] !== undefined && open.pop() !== closes[sign]) return [`${sign} closes nothing`]
  }
  return open.map((sign) => `${sign} is not closed`)
}

/** A metric stands before its selector, which names the release. What does not is a word of the language, a label of `by`, or a mistake. */
const judged = (expression: string): Pick<Alert, "metrics" | "problems"> => {
  const bare = expression.replace(/"[^"]*"/gu, '""')
  const metrics = [...bare.matchAll(/([a-z_]\w*)\{namespace="", service=""/gu)].map(([, name = ""]) => name)
  const outside = bare
    .replace(/\{[^}]*\}/gu, " ")
    .replace(/\[[^\]]*\]/gu, " ")
    .replace(/\b(?:by|on|ignoring|without) *\([^)]*\)/gu, " ")
  const strange = [...outside.matchAll(/[a-z_]\w*/gu)]
    .map(([word]) => word)
    .filter((word) => !words.has(word) && !metrics.includes(word))
  return { metrics, problems: [...unbalanced(bare), ...strange.map((word) => `${word} is of no release, or unknown`)] }
}

/** Of a PrometheusRule's template, whose variable `$mine` selects the release. */
export const of = (template: string): ReadonlyArray<Alert> =>
  template
    .split(/^ *- alert: /mu)
    .slice(1)
    .map((text) => {
      const [, name = ""] = /^(\w+)\n/u.exec(text) ?? []
      const [, raw = ""] = /\bexpr: (?:>-\n)?([\s\S]*?)\n *(?:for|labels): /u.exec(text) ?? []
      const [, summary = ""] = /\bsummary: (?:\{\{ ")?(.*?)(?:" \| quote \}\})?\n/u.exec(text) ?? []
      const expression = raw
        .replace(/\{ \{\{- \$mine -\}\} /gu, '{namespace="n", service="s"')
        .replace(/\{\{ \.Values\.\S+ \}\}/gu, "1")
        .replace(/\s+/gu, " ")
        .trim()
      return { name, expression, summary, ...judged(expression) }
    })
