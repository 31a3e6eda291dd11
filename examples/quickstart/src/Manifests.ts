/** The YAML files of this example, applied as `kubectl apply --server-side` would. */
import { readFile } from "node:fs/promises"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { Consumer } from "@berth/db-provider/Consumer"
import { Shard } from "@berth/db-provider/Shard"
import { Environment } from "@berth/shared-components/Environment"
import { EnvironmentTemplate } from "@berth/shared-components/EnvironmentTemplate"
import { SharedComponent } from "@berth/shared-components/SharedComponent"
import { SharedComponentProvider } from "@berth/shared-components/SharedComponentProvider"
import { Data, Effect, Schema } from "effect"
import { parseAllDocuments } from "yaml"

const types: ReadonlyArray<ResourceType.ResourceType> = [
  Builtin.Namespace,
  Environment,
  EnvironmentTemplate,
  SharedComponent,
  SharedComponentProvider,
  Shard,
  Consumer
]

/** What is not known before the quickstart runs. */
export type Values = Readonly<Record<string, string | number>>

export class ManifestInvalid extends Data.TaggedError("ManifestInvalid")<{
  readonly file: string
  readonly problem: string
}> {
  override get message() {
    return `${this.file}: ${this.problem}`
  }
}

const Manifest = Schema.Struct({
  apiVersion: Schema.String,
  kind: Schema.String,
  metadata: Schema.StructWithRest(Schema.Struct({ name: Schema.String }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ])
})
const isManifest = Schema.is(Manifest)

const folder = new URL("../manifests/", import.meta.url)

/** With each text that is `$(NAME)` and nothing else replaced. */
const filled = (value: unknown, values: Values): unknown => {
  if (typeof value === "string") return values[/^\$\((\w+)\)$/u.exec(value)?.[1] ?? ""] ?? value
  if (Array.isArray(value)) return value.map((each: unknown) => filled(each, values))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]: [string, unknown]) => [key, filled(each, values)]))
}

/** Applies every object of a file, in its order, with these values filled in. */
export const applyWith = Effect.fn("Manifests.apply")(function* (file: string, values: Values) {
  const client = yield* Client
  const text = yield* Effect.promise(() => readFile(new URL(file, folder), "utf8"))
  for (const document of parseAllDocuments(text)) {
    const object = filled(document.toJS(), values)
    if (!isManifest(object)) return yield* new ManifestInvalid({ file, problem: "not a Kubernetes object" })
    const type = types.find((each) => ResourceType.matches(each, object))
    if (type === undefined)
      return yield* new ManifestInvalid({ file, problem: `a ${object.kind} has no business here` })
    yield* client.apply<KubeObject>(type, object, { fieldManager: "quickstart", force: true })
  }
})

/** Applies every object of a file, in its order. */
export const apply = (file: string) => applyWith(file, {})
