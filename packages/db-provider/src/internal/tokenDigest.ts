/** The digest of a token, as people put it into a Secret: made with `sha256sum`, in either case, and with the end of a line. */

const shape = /^[0-9a-f]{64}$/u

export const isDigest = (text: string): boolean => shape.test(text)

/** What there is, without what follows it and in lower case: see {@link isDigest}. */
export const of = (base64: string): string => Buffer.from(base64, "base64").toString("latin1").trimEnd().toLowerCase()
