/**
 * Writes what the chart of the operator, and its guide, take from the code: the rights and the kinds.
 * `node --conditions=@berth/source scripts/chart.ts`, whenever either has changed: a test compares them.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import * as Access from "@berth/kube/Access"
import * as OperatorAccess from "@berth/operator/Access"
import * as Crds from "@berth/operator/Crds"
import { stringify } from "yaml"

const root = resolve(import.meta.dirname, "..")
const chart = "charts/berth-operator"
const guide = "docs/guides/operator.md"

const places = { managementNamespace: "berth-system", sharedNamespace: "berth-shared" }
const access = OperatorAccess.all(places)

/** The rules by where they hold. */
export const rules = {
  cluster: Access.rules(access),
  management: Access.rules(access, places.managementNamespace),
  shared: Access.rules(access, places.sharedNamespace)
}

const format = { aliasDuplicateObjects: false, lineWidth: 0 }
const yaml = (value: unknown): string => stringify(value, format).trimEnd()

const made = "Made by scripts/chart.ts from the code. Change that, and run it again."

/** Named templates, so that what is written by hand and what is made are in files of their own. */
const rulesTemplate = (): string =>
  [
    `{{- /* ${made} */ -}}`,
    ...Object.entries(rules).map(
      ([where, each]) => `{{- define "berth-operator.rules.${where}" -}}\n${yaml(each)}\n{{- end -}}`
    ),
    ""
  ].join("\n")

const kind = (crd: (typeof Crds.all)[number]) => ({
  path: `${chart}/files/crds/${crd.spec.names.plural}.yaml`,
  text: `# ${made}\n${stringify(crd, format)}`
})

/** The rules of the guide's role of this kind and namespace, in the lists of one line that people write. */
const flow = (each: ReadonlyArray<Access.Rule>): string =>
  each
    .map(({ apiGroups = [], resources = [], verbs }) => {
      const list = (texts: ReadonlyArray<string>) => `[${texts.map((text) => (text === "" ? '""' : text)).join(", ")}]`
      return `  - apiGroups: ${list(apiGroups)}\n    resources: ${list(resources)}\n    verbs: ${list(verbs)}`
    })
    .join("\n")

const roles: ReadonlyArray<readonly [RegExp, ReadonlyArray<Access.Rule>]> = [
  [/(\nkind: ClusterRole\nmetadata:\n  name: berth-operator\nrules:\n)(?:  .*\n)+/u, rules.cluster],
  [
    /(\nkind: Role\nmetadata:\n  name: berth-operator\n  namespace: berth-system\nrules:\n)(?:  .*\n)+/u,
    rules.management
  ],
  [/(\nkind: Role\nmetadata:\n  name: berth-operator\n  namespace: berth-shared\nrules:\n)(?:  .*\n)+/u, rules.shared]
]

const guideText = (): string =>
  roles.reduce(
    (text, [pattern, each]) => text.replace(pattern, (_, head: string) => `${head}${flow(each)}\n`),
    readFileSync(join(root, guide), "utf8")
  )

/** Every file that is made, as it has to be. */
export const files = (): ReadonlyArray<{ readonly path: string; readonly text: string }> => [
  { path: `${chart}/templates/_rules.tpl`, text: rulesTemplate() },
  ...Crds.all.map(kind),
  { path: guide, text: guideText() }
]

if (import.meta.main) for (const { path, text } of files()) writeFileSync(join(root, path), text)
