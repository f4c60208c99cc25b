/** A service of a fleet over a real socket, on hosts that are simulated worlds of this process. Needs a database. */
import { Layer } from "effect"
import { ApiServer } from "../../../src/api/http/ApiServer.ts"
import { Listener } from "../../../src/api/http/Listener.ts"
import { fleetService, type WorldHost } from "../../support/fleet/SupervisedWorlds.ts"
import { testSettings } from "../../support/TestSettings.ts"

const role = { ATOLL_ROLE: "service", ATOLL_PORT: "0" }

export const fleetApi = (hosts: ReadonlyArray<WorldHost>, environment: Readonly<Record<string, string>> = {}) =>
  ApiServer.layer.pipe(
    Layer.provideMerge(Listener.layer),
    Layer.provide(testSettings({ ...role, ...environment })),
    Layer.provideMerge(fleetService(hosts, { ...role, ...environment }))
  )
