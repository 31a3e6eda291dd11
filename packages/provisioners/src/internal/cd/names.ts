/** How applications are called, and what they may be called. */
import { createHash } from "node:crypto"
import type { Chart } from "../../CdDriver.ts"

/** Helm keeps ten characters of a name for itself. */
const releaseMax = 53
const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/u
const dnsName = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/u

const hashed = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 10)

/** A name that is too long keeps its beginning, and a hash tells it from others that begin so. */
export const releaseName = (owner: string, application: string): string => {
  const whole = `${owner}-${application}`.toLowerCase().replaceAll(/[^-a-z0-9.]/gu, "-")
  return whole.length <= releaseMax
    ? whole
    : `${whole.slice(0, releaseMax - 11).replace(/[-.]+$/u, "")}-${hashed(whole)}`
}

export const isRelease = (name: string, namespace: string): boolean =>
  dnsName.test(name) && name.length <= releaseMax && label.test(namespace) && namespace.length <= 63

/** One for each release of each cluster, and readable: two owners of one release meet there, and one is told. */
export const idOf = (name: string, namespace: string, cluster: string): string =>
  `${name.replaceAll(".", "-").slice(0, 52).replace(/-+$/u, "")}-${hashed(`${cluster}/${namespace}/${name}`)}`

const chartName = /^[A-Za-z0-9][-A-Za-z0-9_.]*$/u
/** No option of a program, and nothing that a shell or a log would stumble over. */
const word = /^[A-Za-z0-9~^][^\s\p{C}]*$/u

/** A password in a URL would be seen in arguments and status. */
const isUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { password, username } = new URL(text)
  return username === "" && password === ""
}

/** Whether the chart is named in a way that no tool takes for anything else, such as an option or a file of its machine. */
export const isChart = (chart: Chart): boolean => {
  switch (chart.source) {
    case "repository":
      return isUrl(chart.url) && chartName.test(chart.name) && word.test(chart.version)
    case "oci":
      return isUrl(chart.url) && chart.url.startsWith("oci://") && word.test(chart.version)
    case "git":
      // Of `ssh://git@host/path` the name is no secret.
      return word.test(chart.url) && (chart.url.startsWith("ssh:") || isUrl(chart.url)) && word.test(chart.revision)
    case "path":
      return chart.path.startsWith("/")
  }
}
