/**
 * In which form an answer is wanted.
 */
import { notAcceptable } from "./apiError.ts"

/** @internal */
export type Form = "plain" | "table" | "metadata" | "discovery"

const forms: Readonly<Record<string, Form>> = {
  Table: "table",
  PartialObjectMetadata: "metadata",
  PartialObjectMetadataList: "metadata",
  APIGroupDiscoveryList: "discovery"
}

const discoveryGroup = "apidiscovery.k8s.io"
const discoveryVersion = "v2"
const metaGroup = "meta.k8s.io"

/** Those of tables and of metadata alone. */
const versions: ReadonlyArray<string> = ["v1", "v1beta1"]

/** @internal */
export interface Negotiated {
  readonly form: Form
  readonly version: string
  /** What the form was asked for as; empty for the plain one. */
  readonly as: string
}

/** The first form of an Accept header that the server can give. @internal */
export const formOf = (accept: string, possible: ReadonlyArray<Form>): Negotiated => {
  for (const part of accept === "" ? ["*/*"] : accept.split(",")) {
    const [media = "", ...parameters] = part
      .trim()
      .split(";")
      .map((one) => one.trim())
    if (!["application/json", "application/*", "*/*", "application/yaml"].includes(media)) continue
    const values = new Map(
      parameters.map((parameter) => [parameter.split("=")[0] ?? "", parameter.split("=")[1] ?? ""])
    )
    const as = values.get("as") ?? ""
    const version = values.get("v") ?? ""
    const form = as === "" ? "plain" : forms[as]
    if (form === undefined || !possible.includes(form)) continue
    const group = values.get("g") ?? ""
    const isKnown =
      form === "discovery"
        ? group === discoveryGroup && version === discoveryVersion
        : group === metaGroup && versions.includes(version)
    if (form === "plain" || isKnown) return { form, version, as }
  }
  throw notAcceptable()
}
