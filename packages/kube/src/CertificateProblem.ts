/**
 * Says why a server's certificate was not accepted, and which setting is meant by that.
 *
 * **Guarantees**
 * - Nothing of Node's own flags and variables is in it: whoever runs a program here sets other things.
 *
 * @since 0.1.0
 */

/**
 * Which settings of the program decide what is accepted, as the end of a sentence.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings {
  /** What to do where the certificate's authority is not trusted. */
  readonly authority: string
  /** What to do where it is for another name. */
  readonly name: string
}

const authority =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE|INVALID_CA)/u
const name = /^(?:ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/u

/** What Node adds to OpenSSL's words. */
const hint = /; if the root CA is installed locally.*$/su

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : "")

/**
 * What went wrong with a connection, in words; where that is the certificate, with what to do.
 *
 * **Details**: of a name with several addresses every one was tried, and Node leaves the message empty: the code stands for it.
 *
 * **Example** (A program whose users set `caBundle`)
 * ```ts
 * import * as CertificateProblem from "@berth/kube/CertificateProblem"
 *
 * const settings = { authority: "put its authority into caBundle", name: "use a name that is in it" }
 *
 * export const problemOf = (error: Error): string => CertificateProblem.explain(error, settings)
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const explain = (error: Error, settings: Settings): string => {
  const code = codeOf(error)
  const words = error.message === "" ? code : error.message.replace(hint, "")
  if (authority.test(code)) return `${words}: ${settings.authority}`
  return name.test(code) ? `${words}: ${settings.name}` : words
}
