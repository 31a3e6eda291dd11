/** Which changes of an object lead to a pass for it. */
import type { Change } from "@berth/kube/Change"
import type { Finalizer } from "@berth/kube/Finalizers"
import type { KubeObject } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import * as Watch from "@berth/kube/Watch"

/**
 * As `Watch.desired`, but for the finalizer: that this manager adds its own is no news, that somebody took it away is.
 */
export const isNews =
  (finalizer: string | undefined) =>
  (change: Change<KubeObject>): boolean => {
    const { object, previous } = change
    if (previous === undefined || finalizer === undefined) return Watch.desired(change)
    const { finalizers = [] } = object.metadata
    const isLost = !finalizers.includes(finalizer) && (previous.metadata.finalizers ?? []).includes(finalizer)
    return (
      isLost || Watch.desired({ ...change, previous: { ...previous, metadata: { ...previous.metadata, finalizers } } })
    )
  }

export const finalizerOf = ({
  finalizer,
  kind
}: {
  readonly finalizer?: Finalizer | false | undefined
  readonly kind: ResourceType
}): Finalizer | undefined => (finalizer === false ? undefined : (finalizer ?? `berth.dev/${kind.plural}`))
