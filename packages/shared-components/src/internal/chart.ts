/** Where a chart comes from: what templates of environments and providers of shared components say alike. */
import * as Kind from "@berth/kube/Kind"
import type * as CdDriver from "@berth/provisioners/CdDriver"
import { Effect, Schema } from "effect"
import { Line, optional } from "./fields.ts"

const { described } = Kind

const Git = Schema.Struct({
  url: Line(1024).pipe(described("The repository.")),
  ref: Line(255).pipe(described("A commit, a tag, or a full reference such as `refs/heads/main`.")),
  path: Line(1024).pipe(described("The chart's folder in it."), Kind.withDefault("."))
})

/** To be spread into a struct, which the rules below then go with. */
export const fields = {
  repo: optional("The URL of a Helm repository; `chart` names a chart of it.", Line(1024)),
  oci: optional("An `oci://` reference of a chart.", Kind.Text(7, 1024).check(Schema.isPattern(/^oci:\/\//u))),
  path: optional("A chart in the operator's own image: the whole path of its folder.", Line(1024)),
  git: optional("A chart in a Git repository.", Git),
  chart: optional("The chart's name in `repo`.", Line(253)),
  version: optional("The chart's version, exactly.", Line(128)),
  values: optional("Its values. Every text among them is a template.", Kind.Opaque)
}

export const onePlace = Kind.exactlyOne("repo", "oci", "path", "git")

export const namedInRepo = Kind.rule({
  rule: "has(self.repo) == has(self.chart)",
  message: "chart is required with repo, and only there",
  fieldPath: ".chart"
})

export const exactVersion = Kind.rule({
  rule: "has(self.version) || !(has(self.repo) || has(self.oci))",
  message: "version is required with repo and oci",
  fieldPath: ".version",
  reason: "FieldValueRequired"
})

interface From {
  readonly repo?: string
  readonly oci?: string
  readonly path?: string
  readonly git?: typeof Git.Type
  readonly chart?: string
  readonly version?: string
}

/** As drivers are told. The rules above hold for whatever the API server has accepted. */
export const toDriver = ({ chart = "", git, oci, path = "", repo, version = "" }: From): CdDriver.Chart => {
  if (repo !== undefined) return { source: "repository", url: repo, name: chart, version }
  if (oci !== undefined) return { source: "oci", url: oci, version }
  return git === undefined
    ? { source: "path", path, version }
    : { source: "git", url: git.url, path: git.path, revision: git.ref }
}

/** In place of a chart where something is removed: nothing is asked of it there. */
export const notAsked = (): Effect.Effect<never> => Effect.die(new Error("a removal asks for no chart"))
