/** Which paths there are, and with which methods. */
import { Option } from "effect"
import { HttpApi } from "effect/http-api"
import { Api, openApiPath } from "../../Api.ts"

interface Route {
  /** As OpenAPI writes it. */
  readonly name: string
  readonly matches: RegExp
  readonly methods: ReadonlyArray<string>
  readonly takesParameters: boolean
}

const collected = (): ReadonlyArray<Route> => {
  const methods = new Map<string, Array<string>>([[openApiPath, ["GET", "HEAD"]]])
  const parametrised = new Set<string>()
  HttpApi.reflect(Api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint: { method, path, query } }) => {
      if (query !== undefined) parametrised.add(path)
      const served = method === "GET" ? ["GET", "HEAD"] : [method]
      methods.set(path, [...(methods.get(path) ?? []), ...served])
    }
  })
  return [...methods].map(([path, served]) => ({
    name: path.replaceAll(/:(\w+)/gu, "{$1}"),
    matches: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/:\w+/gu, "[^/]+")}$`, "u"),
    methods: served.toSorted(),
    takesParameters: parametrised.has(path)
  }))
}

const routes = collected()

/** Whether it has parameters that its path takes none of. */
export const hasParametersInVain = (url: string): boolean =>
  /\?./su.test(url) && Option.exists(routeOf(url), ({ takesParameters }) => !takesParameters)

export const routeOf = (url: string): Option.Option<Route> => {
  const path = url.replace(/[?#].*$/su, "")
  return Option.fromUndefinedOr(routes.find(({ matches }) => matches.test(path)))
}
