/** The API at work over an embedded cluster, with a stand-in for the controllers, and callers of it. */
import { createHash, randomBytes } from "node:crypto"
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises"
import { Agent, request as httpsRequest } from "node:https"
import type { IncomingHttpHeaders } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect as tlsConnect, type ConnectionOptions } from "node:tls"
import * as Builtin from "@berth/kube/Builtin"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Kind from "@berth/kube/Kind"
import * as Certificate from "@berth/testing/Certificate"
import * as Cluster from "@berth/testing/Cluster"
import * as Faults from "@berth/testing/Faults"
import { Context, Effect, Layer, Stream } from "effect"
import * as ApiServer from "../../src/ApiServer.ts"
import { Audit } from "../../src/Audit.ts"
import type { AuditEvent } from "../../src/AuditEvent.ts"
import { Consumer } from "../../src/Consumer.ts"
import * as Credentials from "../../src/Credentials.ts"
import { Database } from "../../src/Database.ts"
import * as Names from "../../src/Names.ts"
import { type RawDatabase, Records } from "../../src/Records.ts"
import { Settings } from "../../src/Settings.ts"
import { Shard } from "../../src/Shard.ts"

export const namespace = "berth-db"

const encoded = (text: string) => Buffer.from(text, "utf8").toString("base64")
export const released = (name: string) => ({ name, namespace })

const crds = [Shard, Consumer, Database].map((kind) => Kind.crd(kind))

/** The kinds, and a shard that is ready. */
export const cluster = Layer.effectDiscard(
  Effect.gen(function* () {
    const client = yield* Client
    yield* Effect.forEach(crds, (crd) => client.create(Builtin.CustomResourceDefinition, crd), { discard: true })
    yield* client.create(Builtin.Namespace, { metadata: { name: namespace } })
    yield* client.create(Shard, {
      metadata: { name: "a" },
      spec: {
        primary: { host: "db-a" },
        endpoint: { host: "pooler.example.com", port: 6432, sslmode: "verify-full", caBundle: "PEM" },
        provisionerSecretRef: { name: "provisioner", key: "password" }
      }
    })
  })
).pipe(Layer.provideMerge(Faults.client()), Layer.provideMerge(Cluster.embedded()))

/** What was told to the audit log, in order. */
export class Told extends Context.Service<Told, ReadonlyArray<AuditEvent>>()("test/Told") {}

const audit = Layer.effectContext(
  Effect.sync(() => {
    const told: Array<AuditEvent> = []
    const record = (event: AuditEvent) => Effect.sync(() => void told.push(event))
    return Context.make(Audit, { record }).pipe(Context.add(Told, told))
  })
)

/** How often each lookup of records was made. */
export class Lookups extends Context.Service<Lookups, Map<string, number>>()("test/Lookups") {}

const counting = Layer.effectContext(
  Effect.gen(function* () {
    const records = yield* Records
    const counts = new Map<string, number>()
    const counted = <A>(name: string, lookup: Effect.Effect<A>) =>
      Effect.andThen(
        Effect.sync(() => counts.set(name, (counts.get(name) ?? 0) + 1)),
        lookup
      )
    const observed = {
      ...records,
      database: (name: string) => counted("database", records.database(name)),
      databases: counted("databases", records.databases),
      databasesOfConsumer: (uid: string) => counted("databasesOfConsumer", records.databasesOfConsumer(uid))
    }
    return Context.make(Records, observed).pipe(Context.add(Lookups, counts))
  })
)

/** What one replica of the provider has. */
export const replica = counting.pipe(
  Layer.provideMerge(Records.layer),
  Layer.provideMerge(
    Layer.mergeAll(Layer.succeed(Settings, { releaseNamespace: namespace, instance: "provider-0" }), audit)
  ),
  Layer.provideMerge(Caches.layer)
)

// --- The stand-in for the controllers

const status = (database: RawDatabase, fields: object) =>
  Client.use((client) =>
    client.patch(
      Database,
      released(database.metadata.name),
      { type: "merge", patch: { status: fields } },
      { subresource: "status" }
    )
  )

/** What the controllers do for a record that somebody wants. */
export const provisioned = Effect.fnUntraced(function* (database: RawDatabase) {
  const client = yield* Client
  const shard = yield* client.get(Shard, { name: "a" })
  yield* Effect.orDie(Credentials.ensure(database.spec.databaseName, namespace))
  const shardRef = { name: "a", uid: shard.metadata.uid ?? "" }
  const patch = { type: "merge", patch: { spec: { shardRef } } } as const
  yield* client.patch(Database, released(database.metadata.name), patch)
  yield* status(database, { phase: "Ready" })
})

export const phased = (database: RawDatabase, phase: string, fields: object = {}) =>
  status(database, { phase, ...fields })

/** What they do with one that nobody wants: it is closed. */
export const closed = (database: RawDatabase) => phased(database, "SoftDeleted", { dropAfter: "2030-01-01T00:00:00Z" })

/** Does so at once for every record, until the scope closes. */
export const controllers = Effect.gen(function* () {
  const records = yield* Records
  const cache = yield* Caches.open(records.definitions.databases)
  const serve = Effect.fnUntraced(function* (database: RawDatabase) {
    const { deleteRequestedAt } = database.spec
    if (deleteRequestedAt !== undefined) {
      if (database.status?.phase !== "SoftDeleted") yield* closed(database)
    } else if (database.status?.phase === undefined) yield* provisioned(database)
  })
  yield* Effect.forkScoped(
    Stream.runForEach(cache.changes, ({ _tag, object }) =>
      _tag === "Deleted" ? Effect.void : Effect.ignore(serve(object))
    )
  )
})

// --- The server

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "berth-api-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

export interface Served {
  readonly port: number
  readonly ca: string
  /** Writes another pair into the files, as a whole or in two steps. */
  readonly replace: (pair: Partial<Certificate.Certificate>) => Effect.Effect<void>
}

/** A replica's API, until the scope closes. */
export const served = Effect.fnUntraced(function* ({
  pair: given = {},
  ...options
}: Partial<ApiServer.Options> & { readonly pair?: Partial<Certificate.Certificate> } = {}) {
  const path = yield* folder
  const [certificateFile, keyFile] = [join(path, "tls.crt"), join(path, "tls.key")]
  const put = (file: string, text: string) =>
    Effect.promise(async () => {
      await writeFile(`${file}.new`, text)
      await rename(`${file}.new`, file)
    })
  const pair = { ...Certificate.selfSigned(), ...given }
  yield* put(certificateFile, pair.cert)
  yield* put(keyFile, pair.key)
  const port = yield* ApiServer.serve({ host: "127.0.0.1", port: 0, certificateFile, keyFile, ...options })
  const replace: Served["replace"] = ({ cert, key }) =>
    Effect.andThen(
      cert === undefined ? Effect.void : put(certificateFile, cert),
      key === undefined ? Effect.void : put(keyFile, key)
    )
  return { port, ca: pair.cert, replace }
})

/** A replica's parts over the cluster, without its server. */
export const parts = Layer.provideMerge(replica, cluster)

export class Api extends Context.Service<Api, Served>()("test/Api") {}

/** One replica with its API, for all tests of a file. */
export const layer = (options: Partial<ApiServer.Options> = {}) =>
  Layer.effect(Api, served(options)).pipe(Layer.provideMerge(replica), Layer.provideMerge(cluster))

/** Another replica beside it, until the scope closes. */
export const another = Effect.fnUntraced(function* (options: Partial<ApiServer.Options> = {}) {
  const context = yield* Layer.build(Layer.effect(Api, served(options)).pipe(Layer.provide(Layer.fresh(replica))))
  return Context.get(context, Api)
})

// --- Consumers and their calls

type ConsumerSpec = Kind.Raw<typeof Consumer>["spec"]

export interface Known {
  readonly name: string
  readonly token: string
  readonly uid: string
}

export const disabled = (name: string, disabled: boolean) =>
  Client.use((client) => client.patch(Consumer, { name }, { type: "merge", patch: { spec: { disabled } } }))

export const digest = (token: string) => createHash("sha256").update(token).digest("hex")

/** A Secret with what is left of a token. */
export const tokenSecret = Effect.fnUntraced(function* (name: string, token: string) {
  yield* Client.use((client) =>
    client.create(Builtin.Secret, { metadata: released(name), data: { sha256: encoded(`${digest(token)}\n`) } })
  )
  return { name, key: "sha256" }
})

/** Records of a consumer, without what a PUT does beside. */
export const recorded = ({ name, uid }: Known, ids: ReadonlyArray<string>) =>
  Effect.forEach(
    ids,
    Effect.fnUntraced(function* (externalId) {
      const databaseName = yield* Names.tenant
      const credentialsSecretRef = { name: Names.credentials(databaseName), key: Credentials.key }
      const consumerRef = { name, uid }
      const spec = { consumerRef, externalId, databaseName, roleName: databaseName, credentialsSecretRef }
      const metadata = released(Names.record(name, externalId))
      return yield* Client.use((client) => client.create(Database, { metadata, spec }))
    }),
    { concurrency: 8 }
  )

/** Whatever there is of a consumer's databases. */
export const recordOf = ({ name }: Known, id: string) =>
  Client.use((client) => client.get(Database, released(Names.record(name, id))))

/** A consumer with a token that is let in. */
export const consumer = Effect.fnUntraced(function* (
  name: string,
  spec: Partial<ConsumerSpec> = {},
  secret = `token-of-${name}`
) {
  const token = randomBytes(24).toString("base64url")
  const sha256SecretRef = yield* tokenSecret(secret, token)
  const client = yield* Client
  const created = yield* client.create(Consumer, {
    metadata: { name },
    spec: { tokens: [{ name: "first", sha256SecretRef }], ...spec }
  })
  const known: Known = { name, token, uid: created.metadata.uid ?? "" }
  yield* letIn(known)
  return known
})

/** News of tokens come by watches: a moment later. */
const letIn = ({ token }: Known): Effect.Effect<void, never, Api> =>
  Effect.flatMap(ask("GET", "/v1/databases", { token }), ({ status }) =>
    status === 200 ? Effect.void : Effect.andThen(Effect.yieldNow, letIn({ name: "", token, uid: "" }))
  )

export interface Asked {
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Default: a connection of its own. */
  readonly agent?: Agent
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
}

const alone = new Agent({ keepAlive: false, rejectUnauthorized: false })

const bodyOf = (text: string): Answer["body"] => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** The first answer in this, as {@link ask} reads answers. */
export const parsed = (all: string): Answer => {
  const [head = "", ...rest] = all.split("\r\n\r\n")
  const [line = "", ...lines] = head.split("\r\n")
  const headers = Object.fromEntries(lines.map((each) => each.toLowerCase().split(": ")))
  const text = Buffer.from(rest.join("\r\n\r\n")).toString("utf8", 0, Number(headers["content-length"]))
  return { status: Number(line.split(" ")[1]), headers, text, body: bodyOf(text) }
}

/** One request. */
export const ask = Effect.fnUntraced(function* (
  method: string,
  path: string,
  { agent = alone, body, headers, token }: Asked = {}
) {
  const { port } = yield* Api
  return yield* Effect.callback<Answer>((resume) => {
    const sent = httpsRequest(
      {
        agent,
        host: "127.0.0.1",
        port,
        method,
        path,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers
        }
      },
      (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8")
          const { headers, statusCode = 0 } = response
          resume(Effect.succeed({ status: statusCode, headers, text, body: bodyOf(text) }))
        })
      }
    )
    sent.on("error", (cause) => resume(Effect.die(cause)))
    sent.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body))
    return Effect.sync(() => sent.destroy())
  })
})

/** All that comes back on a connection of its own to which this is sent, until the server ends it. */
export const raw = Effect.fnUntraced(function* (text: string | Buffer, options: ConnectionOptions = {}) {
  const { port } = yield* Api
  return yield* Effect.callback<string>((resume) => {
    const chunks: Array<Buffer> = []
    const socket = tlsConnect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options }, () =>
      socket.write(text)
    )
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(Buffer.concat(chunks).toString("utf8"))))
    return Effect.sync(() => socket.destroy())
  })
})

export const databaseOf = (id: string) => `/v1/databases/${encodeURIComponent(id)}`
export const waiting = { prefer: "wait=20" }
