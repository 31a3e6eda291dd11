/**
 * Tokens: those of users that a test made up, and signed ones of service accounts.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { Api } from "./api.ts"
import { causes, invalid } from "./apiError.ts"
import { at, fields, list, text, timestamp, type Fields, type Obj } from "./json.ts"
import type { User } from "./request.ts"

const issuer = "https://kubernetes.default.svc"
const tokenKind = { group: "authentication.k8s.io", kind: "TokenRequest" }
const secondsMin = 600
const secondsMax = 2 ** 32

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const signature = (key: Buffer, signed: string): Buffer => createHmac("sha256", key).update(signed).digest()

/** Answers a TokenRequest. @internal */
export const issueToken = (api: Api, account: Obj, request: Fields): Fields => {
  const spec = fields(request["spec"])
  const seconds = Number(spec["expirationSeconds"] ?? 3600)
  const audiences = list(spec["audiences"]).map(text)
  if (seconds < secondsMin || seconds > secondsMax) {
    const why =
      seconds < secondsMin
        ? "may not specify a duration less than 10 minutes"
        : "may not specify a duration larger than 2^32 seconds"
    throw invalid(tokenKind, "", [causes.invalid("spec.expirationSeconds", seconds, why)])
  }
  const { name, namespace = "", uid } = account.metadata
  const nowSeconds = Math.floor(api.time.nowMs() / 1000)
  const intended = audiences.length === 0 ? [issuer] : audiences
  const claims = {
    aud: intended,
    exp: nowSeconds + seconds,
    iat: nowSeconds,
    iss: issuer,
    jti: crypto.randomUUID(),
    "kubernetes.io": { namespace, serviceaccount: { name, uid } },
    nbf: nowSeconds,
    sub: `system:serviceaccount:${namespace}:${name}`
  }
  const signed = `${encode({ alg: "HS256", typ: "JWT" })}.${encode(claims)}`
  return {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name, namespace, uid, creationTimestamp: timestamp(api.time.nowMs()) },
    spec: { audiences: intended, expirationSeconds: seconds, boundObjectRef: spec["boundObjectRef"] ?? null },
    status: {
      token: `${signed}.${signature(api.tokenKey, signed).toString("base64url")}`,
      expirationTimestamp: timestamp((nowSeconds + seconds) * 1000)
    }
  }
}

const claimsOf = (api: Api, token: string): Fields | undefined => {
  const [head = "", body = "", signed = ""] = token.split(".")
  const expected = signature(api.tokenKey, `${head}.${body}`)
  const given = Buffer.from(signed, "base64url")
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  return fields(JSON.parse(Buffer.from(body, "base64url").toString()))
}

/** Who holds a token; undefined for a token that is not, or no longer, good. @internal */
export const userOf = (api: Api, token: string): User | undefined => {
  const known = api.users.get(token)
  if (known !== undefined) return known
  const claims = claimsOf(api, token)
  if (claims === undefined || Number(claims["exp"]) * 1000 <= api.time.nowMs()) return undefined
  const namespace = text(at(claims, "kubernetes.io", "namespace"))
  const name = text(at(claims, "kubernetes.io", "serviceaccount", "name"))
  const uid = text(at(claims, "kubernetes.io", "serviceaccount", "uid"))
  // A token dies with its account, also when another of the same name follows.
  if (api.store.get("serviceaccounts", `${namespace}/${name}`)?.metadata.uid !== uid) return undefined
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
    extra: { "authentication.kubernetes.io/credential-id": [`JTI=${text(claims["jti"])}`] }
  }
}
