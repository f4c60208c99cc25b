/** A service of a fleet: its host joins, is drained, and is lost and found again. */
import { Effect } from "effect"
import type { Asked } from "../../../../../schemas/console/Hosts.ts"
import { Hosts } from "../../../../../src/fleet/Hosts.ts"
import { hostId } from "../HostProgram.ts"
import type { Scenario, ScenarioStep } from "./Scenario.ts"
import { argv, create, happen, make, pass, post, read, workspace } from "./steps.ts"

const starts = happen("the host starts", ({ host }) => host!.start())

const asks = (asked: Asked): ScenarioStep => ({
  type: "command",
  name: asked,
  run: Effect.flatMap(Hosts, (hosts) => hosts.ask(hostId, asked)).pipe(Effect.as([]), Effect.provide(Hosts.layer))
})

const isStopped = (code: string): ScenarioStep => ({
  ...read("get", "/sandboxes/{create}"),
  holds: ({ json }) => json.sandbox.status === "stopped" && json.sandbox.statusReason.code === code
})

const lost = happen("the host loses its power", ({ host }) => host!.cutPower())
const start = make("start", "/sandboxes/{create}/start?wait=running", {})

export const fleetScenarios: ReadonlyArray<Scenario> = [
  { name: "a host joins", isFleet: true, steps: [starts, pass(9000), workspace, create()] },
  {
    name: "a host is drained",
    isFleet: true,
    steps: [
      starts,
      pass(9000),
      workspace,
      create(),
      make("hang", "/sandboxes/{create}/operations", argv("hang")),
      // A drain may come before a queued operation has begun, and then there is no output.
      post("look", "/sandboxes/{create}/operations/{hang}/wait", { timeoutSeconds: 5, stdoutOffset: 0 }),
      asks("DRAIN"),
      pass(14_000),
      isStopped("HOST_DRAINING"),
      asks("UNCORDON"),
      pass(9000),
      start
    ]
  },
  {
    name: "a host is lost",
    isFleet: true,
    steps: [
      starts,
      pass(9000),
      workspace,
      create(),
      lost,
      pass(20_000),
      isStopped("HOST_LOST"),
      starts,
      pass(12_000),
      start
    ]
  }
]
