/** What `berth plan` is asked, read from manifests. */
import * as CommandLine from "@berth/kube/CommandLine"
import * as Manifest from "@berth/kube/Manifest"
import { Environment } from "@berth/shared-components/Environment"
import { EnvironmentTemplate } from "@berth/shared-components/EnvironmentTemplate"
import type * as Plan from "@berth/shared-components/Plan"
import { Effect, Predicate } from "effect"
import { parseAllDocuments } from "yaml"

const refusing = (file: string) => (problem: string) => new CommandLine.UsageError({ problem: `${file}: ${problem}` })

const documentsOf = Effect.fnUntraced(function* (file: string) {
  const invalid = refusing(file)
  const text = yield* CommandLine.read(file)
  const documents = parseAllDocuments(text)
  if (documents.some(({ errors }) => errors.length > 0)) return yield* invalid("is not YAML")
  return documents.flatMap((document): ReadonlyArray<unknown> => {
    const object: unknown = document.toJS()
    return object === null ? [] : [object]
  })
})

const isOf = (kind: typeof Environment | typeof EnvironmentTemplate) => (document: unknown) =>
  Predicate.isObject(document) && "kind" in document && document.kind === kind.kind

/** `file` is a path, or `-` for standard input. */
export const read = Effect.fnUntraced(function* (file: string): Effect.fn.Return<Plan.Request, CommandLine.UsageError> {
  const invalid = refusing(file)
  const documents = yield* documentsOf(file)
  const [environment, ...others] = documents.filter(isOf(Environment))
  const templates = documents.filter(isOf(EnvironmentTemplate))
  if (environment === undefined || others.length > 0) return yield* invalid("has to have one Environment")
  if (templates.length > 1) return yield* invalid("has more than one EnvironmentTemplate")
  const decoded = yield* Effect.mapError(Manifest.decode(Environment, environment), ({ message }) =>
    invalid(`the Environment is not valid: ${message}`)
  )
  const [template] = yield* Effect.forEach(templates, (each) =>
    Effect.mapError(Manifest.decode(EnvironmentTemplate, each), ({ message }) =>
      invalid(`the EnvironmentTemplate is not valid: ${message}`)
    )
  )
  const { metadata, spec } = decoded
  if (template !== undefined && template.metadata.name !== spec.templateRef.name) {
    return yield* invalid(
      `the Environment's template is ${spec.templateRef.name}, not the ${template.metadata.name} that is there`
    )
  }
  return { name: metadata.name, spec, template: template?.spec }
})
