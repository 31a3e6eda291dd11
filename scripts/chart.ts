/**
 * Writes what the charts, and the operator's guide, take from the code: the rights and the kinds.
 * `node --conditions=@berth/source scripts/chart.ts`, whenever either has changed: a test compares them.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import * as ProviderAccess from "@berth/db-provider/Access"
import * as Consent from "@berth/db-provider/Consent"
import * as ProviderCrds from "@berth/db-provider/Crds"
import * as Access from "@berth/kube/Access"
import * as OperatorAccess from "@berth/operator/Access"
import * as CdDrivers from "@berth/operator/CdDrivers"
import * as OperatorCrds from "@berth/operator/Crds"
import * as Deployer from "@berth/shared-components/Deployer"
import { stringify } from "yaml"

const root = resolve(import.meta.dirname, "..")
const guide = "docs/guides/operator.md"

const places = { managementNamespace: "berth-system", sharedNamespace: "berth-shared" }
const operatorAccess = OperatorAccess.all(places)
/** What stands for the role of charts' accounts, which the chart calls by its release. */
const deployerRole = "DEPLOYER_ROLE"
const chartAccess = OperatorAccess.all({ ...places, deployerRole })
const cdNamespaces = { fluxNamespace: "flux", argocdNamespace: "argocd" }
const release = { releaseNamespace: "berth-db" }
const providerAccess = ProviderAccess.all(release)

interface Chart {
  readonly name: string
  /** The rules by where they hold. */
  readonly rules: Readonly<Record<string, ReadonlyArray<Access.Rule>>>
  readonly crds: ReadonlyArray<{ readonly spec: { readonly names: { readonly plural: string } } }>
  /** Words of the code that templates use. */
  readonly words?: Readonly<Record<string, string>>
}

const operator = {
  name: "berth-operator",
  rules: {
    cluster: Access.rules(chartAccess),
    deployer: Deployer.rules,
    flux: Access.rules(CdDrivers.access({ ...cdNamespaces, cdDriver: "flux" }), cdNamespaces.fluxNamespace),
    argocd: Access.rules(CdDrivers.access({ ...cdNamespaces, cdDriver: "argocd" }), cdNamespaces.argocdNamespace),
    management: Access.rules(operatorAccess, places.managementNamespace),
    shared: Access.rules(operatorAccess, places.sharedNamespace)
  },
  crds: OperatorCrds.all
} satisfies Chart

const provider = {
  name: "berth-db-provider",
  rules: {
    cluster: Access.rules(providerAccess),
    release: Access.rules(providerAccess, release.releaseNamespace),
    default: Access.rules(providerAccess, "default")
  },
  crds: ProviderCrds.all,
  words: { finalizer: Consent.finalizer, releaseAnnotation: Consent.releaseAnnotation }
} satisfies Chart

const format = { aliasDuplicateObjects: false, lineWidth: 0 }
const yaml = (value: unknown): string =>
  stringify(value, format).trimEnd().replaceAll(deployerRole, '{{ include "berth-operator.deployerRole" . }}')

const made = "Made by scripts/chart.ts from the code. Change that, and run it again."

/** Named templates, so that what is written by hand and what is made are in files of their own. */
const templates = ({ name, rules, words = {} }: Chart): string => {
  const texts = [
    ...Object.entries(rules).map(([where, each]) => [`rules.${where}`, yaml(each)]),
    ...Object.entries(words)
  ]
  const defined = texts.map(([what, text]) => `{{- define "${name}.${what}" -}}\n${text}\n{{- end -}}`)
  return [`{{- /* ${made} */ -}}`, ...defined, ""].join("\n")
}

const filesOf = (chart: Chart): ReadonlyArray<File> => [
  { path: `charts/${chart.name}/templates/_rules.tpl`, text: templates(chart) },
  ...chart.crds.map((crd) => ({
    path: `charts/${chart.name}/files/crds/${crd.spec.names.plural}.yaml`,
    text: `# ${made}\n${stringify(crd, format)}`
  }))
]

/** The rules of the guide's role of this kind and namespace, in the lists of one line that people write. */
const flow = (each: ReadonlyArray<Access.Rule>): string =>
  each
    .map(({ apiGroups = [], resourceNames, resources = [], verbs }) => {
      const list = (texts: ReadonlyArray<string>) => `[${texts.map((text) => (text === "" ? '""' : text)).join(", ")}]`
      const names = resourceNames === undefined ? "" : `    resourceNames: ${list(resourceNames)}\n`
      return `  - apiGroups: ${list(apiGroups)}\n    resources: ${list(resources)}\n${names}    verbs: ${list(verbs)}`
    })
    .join("\n")

const roles: ReadonlyArray<readonly [RegExp, ReadonlyArray<Access.Rule>]> = [
  [/(\nkind: ClusterRole\nmetadata:\n  name: berth-operator\nrules:\n)(?:  .*\n)+/u, Access.rules(operatorAccess)],
  [/(\nkind: ClusterRole\nmetadata:\n  name: berth-deployer\nrules:\n)(?:  .*\n)+/u, operator.rules.deployer],
  [
    /(\nkind: Role\nmetadata:\n  name: berth-operator\n  namespace: berth-system\nrules:\n)(?:  .*\n)+/u,
    operator.rules.management
  ],
  [
    /(\nkind: Role\nmetadata:\n  name: berth-operator\n  namespace: berth-shared\nrules:\n)(?:  .*\n)+/u,
    operator.rules.shared
  ]
]

const guideText = (): string =>
  roles.reduce(
    (text, [pattern, each]) => text.replace(pattern, (_, head: string) => `${head}${flow(each)}\n`),
    readFileSync(join(root, guide), "utf8")
  )

interface File {
  readonly path: string
  readonly text: string
}

/** Every file that is made, as it has to be. */
export const files = (): ReadonlyArray<File> => [
  ...[operator, provider].flatMap(filesOf),
  { path: guide, text: guideText() }
]

if (import.meta.main) for (const { path, text } of files()) writeFileSync(join(root, path), text)
