/** The programs of `fixtures/listeners.ts` in a Sandbox, for every runtime. */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { listenInside as listenSimulated } from "../../../support/GatewayServer.ts"
import type { Answer, Ask } from "../../../support/http/TestApi.ts"
import { http, tcp } from "./fixtures/listeners.ts"

export const httpPort = 8080
export const tcpPort = 5432

const lookEveryMs = 50
const marker = "listens"

/** Runs as a command's program: it writes a file when it listens. */
const program = () =>
  `${stripTypeScriptTypes(readFileSync(join(import.meta.dirname, "fixtures/listeners.ts"), "utf8"))}
  http.listen(${httpPort}, () => tcp.listen(${tcpPort}, () => process.getBuiltinModule("fs").writeFileSync("${marker}", "")))`

/**
 * Returns once they listen.
 * @param world The Sandbox's world; absent in a fleet.
 */
export const listenInside = async (
  sandboxId: string,
  send: (method: string, path: string, ask?: Ask) => Promise<Answer>,
  world: SimulatedWorld
): Promise<void> => {
  if (!isOverAFleet) {
    listenSimulated(world, sandboxId, httpPort, http)
    world.machines.get(sandboxId)!.listeners.set(tcpPort, (dialled) => void tcp.emit("connection", dialled))
    return
  }
  const path = `/api/v2/sandboxes/${sandboxId}`
  const started = await send("POST", `${path}/operations`, {
    body: { argv: ["node", "--input-type=module", "--eval", program()] },
    headers: { "idempotency-key": randomUUID() }
  })
  const { id } = started.json.operation
  while ((await send("GET", `${path}/files/stat?path=/workspace/${marker}`)).status !== 200) {
    const { operation } = (await send("GET", `${path}/operations/${id}`)).json
    if (operation.status !== "queued" && operation.status !== "running") throw new Error(JSON.stringify(operation))
    await sleep(lookEveryMs)
  }
}
