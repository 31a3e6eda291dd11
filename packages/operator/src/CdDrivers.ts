/**
 * What deploys the charts of environments and shared components: one of the three CD tools, as the configuration says.
 *
 * @since 0.1.0
 */
import type { Access } from "@berth/kube/Access"
import type { Client } from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import type { ConnectionError } from "@berth/kube/ConnectionError"
import * as ArgoCd from "@berth/provisioners/ArgoCd"
import type { CdDriver } from "@berth/provisioners/CdDriver"
import * as Flux from "@berth/provisioners/Flux"
import * as HelmCli from "@berth/provisioners/HelmCli"
import { Effect, Layer } from "effect"
import type { Configuration } from "./Configuration.ts"

/**
 * The driver. It writes by the client in its context, so that it acts on the leader only.
 *
 * **Errors**: those of `Connection.detect`, since helm needs a kubeconfig of its own.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = ({
  argocdInlineSecrets,
  argocdNamespace,
  cdDriver,
  context,
  fluxNamespace,
  helm,
  kubeconfig
}: Pick<
  Configuration,
  "argocdInlineSecrets" | "argocdNamespace" | "cdDriver" | "context" | "fluxNamespace" | "helm" | "kubeconfig"
>): Layer.Layer<CdDriver, ConnectionError, Client> => {
  switch (cdDriver) {
    case "helm":
      return Layer.unwrap(
        Effect.map(Connection.detect({ kubeconfig, context }), (connection) =>
          HelmCli.layer({ connection, program: helm })
        )
      )
    case "flux":
      return Flux.layer({ namespace: fluxNamespace })
    case "argocd":
      return ArgoCd.layer({ namespace: argocdNamespace, allowInlineSecrets: argocdInlineSecrets })
  }
}

/**
 * What the driver asks of the API server, beside what charts need in any case. Helm runs with the rights of each chart's account.
 *
 * @category access
 * @since 0.1.0
 */
export const access = ({
  argocdNamespace,
  cdDriver,
  fluxNamespace
}: Pick<Configuration, "argocdNamespace" | "cdDriver" | "fluxNamespace">): ReadonlyArray<Access> => {
  switch (cdDriver) {
    case "helm":
      return []
    case "flux":
      return Flux.access({ namespace: fluxNamespace })
    case "argocd":
      return ArgoCd.access({ namespace: argocdNamespace })
  }
}
