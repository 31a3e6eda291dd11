/** The client of the controllers, and the election that lets them use it. */
import * as Caches from "@berth/kube/Caches"
import type { Client } from "@berth/kube/Client"
import * as LeaderElection from "@berth/kube/LeaderElection"
import { Layer } from "effect"
import type { Configuration } from "../Configuration.ts"

export type Settings = Pick<
  Configuration,
  | "instance"
  | "leaderElect"
  | "leaderElectLeaseDuration"
  | "leaderElectRenewDeadline"
  | "leaderElectResourceName"
  | "leaderElectRetryPeriod"
  | "managementNamespace"
>

/**
 * Over the plain client, which fills the caches and elects, on every replica. The controllers' own writes are told to the caches, so
 * that no pass reads what was before them.
 */
export const layer = (settings: Settings): Layer.Layer<Client, LeaderElection.InvalidTimes, Client | Caches.Caches> => {
  if (!settings.leaderElect) return Caches.observedClient
  const election = LeaderElection.layer({
    name: settings.leaderElectResourceName,
    namespace: settings.managementNamespace,
    identity: settings.instance,
    leaseDuration: settings.leaderElectLeaseDuration,
    renewDeadline: settings.leaderElectRenewDeadline,
    retryPeriod: settings.leaderElectRetryPeriod
  })
  return Caches.observedClient.pipe(Layer.provide(LeaderElection.guardedClient), Layer.provideMerge(election))
}
