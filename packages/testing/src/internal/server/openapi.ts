/**
 * The OpenAPI documents of the kinds that are served: enough for `kubectl explain` and for its checks before a write.
 */
import { OBJECT_META } from "../engines/objectMeta.ts"
import { fields, groupVersion, type Fields } from "./json.ts"
import { schemaOf } from "./kindSchema.ts"
import type { Registry } from "./registry.ts"
import type { Resource } from "./resource.ts"
import { serverVersion } from "./version.ts"

const metaName = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

const typeOf = ({ group, kind, version }: Resource): Fields => ({ group, version, kind })

/** The name of a schema: the group backwards, as Java names packages. */
const schemaName = ({ custom, group, kind, version }: Resource): string => {
  if (custom !== undefined) return [...group.split(".").reverse(), version, kind].join(".")
  return `io.k8s.api.${group === "" ? "core" : (group.split(".")[0] ?? "")}.${version}.${kind}`
}

const schemaFor = (resource: Resource, prefix: string): Fields => {
  const schema = schemaOf(resource)
  return {
    type: "object",
    ...schema,
    properties: {
      ...schema.properties,
      apiVersion: {
        type: "string",
        description: "The version of the schema of this object, as GROUP/VERSION."
      },
      kind: { type: "string", description: "What the object is an object of." },
      metadata: {
        description: "The name of the object and what else is common to all kinds.",
        $ref: `${prefix}${metaName}`
      }
    },
    "x-kubernetes-group-version-kind": [typeOf(resource)]
  }
}

const parameter = (name: string, where: "path" | "query", three: boolean): Fields => ({
  name,
  in: where,
  ...(where === "path" ? { required: true } : {}),
  ...(three ? { schema: { type: "string" } } : { type: "string" })
})

const operation = (resource: Resource, action: string, three: boolean): Fields => {
  const writes = ["patch", "post", "put"].includes(action)
  return {
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": typeOf(resource),
    parameters: writes
      ? ["dryRun", "fieldManager", "fieldValidation"].map((name) => parameter(name, "query", three))
      : [],
    responses: { "200": { description: "OK" } }
  }
}

const pathsOf = (resource: Resource, three: boolean): Fields => {
  const { group, namespaced, plural, version } = resource
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`
  const collection = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`
  const place = namespaced ? [parameter("namespace", "path", three)] : []
  return {
    [collection]: {
      get: operation(resource, "list", three),
      post: operation(resource, "post", three),
      delete: operation(resource, "deletecollection", three),
      parameters: place
    },
    [`${collection}/{name}`]: {
      get: operation(resource, "get", three),
      put: operation(resource, "put", three),
      patch: operation(resource, "patch", three),
      delete: operation(resource, "delete", three),
      parameters: [parameter("name", "path", three), ...place]
    }
  }
}

const info = { title: "Kubernetes", version: serverVersion.gitVersion }

const merged = (parts: ReadonlyArray<Fields>): Fields =>
  Object.fromEntries(parts.flatMap((part) => Object.entries(part)))

const pathOf = (group: string, version: string): string =>
  `${group === "" ? "api" : "apis"}/${groupVersion(group, version)}`

/** `/openapi/v3` @internal */
export const openapiIndex = ({ all, revision }: Registry): Fields => ({
  paths: Object.fromEntries(
    all.map(({ group, version }) => {
      const path = pathOf(group, version)
      return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${revision}` }]
    })
  )
})

/** `/openapi/v3/apis/GROUP/VERSION` @internal */
export const openapiOf = ({ all }: Registry, group: string, version: string): Fields | undefined => {
  const resources = all.filter((resource) => resource.group === group && resource.version === version)
  if (resources.length === 0) return undefined
  const prefix = "#/components/schemas/"
  return {
    openapi: "3.0.0",
    info,
    paths: merged(resources.map((resource) => pathsOf(resource, true))),
    components: {
      schemas: {
        ...Object.fromEntries(resources.map((resource) => [schemaName(resource), schemaFor(resource, prefix)])),
        [metaName]: fields(OBJECT_META)
      }
    }
  }
}

/** `/openapi/v2` @internal */
export const openapiV2 = ({ all }: Registry): Fields => ({
  swagger: "2.0",
  info,
  paths: merged(all.map((resource) => pathsOf(resource, false))),
  definitions: {
    ...Object.fromEntries(all.map((resource) => [schemaName(resource), schemaFor(resource, "#/definitions/")])),
    [metaName]: fields(OBJECT_META)
  }
})
