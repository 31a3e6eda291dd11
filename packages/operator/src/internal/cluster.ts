/** The cluster of a command that is not the operator itself, and what it has to know of the operator there. */
import * as Client from "@berth/kube/Client"
import { Settings } from "@berth/shared-components/Settings"
import { Layer } from "effect"
import type { Configuration, cluster } from "../Configuration.ts"

type Given = Pick<Configuration, keyof typeof cluster>

export const layer = ({ context, kubeconfig, managementNamespace, sharedNamespace }: Given) =>
  Layer.merge(
    Client.layerDetected({ kubeconfig, context }),
    Layer.succeed(Settings, { managementNamespace, sharedNamespace, deployment: "berth", instance: "berth" })
  )
