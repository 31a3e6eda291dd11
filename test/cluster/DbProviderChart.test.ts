/** The chart of the database provider: the real helm installs it on a real API server, whose own admission holds what it says. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { KubeError } from "@berth/kube/KubeError"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import * as ProviderAccess from "@berth/db-provider/Access"
import { type AuditEvent, Line } from "@berth/db-provider/AuditEvent"
import * as Consent from "@berth/db-provider/Consent"
import * as Crds from "@berth/db-provider/Crds"
import { Database } from "@berth/db-provider/Database"
import * as Names from "@berth/db-provider/Names"
import * as Await from "@berth/testing/Await"
import * as Certificate from "@berth/testing/Certificate"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Result, Schedule, Schema } from "effect"
import * as Collector from "../../packages/operator/test/support/collector.ts"
import * as Accounts from "./support/accounts.ts"
import * as Helm from "./support/helm.ts"
import * as Installation from "./support/installation.ts"
import * as Manifests from "./support/manifests.ts"
import * as Promtool from "./support/promtool.ts"
import * as ProviderStory from "./support/providerStory.ts"
import * as ProviderRemains from "./support/providerRemains.ts"
import * as Requests from "./support/requests.ts"
import * as Restricted from "./support/restricted.ts"

const candidate = Clusters.each().find(({ kind }) => kind === "existing")
const program = candidate === undefined ? undefined : Helm.find()
if (program === undefined) {
  console.warn(`the provider's chart is not tried: it needs ${Clusters.variable} and helm, built from its Go module`)
}
if (program !== undefined && !Promtool.isThere) Promtool.notice()
const cluster = candidate?.layer ?? Cluster.embeddedWithClient()

const patience = 300_000
const release = "berth-db-provider"

/** As it is, all that can be on, and all that can be off. */
const settingsTried = [
  "",
  [
    "networkPolicy.enabled=true,networkPolicy.apiFrom[0].podSelector.matchLabels.app=ci",
    "networkPolicy.healthFrom[0].podSelector.matchLabels.app=prometheus",
    "serviceMonitor.enabled=true,serviceMonitor.labels.team=platform",
    "prometheusRule.enabled=true,prometheusRule.labels.team=platform,deletionPolicy.enabled=true",
    "tls.certManager.enabled=true,tls.certManager.issuer.name=ca,tls.certManager.dnsNames[0]=databases.example.com",
    "audit.file=/audit/events.jsonl,extraVolumes[0].name=audit,extraVolumes[0].emptyDir.sizeLimit=1Gi",
    "extraVolumeMounts[0].name=audit,extraVolumeMounts[0].mountPath=/audit",
    "telemetry.endpoint=http://collector:4318,telemetry.headersSecret.name=otlp,telemetry.resourceAttributes=team=platform",
    "image.pullSecrets[0]=registry,serviceAccount.annotations.team=platform,priorityClassName=system-cluster-critical",
    `image.digest=sha256:${"0".repeat(64)},podLabels.team=platform,podAnnotations.team=platform`,
    "nodeSelector.disk=ssd,tolerations[0].operator=Exists,env[0].name=NODE_OPTIONS,env[0].value=--trace-warnings",
    "topologySpreadConstraints[0].maxSkew=1,topologySpreadConstraints[0].topologyKey=zone",
    "topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule,fullnameOverride=other,log.format=text",
    "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution=null",
    "service.type=LoadBalancer,service.annotations.team=platform"
  ].join(","),
  [
    "crds.install=false,rbac.create=false,serviceAccount.create=false,serviceAccount.name=mine",
    "podDisruptionBudget.enabled=false,replicas=1,resources=null,tls.secretName=mine"
  ].join(",")
]

const inFortyDays = 40 * 86_400

/** The metrics of a replica for two hours in which all is well. */
const well: Readonly<Record<string, string>> = {
  "leader_election_master_status{}": "1x120",
  'berth_cache_synced{resource="shards"}': "1x120",
  'controller_runtime_reconcile_panics_total{controller="shards"}': "0x120",
  'controller_runtime_reconcile_timeouts_total{controller="shards"}': "0x120",
  "berth_db_audit_lost_total{}": "0x120",
  'berth_db_api_request_seconds_count{code="200"}': "0+60x120",
  'berth_db_api_request_seconds_count{code="503"}': "0+1x120",
  'berth_db_auth_denied_total{reason="unknown"}': "0+1x120",
  "berth_db_certificate_expiry_timestamp_seconds{}": `${inFortyDays}x120`,
  "berth_db_certificate_current{}": "1x120",
  'berth_db_token_expiry_timestamp_seconds{consumer="ci",token="main"}': `${inFortyDays}x120`,
  'berth_db_shard_ready{shard="a"}': "1x120",
  'berth_db_shard_accepting{shard="a"}': "1x120",
  'berth_db_shard_room{shard="a"}': "5x120",
  'berth_db_ddl_errors_total{shard="a",sqlstate="53300"}': "0x120",
  'berth_db_isolation_violations{shard="a"}': "0x120",
  'berth_db_isolation_looked_timestamp_seconds{shard="a"}': "0+60x120",
  'berth_db_held{shard="a"}': "0x120",
  'berth_db_databases{shard="a",phase="Failed"}': "0x120",
  'berth_db_provisioning_seconds_bucket{step="ready",outcome="success",le="0.5"}': "0+1x120",
  'berth_db_provisioning_seconds_bucket{step="ready",outcome="success",le="120"}': "0+1x120",
  'berth_db_provisioning_seconds_bucket{step="ready",outcome="success",le="+Inf"}': "0+1x120",
  'berth_db_overdue_drops{shard="a"}': "0x120",
  'berth_db_soft_deleted_oldest_seconds{shard="a"}': `${7 * 86_400}x120`,
  'berth_db_unverified{shard="a",reason="differs"}': "0x120",
  'berth_db_orphans{shard="a",kind="missing"}': "0x120",
  'berth_db_consumer_databases{consumer="ci"}': "9x120",
  'berth_db_consumer_quota{consumer="ci"}': "10x120"
}

/** By the metric that says it, what is read when it is not. */
const unwell: Readonly<Record<string, readonly [values: string, alert: string]>> = {
  "leader_election_master_status{}": ["0x120", "BerthDbWithoutLeader"],
  'berth_cache_synced{resource="shards"}': ["0x120", "BerthDbNotSynced"],
  'controller_runtime_reconcile_panics_total{controller="shards"}': ["0+1x120", "BerthDbPanics"],
  'controller_runtime_reconcile_timeouts_total{controller="shards"}': ["0+1x120", "BerthDbReconcileTimeouts"],
  "berth_db_audit_lost_total{}": ["0+1x120", "BerthDbAuditLost"],
  'berth_db_api_request_seconds_count{code="503"}': ["0+4x120", "BerthDbApiErrors"],
  'berth_db_auth_denied_total{reason="unknown"}': ["0+90x120", "BerthDbAuthDenied"],
  "berth_db_certificate_expiry_timestamp_seconds{}": [`${6 * 86_400}x120`, "BerthDbCertificateExpires"],
  "berth_db_certificate_current{}": ["0x120", "BerthDbCertificateNotCurrent"],
  'berth_db_token_expiry_timestamp_seconds{consumer="ci",token="main"}': [`${13 * 86_400}x120`, "BerthDbTokenExpires"],
  'berth_db_shard_ready{shard="a"}': ["0x120", "BerthDbShardNotReady"],
  'berth_db_shard_accepting{shard="a"}': ["0x120", "BerthDbLittleRoom"],
  'berth_db_shard_room{shard="a"}': ["4x120", "BerthDbLittleRoom"],
  'berth_db_ddl_errors_total{shard="a",sqlstate="53300"}': ["0+1x120", "BerthDbDdlErrors"],
  'berth_db_isolation_violations{shard="a"}': ["1x120", "BerthDbIsolationViolation"],
  'berth_db_isolation_looked_timestamp_seconds{shard="a"}': ["0x120", "BerthDbIsolationUnproven"],
  'berth_db_held{shard="a"}': ["1x120", "BerthDbHeld"],
  'berth_db_databases{shard="a",phase="Failed"}': ["1x120", "BerthDbFailed"],
  'berth_db_provisioning_seconds_bucket{step="ready",outcome="success",le="0.5"}': ["0x120", "BerthDbSlow"],
  'berth_db_overdue_drops{shard="a"}': ["1x120", "BerthDbOverdueDrops"],
  'berth_db_soft_deleted_oldest_seconds{shard="a"}': [`${31 * 86_400}x120`, "BerthDbOldestSoftDeleted"],
  'berth_db_unverified{shard="a",reason="differs"}': ["1x120", "BerthDbUnverified"],
  'berth_db_orphans{shard="a",kind="missing"}': ["1x120", "BerthDbOrphans"],
  'berth_db_consumer_databases{consumer="ci"}': ["10x120", "BerthDbQuotaReached"]
}

/** As a scrape has them: with what tells releases and replicas apart. */
const scraped = (series: Readonly<Record<string, string>>, namespace: string, pod: string) =>
  Object.fromEntries(
    Object.entries(series).map(([name, values]) => [
      name.replace("{", `{namespace="${namespace}",service="${release}-metrics",pod="${pod}",`).replace(",}", "}"),
      values
    ])
  )

const policies = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].map((kind) =>
  ResourceType.make({
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind,
    plural: `${kind.toLowerCase().replace(/y$/u, "ie")}s`,
    scope: "Cluster"
  })
)

/** A namespace that helm is to make; it goes with the scope, and the kinds as well, whatever keeps them. */
const place = Effect.gen(function* () {
  const namespace = yield* Clusters.unique("berth-test")
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      for (const type of policies.toReversed()) {
        yield* ProviderRemains.gone(type, `${namespace}.${release}-records`)
        yield* ProviderRemains.gone(type, `${namespace}.${release}-roots`)
      }
      yield* ProviderRemains.removed(namespace)
    })
  )
  return namespace
})

/** A record and the Secret with its password, as the provider makes them, by a client that may be anybody's. */
const tenant = Effect.fnUntraced(function* (namespace: string) {
  const client = yield* Client
  const databaseName = yield* Names.tenant
  const finalizers = [Consent.finalizer]
  const record = yield* client.create(Database, {
    metadata: { name: Names.record("ci", databaseName), namespace, finalizers },
    spec: {
      consumerRef: { name: "ci", uid: "uid-of-ci" },
      externalId: databaseName.slice(2),
      databaseName,
      roleName: databaseName,
      credentialsSecretRef: { name: Names.credentials(databaseName), key: "password" }
    }
  })
  const secret = yield* client.create(Builtin.Secret, {
    metadata: { name: Names.credentials(databaseName), namespace, finalizers }
  })
  const ref = ({ metadata: { name, uid = "" } }: KubeObject) => ({ name, namespace, uid })
  return { record: ref(record), secret: ref(secret) }
})

/** What a deletion would come to, in words. Nothing is deleted. */
const deletion = (type: ResourceType.ResourceType, ref: Ref) =>
  Client.use((client) => client.delete<KubeObject>(type, ref, { dryRun: true })).pipe(
    Effect.result,
    Effect.map(
      Result.match({
        onSuccess: () => "allowed",
        onFailure: ({ _tag }: KubeError): string => _tag
      })
    )
  )

/** A certificate in files, a port, and what tells the provider of them. */
const tls = Effect.gen(function* () {
  const folder = yield* LocalProcess.temporaryFolder("berth-tls")
  const [port] = yield* LocalProcess.freePorts(1)
  const { cert, key } = Certificate.selfSigned()
  writeFileSync(join(folder, "tls.crt"), cert)
  writeFileSync(join(folder, "tls.key"), key, { mode: 0o600 })
  const files = ["--tls-certificate", join(folder, "tls.crt"), "--tls-key", join(folder, "tls.key")]
  return { args: [...files, "--api-listen", `127.0.0.1:${port}`], caBundle: cert, port }
})

const readLine = Schema.decodeUnknownEffect(Schema.fromJsonString(Line))

/** All of the audit log but what did not go wrong. */
const eventsOfStory: ReadonlyArray<AuditEvent["event"]> = [
  "auth.denied",
  "database.requested",
  "database.placed",
  "database.ready",
  "credentials.read",
  "database.held",
  "delete.requested",
  "database.released",
  "database.closed",
  "database.dropped"
]

const seriesOfStory = [
  ...["place", "credentials", "create", "close", "drop", "ready"].map(
    (step) => `berth_db_provisioning_seconds_count{step="${step}",outcome="success"}`
  ),
  'berth_db_auth_denied_total{reason="unknown"} 1',
  'berth_db_api_request_seconds_count{method="PUT",route="/v1/databases/{id}",code="201"} 2',
  "berth_db_certificate_expiry_timestamp_seconds ",
  "berth_db_certificate_current 1",
  "berth_db_audit_lost_total 0",
  'berth_db_audit_events_total{event="database.dropped",outcome="success"} 2'
]

describe.skipIf(program === undefined)("The chart of the database provider", () => {
  it.live(
    "is rendered to what the API server takes, with every switch on, off, and as it is",
    () =>
      Effect.gen(function* () {
        const helm = yield* Helm.make(program ?? "")
        const namespace = yield* Clusters.namespace

        for (const [index, switches] of settingsTried.entries()) {
          const set = switches === "" ? [] : ["--set", switches]
          yield* helm.said("lint", "--strict", Helm.providerChart, ...set)
          const rendered = Manifests.objectsOf(
            yield* helm.said("template", release, Helm.providerChart, "--namespace", namespace, ...set)
          )
          const known = rendered.filter((object) => Option.isSome(Manifests.typeOf(object)))
          // The kinds are the same each time, and large.
          const small = known.filter(({ kind }) => index === 0 || kind !== "CustomResourceDefinition")
          yield* Manifests.apply(small, { dryRun: true })
          const unknown = rendered.filter((object) => !known.includes(object)).map(({ kind }) => kind)
          assert.sameMembers(
            unknown,
            switches.includes("serviceMonitor") ? ["Certificate", "PrometheusRule", "ServiceMonitor"] : []
          )
        }
      }).pipe(Effect.scoped, Effect.provide(cluster)),
    patience
  )

  it.live(
    "D14: with its policy nobody but the provider deletes a record or a password, and nobody their kinds and their namespace",
    () =>
      Effect.gen(function* () {
        const client = yield* Client
        const helm = yield* Helm.make(program ?? "")
        const namespace = yield* place
        const at = ["--namespace", namespace]
        const set = ["--set", "replicas=0,deletionPolicy.enabled=true"]
        yield* helm.said(
          "install",
          release,
          Helm.providerChart,
          ...at,
          "--create-namespace",
          "--take-ownership",
          ...set
        )
        yield* Effect.forEach(Crds.all, ({ metadata }) =>
          Await.until(Builtin.CustomResourceDefinition, { name: metadata.name }, ({ status }) =>
            (status?.conditions ?? []).some(({ status, type }) => type === "Established" && status === "True")
          )
        )
        const { record, secret } = yield* tenant(namespace)
        const other = { name: "other", namespace }
        yield* client.create(Builtin.Secret, { metadata: other })
        const kind = { name: "databases.db.berth.dev" }
        // A policy counts a moment after it was made.
        const refused = { until: (said: string) => said !== "allowed", schedule: Schedule.spaced("100 millis") }
        yield* Effect.repeat(deletion(Database, record), refused)
        yield* Effect.repeat(deletion(Builtin.CustomResourceDefinition, kind), refused)

        const byAnybody = {
          record: yield* deletion(Database, record),
          secret: yield* deletion(Builtin.Secret, secret),
          another: yield* deletion(Builtin.Secret, other),
          kind: yield* deletion(Builtin.CustomResourceDefinition, kind),
          namespace: yield* deletion(Builtin.Namespace, { name: namespace })
        }
        const words = yield* Effect.flip(client.delete(Database, record, { dryRun: true }))
        const account = { name: release, namespace }
        const kubeconfig = yield* Accounts.kubeconfig(account)
        const asProvider = Effect.provide(
          Layer.fresh(Cluster.client).pipe(Layer.provide(Cluster.existing({ kubeconfig })))
        )
        const byProvider = {
          record: yield* deletion(Database, record).pipe(asProvider),
          secret: yield* deletion(Builtin.Secret, secret).pipe(asProvider)
        }
        const annotated = (uid: string) => {
          const patch = { metadata: { annotations: { [Consent.releaseAnnotation]: uid } } }
          return Effect.andThen(client.patch(Database, record, { type: "merge", patch }), deletion(Database, record))
        }
        const letGo = [yield* annotated("another"), yield* annotated(record.uid)]
        yield* helm.said(
          "upgrade",
          release,
          Helm.providerChart,
          ...at,
          "--set",
          "replicas=0,deletionPolicy.enabled=false"
        )
        const allowed = { until: (said: string) => said === "allowed", schedule: Schedule.spaced("100 millis") }
        yield* Effect.repeat(deletion(Builtin.Secret, secret), allowed)
        yield* Effect.repeat(deletion(Builtin.CustomResourceDefinition, kind), allowed)

        const forbidden = "Forbidden"
        assert.deepStrictEqual(byAnybody, {
          record: forbidden,
          secret: forbidden,
          another: "allowed",
          kind: forbidden,
          namespace: forbidden
        })
        assert.deepStrictEqual(byProvider, { record: "allowed", secret: "allowed" })
        assert.deepStrictEqual(letGo, [forbidden, "allowed"])
        assert.include(JSON.stringify(words), `${Consent.releaseAnnotation}=${record.uid}`)
      }).pipe(Effect.scoped, Effect.provide(cluster)),
    patience
  )

  it.live(
    "D23: each alert fires for what it is about, in its own release, and none where all is well",
    ({ skip }) =>
      Effect.gen(function* () {
        if (!Promtool.isThere) return skip("there is no promtool on this machine")
        const helm = yield* Helm.make(program ?? "")
        const on = ["--namespace", "n", "--set", "prometheusRule.enabled=true"]
        const rendered = Manifests.objectsOf(yield* helm.said("template", release, Helm.providerChart, ...on))
        const minutes = 110
        const both = (one: Readonly<Record<string, string>>, namespace = "n") => ({
          ...scraped(well, "n", "a"),
          ...scraped(well, "n", "b"),
          ...scraped(one, namespace, "a"),
          ...scraped(one, namespace, "b")
        })

        yield* Promtool.check(rendered, [
          { series: both({}), minutes, firing: [] },
          ...Object.entries(unwell).map(([name, [values, alert]]) => ({
            series: both({ [name]: values }),
            minutes,
            firing: [alert]
          })),
          {
            series: both(Object.fromEntries(Object.entries(unwell).map(([name, [values]]) => [name, values])), "other"),
            minutes,
            firing: []
          }
        ])
      }).pipe(Effect.scoped, Effect.provide(cluster)),
    patience
  )

  it.live(
    "K20, D14, D22, D23: the provider asks for exactly what the chart gives, tells of it, and holds what was deleted without the policy",
    () =>
      Effect.gen(function* () {
        const helm = yield* Helm.make(program ?? "")
        const namespace = yield* place
        const where = { releaseNamespace: namespace, defaultNamespace: "default" }
        yield* helm.said(
          "install",
          release,
          Helm.providerChart,
          "--namespace",
          namespace,
          "--create-namespace",
          "--take-ownership"
        )
        const collector = yield* Collector.serve
        const { args, caBundle, port } = yield* tls
        const provider = yield* Installation.start(
          { name: release, namespace },
          { command: Installation.provider, args, env: collector.variables }
        )
        yield* provider.ready(({ isOk }) => isOk)

        const said = yield* ProviderStory.tell(where, yield* Postgres.make(), {
          baseUrl: `https://localhost:${port}`,
          caBundle
        })
        const metrics = yield* provider.read("/metrics")
        yield* provider.process.signal("SIGTERM")
        yield* provider.process.ended

        const lines = provider
          .output()
          .split("\n")
          .filter((line) => line.startsWith('{"type":"audit"'))
        const told = yield* Effect.forEach(lines, (line) => readLine(line, { onExcessProperty: "error" }))
        assert.sameMembers([...new Set(told.map(({ event }) => event))], [...eventsOfStory])
        for (const series of seriesOfStory) assert.include(metrics.text, `\n${series}`)
        assert.deepStrictEqual(said, {
          strange: "unauthorized",
          made: "Ready",
          held: "Held",
          removed: "Closed",
          after: "database_deleted"
        })
        const { spans } = collector.seen()
        assert.deepStrictEqual(Requests.refused(spans, where), [])
        assert.deepStrictEqual(Requests.asked(spans, where), Requests.declared(ProviderAccess.all(where), where))
      }).pipe(Effect.scoped, Effect.provide(cluster)),
    patience
  )

  it.live("runs where only restricted Pods may", () =>
    Effect.gen(function* () {
      const helm = yield* Helm.make(program ?? "")

      const taken = yield* Restricted.pod(helm, release, (namespace) => [Helm.providerChart, "--namespace", namespace])

      assert.strictEqual(taken.spec?.serviceAccountName, "default")
    }).pipe(Effect.scoped, Effect.provide(cluster))
  )

  it.live("refuses settings that the provider would refuse, or that nobody knows", () =>
    Effect.gen(function* () {
      const helm = yield* Helm.make(program ?? "")

      for (const wrong of [
        "replica=3",
        "graceSeconds=soon",
        "image.digest=latest",
        "audit.file=here",
        "service.port=0"
      ]) {
        const { code, output } = yield* helm.ended(["template", release, Helm.providerChart, "--set", wrong])
        assert.strictEqual(code, 1, wrong)
        assert.include(output, wrong.split("=")[0]?.split(".").at(-1) ?? "")
      }
    }).pipe(Effect.scoped, Effect.provide(cluster))
  )
})
