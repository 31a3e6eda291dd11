/**
 * Lets a PersistentVolumeClaim that is being deleted go, once no Pod uses it any more.
 */
import type { Api } from "./api.ts"
import { dropFinalizers } from "./deletion.ts"
import { at, list, type Obj } from "./json.ts"
import type { Change } from "./store.ts"

const claims = "persistentvolumeclaims"
const protection = "kubernetes.io/pvc-protection"

const uses = (pod: Obj, { metadata }: Obj): boolean =>
  pod.metadata.namespace === metadata.namespace &&
  !["Failed", "Succeeded"].includes(String(at(pod, "status", "phase"))) &&
  list(at(pod, "spec", "volumes")).some((volume) => at(volume, "persistentVolumeClaim", "claimName") === metadata.name)

/** @internal */
export const tendClaims = (api: Api, { storage }: Change): void => {
  if (storage !== claims && storage !== "pods") return
  for (const claim of api.store.all(claims)) {
    const waits =
      claim.metadata.deletionTimestamp !== undefined && (claim.metadata.finalizers ?? []).includes(protection)
    if (waits && !api.store.all("pods").some((pod) => uses(pod, claim))) {
      dropFinalizers(api, claims, claim, [protection])
    }
  }
}
