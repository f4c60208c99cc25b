/** Every endpoint of the API and of the console by its operationId, with its full path. */
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { Api } from "../../../schemas/Api.ts"
import { ConsoleApi } from "../../../schemas/console/ConsoleApi.ts"

const endpoints = new Map<string, HttpApiEndpoint.Top>()
for (const api of [Api, ConsoleApi]) {
  HttpApi.reflect(api as typeof Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => void endpoints.set(endpoint.identifier, endpoint)
  })
}

export const endpointNames: ReadonlyArray<string> = [...endpoints.keys()]

/** For code that serves an endpoint without the router. */
export const endpointNamed = (operationId: string): HttpApiEndpoint.Top => endpoints.get(operationId)!
