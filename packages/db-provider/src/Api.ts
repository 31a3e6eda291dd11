/**
 * The definition of the HTTP API, of which server, client and OpenAPI document are made.
 *
 * **Guarantees**
 * - D19: every text, list and map of a request has a bound and a grammar; what the definition does not know is refused by name.
 * - D21: {@link openApi} is made from what the server decodes by.
 *
 * @since 0.1.0
 */
import * as Kind from "@berth/kube/Kind"
import { Effect, Schema } from "effect"
import {
  HttpApi,
  HttpApiEndpoint,
  HttpApiGroup,
  HttpApiMiddleware,
  HttpApiSchema,
  HttpApiSecurity,
  OpenApi
} from "effect/http-api"
import type { Caller } from "./Caller.ts"
import { Phase } from "./Database.ts"
import { openAnswers } from "./internal/api/openAnswers.ts"
import { ExternalId, labelKeys, labelValue } from "./internal/fields.ts"
import * as Problem from "./Problem.ts"

const { described, optional } = Kind

/** As `Labels` of the kinds, with the rule for keys that only the API server enforces there. */
const Labels = Schema.Record(Schema.String, labelValue).check(Schema.isMaxProperties(16), labelKeys)

const Selector = Schema.Struct({ matchLabels: Labels })

/** What the definition does not know is refused: a name that is misspelt would be of no effect. */
const strict = { onExcessProperty: "error" } as const

/**
 * What a database may be asked for with.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  labels: optional("What the consumer writes on it. It cannot be changed.", Labels),
  shardSelector: optional("On which of the consumer's shards it may be. It cannot be changed.", Selector)
}).annotate({ identifier: "Parameters", description: "What a database may be asked for with." })

/**
 * @category models
 * @since 0.1.0
 */
export type Parameters = typeof Parameters.Type

const Secret = Schema.RedactedFromValue(Schema.String)

/**
 * How the tenant connects.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Connection = Schema.Struct({
  host: Schema.String.pipe(described("A DNS name or an IP address.")),
  port: Kind.Port,
  database: Schema.String,
  user: Schema.String,
  password: Secret,
  sslmode: Schema.Literals(["disable", "require", "verify-ca", "verify-full"]).pipe(described("As libpq means it.")),
  caBundle: optional("The certificates to trust, as PEM. Without it: those that the system trusts.", Schema.String),
  uri: Secret.pipe(described("The same as a URI of libpq, password included; the certificates are not in it."))
}).annotate({ identifier: "Connection", description: "How the tenant connects." })

/**
 * @category models
 * @since 0.1.0
 */
export type Connection = typeof Connection.Type

const summary = {
  id: ExternalId,
  phase: Phase,
  labels: Labels,
  shardSelector: Selector,
  createdAt: Kind.Time,
  deleteRequestedAt: optional("When its consumer asked to delete it.", Kind.Time),
  dropAfter: optional("When its data will be dropped.", Kind.Time),
  reason: optional("A stable code for why it is not ready.", Schema.String),
  message: optional("The same for people.", Schema.String)
}

/**
 * A database without its credentials.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Summary = Schema.Struct(summary).annotate({
  identifier: "Summary",
  description: "A database without its credentials."
})

/**
 * @category models
 * @since 0.1.0
 */
export type Summary = typeof Summary.Type

/**
 * A database, and how to connect to it once it can be connected to.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Database = Schema.Struct({ ...summary, connection: Schema.optionalKey(Connection) }).annotate({
  identifier: "Database",
  description: "A database, with its credentials once it can be connected to."
})

/**
 * @category models
 * @since 0.1.0
 */
export type Database = typeof Database.Type

/**
 * A database that can be connected to.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ReadyDatabase = Schema.Struct({ ...summary, connection: Connection }).annotate({
  identifier: "ReadyDatabase",
  description: "A database that can be connected to."
})

/**
 * @category models
 * @since 0.1.0
 */
export type ReadyDatabase = typeof ReadyDatabase.Type

/**
 * A part of a list, in order of the ids.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Page = Schema.Struct({
  items: Schema.Array(Summary),
  next: optional("The cursor of the next page; none after the last one.", Schema.String)
}).annotate({ identifier: "Page", description: "A part of the list." })

/**
 * @category models
 * @since 0.1.0
 */
export type Page = typeof Page.Type

/**
 * For how long a request waits at most, whatever it prefers.
 *
 * @category constants
 * @since 0.1.0
 */
export const waitMaxSeconds = 60

/**
 * How many databases a page has at most.
 *
 * @category constants
 * @since 0.1.0
 */
export const pageMax = 100

const cursorMax = 256

const Prefer = optional(
  `\`wait=N\` (RFC 7240): for how many seconds to wait, ${waitMaxSeconds} at most. Default: not at all.`,
  Schema.String
)

const waited = {
  "preference-applied": optional("`wait=N`, where the request had to wait.", Schema.String)
}

/** Accepted, and not done yet. */
const Accepted = HttpApiSchema.WithHeaders(Summary.pipe(HttpApiSchema.status(202)), {
  "retry-after": Schema.Int.pipe(described("After how many seconds to ask again.")),
  ...waited
})

/**
 * Which part of a list.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Query = Schema.Struct({
  limit: optional(
    `How many to a page. Default ${pageMax}.`,
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: pageMax }))
  ),
  cursor: optional("`next` of the page before.", Schema.String.check(Schema.isMaxLength(cursorMax)))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Query = typeof Query.Type

const { schemas: problems } = Problem

/**
 * Lets in whoever has a token.
 *
 * @category middleware
 * @since 0.1.0
 */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: Caller }>()(
  "@berth/db-provider/Authorization",
  {
    error: [
      problems.invalid,
      problems.unauthorized,
      problems.disabled,
      problems.tooMany,
      problems.internal,
      problems.unavailable
    ],
    security: { bearer: HttpApiSecurity.bearer }
  }
) {}

const params = { id: ExternalId.pipe(described("What the consumer calls its database.")) }
const path = "/v1/databases/:id"
const documented = OpenApi.annotations

const put = HttpApiEndpoint.put("putDatabase", path, {
  params,
  headers: { prefer: Prefer },
  // In this order: what is nothing takes anything for nothing when it is encoded.
  payload: [Parameters, HttpApiSchema.NoContent],
  success: [
    HttpApiSchema.WithHeaders(ReadyDatabase.pipe(HttpApiSchema.status(200)), waited),
    HttpApiSchema.WithHeaders(ReadyDatabase.pipe(HttpApiSchema.status(201)), waited),
    Accepted
  ],
  error: [problems.quota, problems.conflict, problems.tooLarge, problems.mediaType]
})
  .annotateMerge(
    documented({
      summary: "Asks for a database",
      description:
        "Idempotent: however often it is asked, there is one database of this id, with one password. 201 is answered to the request that made it, 200 later, and 202 where it is not ready yet.",
      // It may be left out, which the generator has no word for.
      transform: (operation) => ({
        ...operation,
        requestBody: { ...Object(operation["requestBody"]), required: false }
      })
    })
  )
  .annotate(HttpApi.PayloadParseOptions, strict)

const get = HttpApiEndpoint.get("getDatabase", path, {
  params,
  success: Database,
  error: [problems.notFound, problems.gone]
}).annotateMerge(
  documented({
    summary: "Reads a database",
    description: "With its credentials, once it is ready. 410 is answered for some weeks after it was dropped."
  })
)

const remove = HttpApiEndpoint.delete("deleteDatabase", path, {
  params,
  headers: { prefer: Prefer },
  success: [HttpApiSchema.WithHeaders(Summary.pipe(HttpApiSchema.status(200)), waited), Accepted],
  error: [problems.notFound, problems.gone]
}).annotateMerge(
  documented({
    summary: "Deletes a database",
    description:
      "Closes it at once: 200 means that nobody is connected and nobody can log in. Its data is dropped after a grace period, and counts against the quota until then."
  })
)

const list = HttpApiEndpoint.get("listDatabases", "/v1/databases", {
  query: Query,
  success: Page
})
  .annotateMerge(documented({ summary: "Lists databases, without credentials" }))
  .annotate(HttpApi.QueryParseOptions, strict)

/**
 * The API.
 *
 * @category api
 * @since 0.1.0
 */
export const Api = HttpApi.make("db-provider")
  .add(HttpApiGroup.make("databases", { topLevel: true }).add(put, get, remove, list).middleware(Authorization))
  .annotateMerge(
    documented({
      title: "Berth database provider",
      version: "v1",
      description: "Tenant databases on shared PostgreSQL servers. Refusals are problem documents (RFC 9457).",
      license: { name: "Apache-2.0" },
      transform: (document) => openAnswers(document, ["Parameters"])
    })
  )

/**
 * Where the OpenAPI document is served, to everybody.
 *
 * @category constants
 * @since 0.1.0
 */
export const openApiPath = "/openapi.json"

/**
 * The OpenAPI document (3.1).
 *
 * @category conversions
 * @since 0.1.0
 */
export const openApi = Effect.sync(() => OpenApi.fromApi(Api))
