/** Which keys an instance's Secret must have for a provider's templates to be rendered. */
import type { SharedComponentProvider } from "../SharedComponentProvider.ts"
import * as texts from "./texts.ts"

/** Those that the provider declares, and those that its templates read whatever happens. */
export const needed = (provider: SharedComponentProvider["spec"]): ReadonlyArray<string> => {
  const { external } = provider
  if (external === undefined) return []
  const read = Object.values(texts.ofProvider(provider))
    .flat()
    .flatMap(texts.references)
    .filter(({ conditional }) => !conditional)
    .flatMap(({ path: [root, key] }) => {
      if (root === "Instance" && key !== undefined) return [key]
      if (root === "Host") return [external.hostKey]
      return root === "Port" ? [external.portKey] : []
    })
  return [...new Set([...external.keys, ...read])]
}
