/**
 * Questions about who somebody is and what they may do: answered, never stored.
 */
import { json, type Answer } from "./answer.ts"
import type { Api } from "./api.ts"
import { causes, invalid, noSuchResource } from "./apiError.ts"
import { optionalBody } from "./body.ts"
import type { VirtualKind } from "./discovery.ts"
import { at, fields, groupVersion, isFields, list, text, timestamp, type Fields } from "./json.ts"
import { accessOf, permits, rulesOf } from "./rbac.ts"
import type { ApiRequest, User } from "./request.ts"
import { userOf } from "./tokens.ts"

const userInfo = ({ extra, groups, uid, username }: User): Fields => ({
  username,
  ...(uid === undefined ? {} : { uid }),
  groups,
  ...(extra === undefined ? {} : { extra })
})

const tokenReview = (api: Api, spec: Fields): Fields => {
  const user = userOf(api, text(spec["token"]))
  return user === undefined
    ? { user: {}, error: "[invalid bearer token]" }
    : { authenticated: true, user: userInfo(user), audiences: ["https://kubernetes.default.svc"] }
}

const subjectOf = (spec: Fields): User => ({
  username: text(spec["user"]),
  groups: list(spec["groups"]).map(text)
})

/** An access review has to say who is asked about, and one thing that they may want to do. */
const checkAsked = (group: string, kind: string, spec: Fields): void => {
  if (!kind.endsWith("AccessReview")) return
  const attributes = [spec["resourceAttributes"], spec["nonResourceAttributes"]].filter((one) => isFields(one))
  const isOne = attributes.length === 1
  const isSomebody = kind.startsWith("Self") || text(spec["user"]) !== "" || list(spec["groups"]).length > 0
  const which = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
  const found = [
    ...(isOne ? [] : [causes.invalid("spec.resourceAttributes", spec["resourceAttributes"] ?? null, which)]),
    ...(isSomebody
      ? []
      : [causes.invalid("spec.user", text(spec["user"]), "at least one of user or group must be specified")])
  ]
  if (found.length > 0) throw invalid({ group, kind: "" }, "", found)
}

const statusOf = (api: Api, kind: string, spec: Fields, user: User): Fields => {
  switch (kind) {
    case "SelfSubjectReview":
      return { userInfo: userInfo(user) }
    case "TokenReview":
      return tokenReview(api, spec)
    case "SelfSubjectAccessReview":
      return { allowed: permits(api, user, accessOf(spec)) }
    case "SubjectAccessReview":
    case "LocalSubjectAccessReview":
      return { allowed: permits(api, subjectOf(spec), accessOf(spec)) }
    case "SelfSubjectRulesReview":
      return { ...rulesOf(api, user, text(spec["namespace"])), incomplete: false }
    default:
      throw noSuchResource()
  }
}

/** @internal */
export const review = (api: Api, { group, kind, version }: VirtualKind, request: ApiRequest): Answer => {
  const body = optionalBody(request, kind)
  const spec = fields(body["spec"])
  checkAsked(group, kind, spec)
  const isSelf = kind === "SelfSubjectReview"
  return json(
    {
      kind,
      apiVersion: groupVersion(group, version),
      metadata: isSelf ? { creationTimestamp: timestamp(api.time.nowMs()) } : fields(at(body, "metadata")),
      ...(isSelf ? {} : { spec }),
      status: statusOf(api, kind, spec, request.user)
    },
    { status: 201 }
  )
}
