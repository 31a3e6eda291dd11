/** Writes the protobuf of small messages, none of whose bytes is beyond ASCII: they are sent as text. */

/** A field with a text or a message, up to 127 letters long. */
export const field = (number: number, value: string): string =>
  `${String.fromCodePoint(number * 8 + 2, value.length)}${value}`

/** A field with a number from 0 to 127. */
export const numberField = (number: number, value: number): string => String.fromCodePoint(number * 8, value)

const magic = "k8s\u0000"

/** The message of an object, in the envelope that says its type. */
export const envelope = (apiVersion: string, kind: string, message: string): string =>
  `${magic}${field(1, field(1, apiVersion) + field(2, kind))}${field(2, message)}${field(3, "")}${field(4, "")}`

export const deleteOptions = (message: string): string => envelope("v1", "DeleteOptions", message)
