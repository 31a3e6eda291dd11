/** Which keys an instance's Secret must have for a provider's templates to be rendered. */
import type { SharedComponentProvider } from "../SharedComponentProvider.ts"
import { addressKeys } from "./instanceSource.ts"
import * as texts from "./texts.ts"

/** Those that the provider declares, and those that its templates read whatever happens. */
export const needed = (provider: SharedComponentProvider["spec"]): ReadonlyArray<string> => {
  const { external, instanceSecret, workload } = provider
  if (external === undefined && workload === undefined) return []
  const { hostKey, portKey } = external ?? { hostKey: addressKeys.host, portKey: addressKeys.port }
  const read = Object.values(texts.ofProvider(provider))
    .flat()
    .flatMap(texts.references)
    .filter(({ conditional }) => !conditional)
    .flatMap(({ path: [root, key] }) => {
      if (root === "Instance" && key !== undefined) return [key]
      if (root === "Host") return [hostKey]
      return root === "Port" ? [portKey] : []
    })
  const declared = external?.keys ?? instanceSecret?.keys.map(({ name }) => name) ?? []
  return [...new Set([...declared, ...read])]
}
