/** From a Secret of the user to a connection that the operator's own configuration allows. */
import { X509Certificate, createPrivateKey } from "node:crypto"
import * as Builtin from "@berth/kube/Builtin"
import type * as Client from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import type { ConnectionError } from "@berth/kube/ConnectionError"
import * as SecretData from "@berth/kube/SecretData"
import * as KubeObject from "@berth/kube/KubeObject"
import { Effect, Option, Redacted } from "effect"
import type * as Disposition from "../../Disposition.ts"
import * as Identifier from "../../Identifier.ts"
import * as KubeFailure from "../../KubeFailure.ts"
import * as inputs from "../inputs.ts"
import { Reasons } from "./reasons.ts"

/** Where a kubeconfig is. */
export interface Source {
  readonly namespace: string
  readonly name: string
  readonly key: string
  readonly context: string | undefined
}

/** What a kubeconfig may use. */
export interface Policy {
  readonly trust: Connection.Trust
  readonly insecure: boolean
  readonly refusedNetworks: ReadonlyArray<string>
}

export type Text = Redacted.Redacted

const unnamed = Identifier.of("unnamed")
const identifierOf = (text: string): Identifier.Identifier =>
  Option.getOrElse(Identifier.fromString(text), () => unnamed)

export const secretOf = ({ name, namespace }: Source): Identifier.Identifier =>
  identifierOf(KubeObject.key({ name, namespace }))

/** What the cluster is called before its identity is known. */
export const hostOf = ({ server }: Connection.Connection): Identifier.Identifier => identifierOf(new URL(server).host)

/** Reads the kubeconfig and declares its Secret as an input of the pass. */
export const read = Effect.fnUntraced(function* (
  source: Source
): Effect.fn.Return<Text, Disposition.ProvisionError, Client.Client> {
  const ref = { namespace: source.namespace, name: source.name }
  const secret = secretOf(source)
  const found = yield* KubeFailure.classified(inputs.read(Builtin.Secret, ref))
  if (Option.isNone(found)) return yield* Reasons.secret_missing({ secret })
  const data = found.value.data?.[source.key]
  if (data === undefined) return yield* Reasons.key_missing({ secret, key: identifierOf(source.key) })
  return Redacted.make(SecretData.decodeText(data))
})

/** An author's error message may be long, and logs should not be. */
const whyMax = 1_000

const wrong = (secret: Identifier.Identifier, error: ConnectionError): Disposition.ProvisionError => {
  const details = { why: error.message.slice(0, whyMax), cause: error }
  if (error._tag === "ContextMissing") {
    const name = Option.getOrElse(Identifier.fromString(error.name), () => Identifier.of("current-context"))
    return Reasons.context_missing({ secret, part: identifierOf(error.what), name }, details)
  }
  if (error._tag === "KubeconfigUntrusted") {
    return Reasons.kubeconfig_refused({ secret, part: identifierOf(error.field) }, details)
  }
  const path = error._tag === "KubeconfigInvalid" ? /^(\S+) is missing/u.exec(error.problem)?.[1] : undefined
  return Reasons.kubeconfig_invalid({ secret, part: identifierOf(path ?? "yaml") }, details)
}

const given = (material: Connection.Material | undefined): string | undefined =>
  Redacted.isRedacted(material) ? Redacted.value(material) : undefined

const parses = (parse: () => unknown): boolean => {
  try {
    parse()
    return true
  } catch {
    // What is wrong with it is said by naming the part; the reason may quote the key.
    return false
  }
}

/** What goes into a header as it is. */
const tokenShape = /^[\x21-\x7e]+$/u

/** The first part that no server could accept: found here, it is the kubeconfig's fault and not the network's. */
const brokenPart = (connection: Connection.Connection): string | undefined => {
  const ca = given(connection.ca)
  const certificate = given(connection.clientCertificate)
  const key = given(connection.clientKey)
  const token = given(connection.token)
  if (ca !== undefined && !parses(() => new X509Certificate(ca))) return "certificate-authority-data"
  if (certificate !== undefined && !parses(() => new X509Certificate(certificate))) return "client-certificate-data"
  if (key !== undefined && !parses(() => createPrivateKey(key))) return "client-key-data"
  if ((connection.clientCertificate === undefined) !== (connection.clientKey === undefined)) {
    return connection.clientKey === undefined ? "client-key-data" : "client-certificate-data"
  }
  if (certificate !== undefined && key !== undefined) {
    if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) return "client-key-data"
  }
  if (token !== undefined && !tokenShape.test(token.trim())) return "token"
  const proxy = connection.proxyUrl && Redacted.value(connection.proxyUrl)
  return proxy === undefined || (URL.canParse(proxy) && /^(https?|socks5?):/u.test(proxy)) ? undefined : "proxy-url"
}

const insecurePart = (connection: Connection.Connection): string | undefined => {
  if (connection.insecureSkipTlsVerify) return "insecure-skip-tls-verify"
  return connection.server.startsWith("http:") ? connection.server.slice(0, 4) : undefined
}

/** The connection that a kubeconfig describes, where it is sound and allowed. */
export const connect = Effect.fnUntraced(function* (
  text: Text,
  source: Source,
  policy: Policy
): Effect.fn.Return<Connection.Connection, Disposition.ProvisionError> {
  const secret = secretOf(source)
  const connection = yield* Effect.mapError(
    Connection.fromKubeconfig({ text, context: source.context, trusted: policy.trust }),
    (error) => wrong(secret, error)
  )
  const broken = brokenPart(connection)
  if (broken !== undefined) return yield* Reasons.kubeconfig_invalid({ secret, part: identifierOf(broken) })
  const insecure = policy.insecure ? undefined : insecurePart(connection)
  if (insecure !== undefined) return yield* Reasons.kubeconfig_refused({ secret, part: identifierOf(insecure) })
  return { ...connection, refusedNetworks: policy.refusedNetworks }
})
