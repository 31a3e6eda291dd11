/** A plain HTTP client for the real API server that the goldens are recorded from; found by KUBECONFIG. */
import * as fs from "node:fs"
import * as https from "node:https"
import * as Yaml from "yaml"
import { arrayOf, at, isObject, objectOf, stringOf } from "../../src/internal/engines/json.ts"

export interface Answer {
  readonly code: number
  readonly body: unknown
}

export interface Oracle {
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    contentType?: string,
    accept?: string
  ) => Promise<Answer>
  readonly close: () => void
}

const secret = (holder: unknown, name: string): Buffer | undefined => {
  const data = at(holder, `${name}-data`)
  if (typeof data === "string") return Buffer.from(data, "base64")
  const file = at(holder, name)
  return typeof file === "string" ? fs.readFileSync(file) : undefined
}

export const connect = (kubeconfig: string): Oracle => {
  const config: unknown = Yaml.parse(fs.readFileSync(kubeconfig, "utf8"))
  const cluster = at(arrayOf(at(config, "clusters"))[0], "cluster")
  const user = at(arrayOf(at(config, "users"))[0], "user")
  const agent = new https.Agent({
    keepAlive: true,
    ca: secret(cluster, "certificate-authority"),
    cert: secret(user, "client-certificate"),
    key: secret(user, "client-key")
  })
  const server = stringOf(at(cluster, "server"))

  const call: Oracle["call"] = (method, path, body, contentType = "application/json", accept = "application/json") =>
    new Promise((resolve, reject) => {
      const headers = { "content-type": contentType, accept, "user-agent": "golden/1" }
      const request = https.request(server + path, { method, agent, headers }, (response) => {
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => (text += chunk))
        response.on("end", () => {
          const parsed: unknown = text.startsWith("{") ? JSON.parse(text) : text
          resolve({ code: response.statusCode ?? 0, body: parsed })
        })
      })
      request.on("error", reject)
      if (body !== undefined) request.write(JSON.stringify(body))
      request.end()
    })

  return { call, close: () => agent.destroy() }
}

/** What a refusal says: its message and its causes. */
export const refusalOf = (answer: Answer) => ({
  code: answer.code,
  message: stringOf(at(answer.body, "message")),
  causes: arrayOf(at(answer.body, "details", "causes")).map(objectOf)
})

export const isSuccess = (answer: Answer): boolean => answer.code < 300 && isObject(answer.body)
