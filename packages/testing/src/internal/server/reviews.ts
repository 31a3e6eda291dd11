/**
 * Questions about who somebody is and what they may do: answered, never stored.
 */
import { json, type Answer } from "./answer.ts"
import type { Api } from "./api.ts"
import { noSuchResource } from "./apiError.ts"
import { optionalBody } from "./body.ts"
import type { VirtualKind } from "./discovery.ts"
import { at, fields, groupVersion, list, text, timestamp, type Fields } from "./json.ts"
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
