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

/** Those of tables and of metadata alone. */
const versions: ReadonlyArray<string> = ["v1", "v1beta1"]

/** The first form of an Accept header that the server can give. @internal */
export const formOf = (
  accept: string,
  possible: ReadonlyArray<Form>
): { readonly form: Form; readonly version: string } => {
  for (const part of accept === "" ? ["*/*"] : accept.split(",")) {
    const [media = "", ...parameters] = part
      .trim()
      .split(";")
      .map((one) => one.trim())
    if (!["application/json", "application/*", "*/*", "application/yaml"].includes(media)) continue
    const values = new Map(
      parameters.map((parameter) => [parameter.split("=")[0] ?? "", parameter.split("=")[1] ?? ""])
    )
    const as = values.get("as")
    const form = as === undefined ? "plain" : forms[as]
    if (form !== "plain" && form !== "discovery" && !versions.includes(values.get("v") ?? "v1")) continue
    if (form !== undefined && possible.includes(form)) return { form, version: values.get("v") ?? "v1" }
  }
  throw notAcceptable()
}
