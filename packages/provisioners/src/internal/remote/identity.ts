/** Which cluster answers: the UID of its namespace kube-system, which no other cluster has and which it keeps for life. */
import * as Builtin from "@berth/kube/Builtin"
import type * as Client from "@berth/kube/Client"
import { refusedNetworkCode } from "@berth/kube/Connection"
import type * as KubeError from "@berth/kube/KubeError"
import { type Duration, Effect } from "effect"
import type * as Disposition from "../../Disposition.ts"
import * as Identifier from "../../Identifier.ts"
import { Reasons } from "./reasons.ts"

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u

/** The code of the network's error, where there is one. */
const codeOf = (error: KubeError.KubeError): string => {
  const cause: unknown = error._tag === "Unreachable" ? error.cause : undefined
  return typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""
}

/** What OpenSSL and Node say of a certificate that does not prove whose it is. */
const untrusted = /(?:^|_)CERT(?:_|$)|^UNABLE_TO_VERIFY_LEAF_SIGNATURE$|^HOSTNAME_MISMATCH$|^INVALID_CA$/u

interface About {
  readonly cluster: Identifier.Identifier
  readonly secret: Identifier.Identifier
}

const failure = (error: KubeError.KubeError, { cluster, secret }: About): Disposition.ProvisionError => {
  const code = codeOf(error)
  const inner = error._tag === "Unreachable" && error.cause instanceof Error ? `: ${error.cause.message}` : ""
  const details = { why: `${error.message}${inner}`, cause: error }
  if (error._tag === "Unauthorized") return Reasons.credentials_rejected({ cluster, secret }, details)
  if (error._tag === "Forbidden") return Reasons.identity_forbidden({ secret }, details)
  if (code === refusedNetworkCode) return Reasons.kubeconfig_refused({ secret, part: cluster }, details)
  return untrusted.test(code)
    ? Reasons.certificate_untrusted({ cluster, secret }, details)
    : Reasons.unreachable({ cluster }, details)
}

/** Asks the cluster who it is. */
export const ask = Effect.fnUntraced(function* (
  client: Client.Client["Service"],
  about: About,
  deadline: Duration.Input
): Effect.fn.Return<Identifier.Identifier, Disposition.ProvisionError> {
  const { metadata } = yield* Effect.mapError(
    client.get(Builtin.Namespace, { name: "kube-system" }, { deadline }),
    (error) => failure(error, about)
  )
  const uid = metadata?.uid ?? ""
  if (uuid.test(uid)) return Identifier.Identifier.make(uid)
  return yield* Reasons.unreachable({ cluster: about.cluster }, { why: "what answers is not the Kubernetes API" })
})
