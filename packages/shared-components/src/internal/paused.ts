/** Whether somebody has paused an object. */
import type { KubeObject } from "@berth/kube/KubeObject"
import * as Manager from "@berth/provisioners/Manager"

export const isPaused = ({ metadata }: Pick<KubeObject, "metadata">): boolean =>
  (metadata.annotations?.[Manager.pausedAnnotation] ?? "false") !== "false"
