/** The service with its edges: API, pages, and the actors behind them. */
import { Effect, Layer } from "effect"
import { ApiServer } from "../api/http/ApiServer.ts"
import { Listener } from "../api/http/Listener.ts"
import { launch } from "./Launch.ts"
import { boundMemory } from "./memory/boundMemory.ts"
import { withoutOutages } from "./OutageLines.ts"
import { service, store } from "./Service.ts"
import { ServiceProcesses } from "./ServiceProcesses.ts"
import { ShutdownReport } from "./ShutdownReport.ts"

export const start = (): void => {
  boundMemory()
  launch(
    ApiServer.layer.pipe(
      Layer.provideMerge(Listener.layer),
      Layer.provide(ShutdownReport.layer.pipe(Layer.provideMerge(service))),
      Layer.provide(ServiceProcesses.layer),
      Layer.provide(store)
    ),
    Effect.never,
    withoutOutages
  )
}
