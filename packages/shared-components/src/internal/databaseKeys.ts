/** The keys of a slice that is a database of a database provider. */

/** `.Outputs` of its binding's templates. */
export const outputs = ["host", "port", "database", "username", "password", "sslmode", "uri", "certificates"] as const

/** What its binding has without any template. */
export const ofBinding: ReadonlyArray<string> = ["type", ...outputs]
