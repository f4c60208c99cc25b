/** A service of a fleet: its host joins, is drained, and is lost and found again. Snapshots between two hosts. */
import { Effect } from "effect"
import type { Asked } from "../../../../../schemas/console/Hosts.ts"
import { Hosts } from "../../../../../src/fleet/Hosts.ts"
import { hostIdOf } from "../HostProgram.ts"
import type { Scenario, ScenarioStep } from "./Scenario.ts"
import { captured, write } from "./snapshots.ts"
import { argv, create, happen, make, pass, post, read, remove, workspace } from "./steps.ts"

const starts = happen("the host starts", ({ hosts }) => hosts[0]!.start())
const otherStarts = happen("another host starts", ({ hosts }) => hosts[1]!.start())

const asks = (asked: Asked): ScenarioStep => ({
  type: "command",
  name: asked,
  run: Effect.flatMap(Hosts, (hosts) => hosts.ask(hostIdOf(1), asked)).pipe(Effect.as([]), Effect.provide(Hosts.layer))
})

const isStopped = (code: string): ScenarioStep => ({
  ...read("get", "/sandboxes/{create}"),
  holds: ({ json }) => json.sandbox.status === "stopped" && json.sandbox.statusReason.code === code
})

const lost = happen("the host loses its power", ({ hosts }) => hosts[0]!.cutPower())
const start = make("start", "/sandboxes/{create}/start?wait=running", {})

/** A Sandbox with a snapshot on the first host, and a second host beside it. */
const onOne: ReadonlyArray<ScenarioStep> = [
  starts,
  pass(9000),
  workspace,
  create(),
  write("kept"),
  make("snapshot", "/sandboxes/{create}/snapshots", { name: "first" }),
  captured,
  otherStarts,
  pass(9000)
]

const copy = make("copy", "/sandboxes?wait=running", {
  ...{ workspaceId: "{workspace}", name: "copy", networkEnabled: false, snapshotId: "{snapshot}" }
})

/** It would fall asleep sooner or later. */
const stopCopy = post("stop", "/sandboxes/{copy}/stop")

export const fleetScenarios: ReadonlyArray<Scenario> = [
  { name: "a host joins", hosts: 1, steps: [starts, pass(9000), workspace, create()] },
  {
    name: "a host is drained",
    hosts: 1,
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
    hosts: 1,
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
  },
  {
    name: "a host is lost while an image is built",
    hosts: 1,
    steps: [
      starts,
      pass(9000),
      workspace,
      make("image", "/images", { name: "tools", dockerfile: "RUN hang" }),
      // It waits until the build has begun.
      read("output", "/images/{image}/build/output?stream=stdout&offset=0"),
      pass(6000),
      lost,
      pass(20_000),
      {
        ...read("get", "/images/{image}"),
        holds: ({ json }) => json.image.status === "failed" && json.image.statusReason.code === "IMAGE_BUILD_FAILED"
      },
      starts,
      pass(12_000),
      remove("delete", "/images/{image}"),
      pass(2000)
    ]
  },
  {
    name: "snapshots leave a drained host",
    hosts: 2,
    steps: [
      ...onOne,
      asks("DRAIN"),
      pass(24_000),
      remove("deletion", "/sandboxes/{create}"),
      asks("REMOVE"),
      pass(4000),
      happen("the removed host is scrapped", ({ hosts }) => hosts[0]!.scrap()),
      copy,
      stopCopy,
      pass(2000)
    ],
    leaves: ["/sandboxes/{copy}", "/snapshots/{snapshot}"]
  },
  {
    name: "a host is lost while a snapshot comes",
    hosts: 2,
    steps: [
      ...onOne,
      asks("DRAIN"),
      pass(1000),
      happen("the other host loses its power", ({ hosts }) => hosts[1]!.cutPower()),
      pass(9000),
      otherStarts,
      pass(24_000),
      copy,
      stopCopy,
      pass(2000)
    ],
    leaves: ["/sandboxes/{copy}", "/snapshots/{snapshot}"]
  },
  {
    name: "a snapshot travels to a first boot and to a rollback",
    hosts: 2,
    steps: [
      ...onOne,
      make("another", "/sandboxes/{create}/snapshots", { name: "another" }),
      captured,
      asks("CORDON"),
      pass(2000),
      copy,
      make("rollback", "/sandboxes/{copy}/rollback", { snapshotId: "{another}" }),
      captured,
      stopCopy,
      pass(2000)
    ],
    leaves: ["/sandboxes/{copy}", "/snapshots/{snapshot}", "/snapshots/{another}", "/snapshots/{rollbackKept}"]
  }
]
