/**
 * What a failed request to the Kubernetes API means to a pass: the one place where errors of the client become dispositions.
 *
 * **Guarantees**
 * - P5: conflicts, timeouts, quota and admission refusals are Transient, the latter two with a longer delay and reasons of
 *   their own; a missing permission names its verb and kind in `why`; an object that the server refuses is Terminal and its
 *   fields are named.
 * - P3: the server's own words go to `why` and `cause`, never into a message.
 *
 * **Caveats**
 * - Quota, admission and missing permissions all arrive as "Forbidden": only the server's text tells them apart. Where the
 *   client keeps that text back, as for Secrets, the reason is `forbidden`.
 *
 * @since 0.1.0
 */
import * as KubeError from "@berth/kube/KubeError"
import { Effect, Match, Option } from "effect"
import * as Disposition from "./Disposition.ts"
import * as Identifier from "./Identifier.ts"

/**
 * The reasons that failed requests are shown with.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `conflict` | somebody else wrote at the same moment | retried with backoff | nothing |
 * | `field_conflict` | another manager owns a field that is applied | retried with backoff | decide whose field it is |
 * | `already_exists`, `not_found`, `stale` | what was read is not what is there now | retried with backoff | nothing |
 * | `namespace_terminating` | the namespace is being deleted | retried with backoff | wait, or choose another namespace |
 * | `quota_exceeded` | a ResourceQuota is used up | retried every minute | raise the quota, or free something |
 * | `admission_refused` | a webhook or policy said no | retried every minute | read the operator's log for the policy's words |
 * | `admission_unavailable` | a webhook could not be asked | retried with backoff | mend the webhook |
 * | `forbidden` | the operator lacks a permission | retried every minute | grant what the log names |
 * | `credentials_rejected` | the operator's credentials are not accepted | retried every minute | renew them |
 * | `too_many_requests` | the server asks for patience | retried when it said, in 5 min at the latest, else with backoff | nothing |
 * | `timeout`, `unreachable`, `server_error` | no answer, or a broken one | retried with backoff | see to the API server if it lasts |
 * | `invalid_object`, `refused_object` | the server refuses what the object says | parked | correct the named fields |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("kubernetes", {
  conflict: Disposition.transient("{resource} changed at the same moment; trying again."),
  field_conflict: Disposition.transient("Another writer holds {fields} of {resource}."),
  already_exists: Disposition.transient("{resource} exists already; trying again."),
  not_found: Disposition.transient("{resource} is not there, or its namespace or kind is not; trying again."),
  stale: Disposition.transient("What was read of {resource} is too old; reading it again."),
  namespace_terminating: Disposition.transient("The namespace of {resource} is being deleted; trying again."),
  quota_exceeded: Disposition.transient("A quota leaves no room for {resource}; trying again once a minute."),
  admission_refused: Disposition.transient("A policy of the cluster refuses {resource}; trying again once a minute."),
  admission_unavailable: Disposition.transient("A policy that checks {resource} cannot be asked; trying again."),
  forbidden: Disposition.transient("The operator may not {verb} {resource}; its administrator has to allow it."),
  credentials_rejected: Disposition.transient("The cluster does not accept the operator's credentials."),
  too_many_requests: Disposition.transient("The cluster asks for patience; trying again."),
  timeout: Disposition.transient("The cluster did not answer in time; trying again."),
  unreachable: Disposition.transient("The cluster cannot be reached; trying again."),
  server_error: Disposition.transient("The cluster failed to answer; trying again."),
  invalid_object: Disposition.terminal("The cluster refuses {resource}: {fields} cannot be as given."),
  refused_object: Disposition.terminal("The cluster refuses {resource} as it is given.")
})

/** Quota, admission and permissions are mended by people, in minutes: the delay of retries is a minute from the start. */
const slowly = "1 minute"

/** Whoever answers does not have an object asked about at once again and again, nor not for days. */
const patienceMs = (retryAfterMs: number | undefined): number | undefined =>
  retryAfterMs === undefined || retryAfterMs < 1_000 ? undefined : Math.min(retryAfterMs, 5 * 60_000)

/** `User "x" cannot get resource …` of every authorizer, the checks against escalation, and blockOwnerDeletion's. */
const permission =
  /\bcannot \w+ (resource|path)\b|attempting to grant RBAC|cannot set (blockOwnerDeletion|an ownerRef)/u
const admission = /admission webhook .* denied the request|ValidatingAdmissionPolicy .* denied/su
/** A field that the schema of a built-in kind does not know or types otherwise: a 500 without a reason, in every version. */
const untyped = /^failed to create typed patch object \([^)]*\): \.?(\S+?):/u

type Answered = Extract<KubeError.KubeError, { readonly detail: string }>

const unnamed = Identifier.of("the-request")

/** `plural.group name`: the parts are identifiers by construction, but the wire is not to be trusted with that. */
const resourceOf = (error: KubeError.Request): Identifier.Identifier => {
  const name = error.name === undefined ? "" : `/${error.name}`
  return Option.getOrElse(Identifier.fromString(`${error.resource}${name}`), () =>
    Option.getOrElse(Identifier.fromString(error.resource), () => unnamed)
  )
}

const identifiers = (texts: ReadonlyArray<string>): ReadonlyArray<Identifier.Identifier> => [
  ...new Set(texts.flatMap((text) => Option.toArray(Identifier.fromString(text.replace(/^\./u, "")))))
]

const whyOf = (error: Answered): string => (error.detail === "" ? error.message : `${error.message}: ${error.detail}`)

const refused = (error: Answered, fields: ReadonlyArray<string>): Disposition.ProvisionError => {
  const details = { why: whyOf(error), cause: error }
  const named = identifiers(fields)
  const resource = resourceOf(error)
  return named.length === 0
    ? Reasons.refused_object({ resource }, details)
    : Reasons.invalid_object({ resource, fields: named }, details)
}

const forbidden = (error: KubeError.Forbidden): Disposition.ProvisionError => {
  const resource = resourceOf(error)
  const details = { why: whyOf(error), cause: error, after: slowly } as const
  const { detail } = error
  if (/\bexceeded quota\b|\bfailed quota\b/u.test(detail)) return Reasons.quota_exceeded({ resource }, details)
  if (/because it is being terminated/u.test(detail))
    return Reasons.namespace_terminating({ resource }, { why: details.why, cause: error })
  // What a policy says is its author's, and may sound like anything.
  if (admission.test(detail) || (detail !== "" && !permission.test(detail)))
    return Reasons.admission_refused({ resource }, details)
  const verb = Option.getOrElse(Identifier.fromString(error.verb), () => unnamed)
  const missing = `missing permission: ${error.verb} ${error.resource}${
    error.namespace === undefined ? "" : ` in namespace ${error.namespace}`
  }`
  return Reasons.forbidden({ verb, resource }, { ...details, why: `${missing}; ${details.why}` })
}

const conflicting = (error: KubeError.Conflict): Disposition.ProvisionError => {
  const details = { why: whyOf(error), cause: error }
  const fields = identifiers(error.managers.map(({ field }) => field))
  return fields.length === 0
    ? Reasons.conflict({ resource: resourceOf(error) }, details)
    : Reasons.field_conflict({ resource: resourceOf(error), fields }, details)
}

const failed = (error: KubeError.ServerError): Disposition.ProvisionError => {
  const details = { why: whyOf(error), cause: error }
  const field = untyped.exec(error.detail)?.[1]
  if (field !== undefined) return refused(error, [field])
  return /failed calling webhook/u.test(error.detail)
    ? Reasons.admission_unavailable({ resource: resourceOf(error) }, details)
    : Reasons.server_error(details)
}

/**
 * The disposition of a failed request.
 *
 * @category conversions
 * @since 0.1.0
 */
export const classify = (error: KubeError.KubeError): Disposition.ProvisionError => {
  const resource = resourceOf(error)
  const details = { why: "detail" in error ? whyOf(error) : error.message, cause: error }
  return Match.valueTags(error, {
    NotFound: () => Reasons.not_found({ resource }, details),
    AlreadyExists: () => Reasons.already_exists({ resource }, details),
    Conflict: conflicting,
    Gone: () => Reasons.stale({ resource }, details),
    Invalid: (invalid) =>
      admission.test(invalid.detail)
        ? Reasons.admission_refused({ resource }, { ...details, after: slowly })
        : refused(
            invalid,
            invalid.causes.map(({ field }) => field)
          ),
    Forbidden: forbidden,
    Unauthorized: () => Reasons.credentials_rejected({ ...details, after: slowly }),
    TooManyRequests: ({ retryAfterMs }) => Reasons.too_many_requests({ ...details, after: patienceMs(retryAfterMs) }),
    Timeout: () => Reasons.timeout(details),
    Unreachable: () => Reasons.unreachable(details),
    ServerError: failed
  })
}

/**
 * Turns the client's errors of an effect into dispositions, and leaves dispositions as they are. Any other error does not
 * type-check: what it means to a pass is for the author to say.
 *
 * **Example** (A provisioner that makes a ConfigMap by hand)
 * ```ts
 * import * as Client from "@berth/kube/Client"
 * import * as ResourceType from "@berth/kube/ResourceType"
 * import * as KubeFailure from "@berth/provisioners/KubeFailure"
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Effect } from "effect"
 *
 * const ConfigMap = ResourceType.make({
 *   group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", scope: "Namespaced"
 * })
 * const settings = { name: "settings", namespace: "shop" }
 *
 * export const provisioner = Provisioner.make("settings", {
 *   provision: Client.Client.use((client) => client.apply(ConfigMap, { metadata: settings })).pipe(
 *     Effect.asVoid,
 *     KubeFailure.classified
 *   ),
 *   deprovision: Client.Client.use((client) => client.delete(ConfigMap, settings)).pipe(
 *     Effect.catchTag("NotFound", () => Effect.void),
 *     KubeFailure.classified
 *   )
 * })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const classified = <A, R>(
  self: Effect.Effect<A, Disposition.ProvisionError | KubeError.KubeError, R>
): Effect.Effect<A, Disposition.ProvisionError, R> =>
  Effect.mapError(self, (error) => (Disposition.isProvisionError(error) ? error : classify(error)))

/**
 * None where a request fails since the object is not there; whatever else it fails with is {@link classified}.
 *
 * **Example** (An object that may be missing)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import * as Client from "@berth/kube/Client"
 * import * as KubeFailure from "@berth/provisioners/KubeFailure"
 *
 * export const settings = Client.Client.use((client) =>
 *   KubeFailure.orNone(client.get(Builtin.ConfigMap, { name: "settings", namespace: "shop" }))
 * )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const orNone = <A, R>(
  request: Effect.Effect<A, KubeError.KubeError, R>
): Effect.Effect<Option.Option<A>, Disposition.ProvisionError, R> => classified(KubeError.orNone(request))
