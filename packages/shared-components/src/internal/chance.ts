/** Texts that nobody can guess. */
import { randomInt } from "node:crypto"

const letters = "abcdefghijklmnopqrstuvwxyz"
const digits = "0123456789"
const alphanumeric = letters + letters.toUpperCase() + digits

const charsets = {
  alphanumeric,
  hex: `${digits}abcdef`,
  base64url: `${alphanumeric}-_`
} as const

export const text = (length: number, charset: keyof typeof charsets): string => {
  const characters = charsets[charset]
  return Array.from({ length }, () => characters.charAt(randomInt(characters.length))).join("")
}
