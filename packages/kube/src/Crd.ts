/**
 * The CustomResourceDefinition of a kind.
 *
 * **Guarantees**
 * - K24: the schema is structural, with descriptions, defaults, enums, formats, CEL rules, list-map keys, printer columns, short
 *   names, categories, the status subresource, and a bound on every list, map and string. What it accepts the codec decodes, and
 *   what the codec encodes it accepts.
 * - K28: the schemas of several versions have each other's fields, so that none is lost whichever version an object is written through.
 * - The same kind gives the same bytes.
 *
 * **Caveats**
 * - A CEL rule binds the API server only, `Kind.exactlyOne` and the list types bind the codec too.
 * - A transformation that decodes only some of the text it is given (as `Schema.FiniteFromString`) needs a pattern on its encoded side;
 *   a check behind a transformation is not in the CRD.
 *
 * @since 0.1.0
 */
import type { Schema } from "effect"
import { schema } from "./internal/structural.ts"
import { refuse } from "./internal/structuralNode.ts"
import { complete } from "./internal/versions.ts"
import type { KubeObject } from "./KubeObject.ts"
import type { Scope } from "./ResourceType.ts"

export { Unrepresentable } from "./internal/structuralNode.ts"

/**
 * A column of `kubectl get`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Column {
  readonly name: string
  /** A simple JSON path from the object, such as `.status.phase`. */
  readonly path: string
  /** Default `string`. */
  readonly type?: "string" | "integer" | "number" | "boolean" | "date"
  readonly description?: string
  /** Above 0: shown by `-o wide` only. */
  readonly priority?: number
}

/**
 * What a CRD is made of.
 *
 * @category models
 * @since 0.1.0
 */
export interface Definition {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly scope: Scope
  /** What `kubectl explain` says about the kind. */
  readonly description?: string
  readonly shortNames?: ReadonlyArray<string>
  readonly categories?: ReadonlyArray<string>
  readonly columns?: ReadonlyArray<Column>
  readonly spec: Schema.Constraint
  readonly status: Schema.Constraint
}

/**
 * A CustomResourceDefinition, as far as a kind makes it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Crd extends KubeObject {
  readonly apiVersion: "apiextensions.k8s.io/v1"
  readonly kind: "CustomResourceDefinition"
  readonly spec: {
    group: string
    scope: Scope
    names: {
      kind: string
      listKind: string
      plural: string
      singular: string
      shortNames?: Array<string>
      categories?: Array<string>
    }
    versions: Array<{
      name: string
      served: boolean
      storage: boolean
      subresources: { status: object }
      additionalPrinterColumns?: Array<{
        name: string
        jsonPath: string
        type: string
        description?: string
        priority?: number
      }>
      schema: { openAPIV3Schema: object }
    }>
  }
}

const printed = ({ description, name, path, priority, type }: Column) => ({
  name,
  jsonPath: path,
  type: type ?? "string",
  ...(description !== undefined && { description }),
  ...(priority !== undefined && { priority })
})

const root = ({ description, spec, status }: Definition) => ({
  type: "object",
  ...(description !== undefined && { description }),
  required: ["spec"],
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { type: "object" },
    spec: schema(spec, "spec"),
    status: schema(status, "status")
  }
})

const versionOf = (definition: Definition, others: ReadonlyArray<Definition>, storage: boolean) => {
  const { columns = [] } = definition
  const { properties, ...rest } = root(definition)
  const whole = (part: "spec" | "status") =>
    complete(
      properties[part],
      others.map((other) => schema(other[part], part)),
      [part]
    )
  return {
    name: definition.version,
    served: true,
    storage,
    subresources: { status: {} },
    ...(columns.length > 0 && { additionalPrinterColumns: columns.map(printed) }),
    schema: {
      openAPIV3Schema: { ...rest, properties: { ...properties, spec: whole("spec"), status: whole("status") } }
    }
  }
}

/**
 * Makes the CustomResourceDefinition of a kind in several versions. Objects are stored in the first one.
 *
 * **Details**: the versions have to say the same where both say something. What only some of them have is optional or has a default, and
 * the others carry it: their schemas keep it, their codecs do not show it.
 *
 * **Errors**: throws `Unrepresentable` where {@link make} does, and where an object of one version could not be read in another: another
 * type, bound, rule or default, or a field that only one of them needs.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeVersions = (stored: Definition, others: ReadonlyArray<Definition>): Crd => {
  const { categories, group, kind, plural, scope, shortNames } = stored
  const all = [stored, ...others]
  for (const [index, other] of all.entries()) {
    const named = other.group === group && other.kind === kind && other.plural === plural && other.scope === scope
    if (!named) refuse([other.version], "another kind")
    if (all.findIndex(({ version }) => version === other.version) !== index) refuse([other.version], "twice")
  }
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames && { shortNames: [...shortNames] }),
        ...(categories && { categories: [...categories] })
      },
      versions: all.map((each) =>
        versionOf(
          each,
          all.filter((other) => other !== each),
          each === stored
        )
      )
    }
  }
}

/**
 * Makes the CustomResourceDefinition.
 *
 * **Errors**: throws `Unrepresentable` with the path of whatever a structural schema cannot say, or of a list, map or string without
 * a bound: the kind has to be written otherwise.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (definition: Definition): Crd => makeVersions(definition, [])
