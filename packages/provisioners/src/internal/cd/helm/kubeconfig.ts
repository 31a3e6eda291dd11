/** A kubeconfig for a program that is run, from the connection that this one has. JSON is YAML, too. */
import type { AuthProvider, Connection, ExecCommand, Material } from "@berth/kube/Connection"
import { Redacted } from "effect"

const base64 = (text: string): string => Buffer.from(text, "utf8").toString("base64")

/** A file is named rather than copied, since it is read again when it is renewed. */
const material = (name: string, value: Material | undefined): Readonly<Record<string, string>> => {
  if (value === undefined) return {}
  return Redacted.isRedacted(value) ? { [`${name}-data`]: base64(Redacted.value(value)) } : { [name]: value.file }
}

const token = (value: Material | undefined): Readonly<Record<string, string>> => {
  if (value === undefined) return {}
  return Redacted.isRedacted(value) ? { token: Redacted.value(value) } : { tokenFile: value.file }
}

const exec = (command: ExecCommand | undefined) =>
  command && {
    apiVersion: command.apiVersion,
    command: command.command,
    args: command.args,
    env: Object.entries(Redacted.value(command.env)).map(([name, value]) => ({ name, value })),
    provideClusterInfo: command.provideClusterInfo,
    interactiveMode: "Never"
  }

const provider = (given: AuthProvider | undefined) =>
  given && { name: given.name, config: Redacted.value(given.config) }

/** Whether another program, on another machine, can use it: it names no file of this one, and no command. */
export const isPortable = ({ authProvider, ca, clientCertificate, clientKey, exec, token }: Connection): boolean =>
  exec === undefined &&
  authProvider === undefined &&
  [ca, clientCertificate, clientKey, token].every((each) => each === undefined || Redacted.isRedacted(each))

export const of = (connection: Connection): string => {
  const { authProvider, basic, impersonate, proxyUrl } = connection
  const cluster = {
    server: connection.server,
    ...material("certificate-authority", connection.ca),
    "insecure-skip-tls-verify": connection.insecureSkipTlsVerify ? true : undefined,
    "tls-server-name": connection.tlsServerName,
    "proxy-url": proxyUrl && Redacted.value(proxyUrl)
  }
  const user = {
    ...material("client-certificate", connection.clientCertificate),
    ...material("client-key", connection.clientKey),
    ...token(connection.token),
    username: basic?.username,
    password: basic && Redacted.value(basic.password),
    exec: exec(connection.exec),
    "auth-provider": provider(authProvider),
    as: impersonate?.user,
    "as-uid": impersonate?.uid,
    "as-groups": impersonate?.groups,
    "as-user-extra": impersonate?.extra
  }
  const name = "berth"
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster }],
    users: [{ name, user }]
  })
}
