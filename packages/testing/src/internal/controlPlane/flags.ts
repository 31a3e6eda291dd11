/** How the parts are started: loopback only, no node, durability traded for speed. */
import { join } from "node:path"

export interface Places {
  readonly folder: string
  readonly etcd: number
  readonly peer: number
  readonly api: number
  readonly controllers: number
}

const loopback = "127.0.0.1"

export const apiUrl = ({ api }: Places): string => `https://${loopback}:${api}`

export const etcdUrl = ({ etcd }: Places): string => `http://${loopback}:${etcd}`

const file = ({ folder }: Places, name: string): string => join(folder, "pki", name)

export const etcd = (places: Places): ReadonlyArray<string> => {
  const client = etcdUrl(places)
  const peer = `http://${loopback}:${places.peer}`
  return [
    "--name=berth",
    `--data-dir=${join(places.folder, "etcd")}`,
    "--unsafe-no-fsync",
    "--logger=zap",
    "--log-level=warn",
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=berth=${peer}`
  ]
}

export const apiServer = (places: Places, further: ReadonlyArray<string>): ReadonlyArray<string> => [
  `--etcd-servers=${etcdUrl(places)}`,
  `--bind-address=${loopback}`,
  `--secure-port=${places.api}`,
  "--endpoint-reconciler-type=none",
  `--tls-cert-file=${file(places, "apiserver.crt")}`,
  `--tls-private-key-file=${file(places, "apiserver.key")}`,
  `--client-ca-file=${file(places, "ca.crt")}`,
  `--cert-dir=${join(places.folder, "run")}`,
  "--service-account-issuer=https://kubernetes.default.svc",
  `--service-account-key-file=${file(places, "sa.pub")}`,
  `--service-account-signing-key-file=${file(places, "sa.key")}`,
  "--service-cluster-ip-range=10.224.0.0/24",
  "--authorization-mode=Node,RBAC",
  "--allow-privileged",
  ...further
]

/** Nobody makes the accounts that a Pod would have to have. */
export const withoutControllers: ReadonlyArray<string> = ["--disable-admission-plugins=ServiceAccount"]

export const controllerManager = (places: Places, kubeconfig: string): ReadonlyArray<string> => [
  `--kubeconfig=${kubeconfig}`,
  `--bind-address=${loopback}`,
  `--secure-port=${places.controllers}`,
  `--cert-dir=${join(places.folder, "run")}`,
  "--leader-elect=false",
  "--use-service-account-credentials",
  `--service-account-private-key-file=${file(places, "sa.key")}`,
  `--root-ca-file=${file(places, "ca.crt")}`,
  // Its own limits would hold it back for seconds at its start.
  "--kube-api-qps=300",
  "--kube-api-burst=600"
]
