/**
 * The parameters of a shared component, checked against its provider's JSON Schema.
 *
 * **Guarantees**
 * - S23: parameters that do not fit are refused with the path of each, and so is a schema that is none.
 * - Defaults of the schema are filled in, so that templates find them.
 *
 * **Caveats**
 * - Draft 7, without formats and without references to other documents. The schema's author is trusted with the time that its
 *   patterns take.
 *
 * @since 0.1.0
 */
import { Ajv, type ErrorObject } from "ajv"
import { Data, Result } from "effect"
import type { Shape } from "./internal/shape.ts"
import * as shapes from "./internal/shape.ts"

/**
 * The provider's schema is not a JSON Schema.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidParameterSchema extends Data.TaggedError("InvalidParameterSchema")<{
  /** What the validator says of it. */
  readonly problem: string
}> {
  override get message() {
    return `the schema of the parameters is no JSON Schema: ${this.problem}`
  }
}

/**
 * One thing that is wrong with parameters.
 *
 * @category models
 * @since 0.1.0
 */
export interface Mismatch {
  /** From the parameters on: `.size`, `.hosts[0]`; empty for the parameters as a whole. */
  readonly path: string
  readonly problem: string
}

/**
 * The parameters do not fit the provider's schema.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidParameters extends Data.TaggedError("InvalidParameters")<{
  readonly mismatches: ReadonlyArray<Mismatch>
}> {
  override get message() {
    return this.mismatches.map(({ path, problem }) => `${path === "" ? "parameters" : path} ${problem}`).join("; ")
  }
}

const mismatchesMax = 16

const mismatch = ({ instancePath, message, params }: ErrorObject): Mismatch => {
  const path = instancePath
    .split("/")
    .slice(1)
    .map((key) => shapes.step(key.replaceAll("~1", "/").replaceAll("~0", "~")))
    .join("")
  const extra: unknown = params["additionalProperty"]
  return typeof extra === "string"
    ? { path: path + shapes.step(extra), problem: "is not a parameter" }
    : { path, problem: message ?? "does not fit" }
}

/**
 * The parameters with the schema's defaults filled in; they themselves where there is no schema.
 *
 * **Errors**: InvalidParameterSchema, InvalidParameters with at most 16 mismatches.
 *
 * **Example** (A default that fills in)
 * ```ts
 * import * as Parameters from "@berth/shared-components/Parameters"
 *
 * const filled = Parameters.check({ type: "object", properties: { size: { type: "integer", default: 3 } } }, {})
 * ```
 *
 * @category checks
 * @since 0.1.0
 */
export const check = (
  schema: Readonly<Record<string, unknown>> | undefined,
  parameters: Readonly<Record<string, unknown>>
): Result.Result<Readonly<Record<string, unknown>>, InvalidParameterSchema | InvalidParameters> => {
  if (schema === undefined) return Result.succeed(parameters)
  // One validator for each check: a shared one would keep every schema that it has ever seen.
  const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: false, validateFormats: false, logger: false })
  return Result.flatMap(
    Result.try({
      try: () => ajv.compile(schema),
      catch: (error) => new InvalidParameterSchema({ problem: error instanceof Error ? error.message : "unknown" })
    }),
    (validate) => {
      const filled = structuredClone(parameters)
      return validate(filled)
        ? Result.succeed(filled)
        : Result.fail(
            new InvalidParameters({ mismatches: (validate.errors ?? []).slice(0, mismatchesMax).map(mismatch) })
          )
    }
  )
}

/** @internal */
export const shape = (schema: Readonly<Record<string, unknown>> | undefined): Shape => shapes.ofSchema(schema)
