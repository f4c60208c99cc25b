/** The methods of a path: used only when no route matched. */
import { HttpApi, type HttpApiGroup } from "effect/http-api"

interface KnownRoute {
  readonly method: string
  readonly path: RegExp
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path
      .split("/")
      .map((segment) => (segment.startsWith(":") ? "[^/]+" : escaped(segment)))
      .join("/")}$`
  )

/** The routes of the API, and GET of `others`. */
export const knownRoutes = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  others: ReadonlyArray<string>
): ReadonlyArray<KnownRoute> => {
  const routes: Array<KnownRoute> = others.map((path) => ({ method: "GET", path: patternOf(path) }))
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => void routes.push({ method: endpoint.method, path: patternOf(endpoint.path) })
  })
  return routes
}

/** In the order of RFC 9110; empty for an unknown path. GET implies HEAD, and any method OPTIONS. */
export const methodsOf = (routes: ReadonlyArray<KnownRoute>, path: string | null): ReadonlyArray<string> => {
  if (path === null) return []
  const found = new Set(routes.filter((route) => route.path.test(path)).map((route) => route.method))
  if (found.size === 0) return []
  if (found.has("GET")) found.add("HEAD")
  found.add("OPTIONS")
  return ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].filter((method) => found.has(method))
}
