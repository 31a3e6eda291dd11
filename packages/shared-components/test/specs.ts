/** Objects for tests, written as in a manifest and decoded as the operator does. */
import { Schema } from "effect"
import { Environment } from "../src/Environment.ts"
import { EnvironmentTemplate } from "../src/EnvironmentTemplate.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { SharedComponentProvider } from "../src/SharedComponentProvider.ts"
import type * as TemplateCheck from "../src/TemplateCheck.ts"

const decoder = <S extends Schema.ConstraintCodec<object, unknown>>(schema: S) =>
  Schema.decodeUnknownSync(Schema.toCodecJson(schema))

export const environment = decoder(Environment.spec)
export const environmentTemplate = decoder(EnvironmentTemplate.spec)
export const sharedComponent = decoder(SharedComponent.spec)
export const provider = decoder(SharedComponentProvider.spec)

const job = { image: "berth", script: "SELECT 1" }

/** A provider for Postgres with the fields of a manifest on top. */
export const postgres = (fields: Readonly<Record<string, unknown>> = {}): SharedComponentProvider["spec"] =>
  provider({
    external: { secretRef: { name: "pg" }, keys: ["host", "port", "user", "password"] },
    provision: job,
    deprovision: job,
    binding: { URL: "postgres://{{ .Host }}/{{ .Slice.Id }}", PASSWORD: "{{ .Env.GeneratedSecret }}" },
    ...fields
  })

/** A template with these components. */
export const template = (...components: ReadonlyArray<unknown>): EnvironmentTemplate["spec"] =>
  environmentTemplate({ ingress: { domain: "example.test" }, components })

/** The slice that most templates have. */
export const db = { name: "db", sharedComponentRef: { name: "postgres" } }

/** One shared component `postgres` of one provider `postgres`. */
export const world = (of: SharedComponentProvider["spec"] = postgres()): TemplateCheck.World => ({
  sharedComponent: (name) => (name === "postgres" ? sharedComponent({ providerRef: { name: "postgres" } }) : undefined),
  provider: (name) => (name === "postgres" ? of : undefined)
})
