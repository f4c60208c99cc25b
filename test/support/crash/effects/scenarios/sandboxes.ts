/** Sandboxes and workspaces. */
import type { Scenario } from "./Scenario.ts"
import { argv, create, happen, make, pass, patch, post, read, remove, running, workspace } from "./steps.ts"

export const sandboxScenarios: ReadonlyArray<Scenario> = [
  { name: "create", steps: [workspace, create({ metadata: { a: "1" }, env: { A: "1" } })] },
  {
    name: "stop and start",
    steps: [
      ...running,
      post("stop", "/sandboxes/{create}/stop"),
      make("start", "/sandboxes/{create}/start?wait=running", {})
    ]
  },
  { name: "delete", steps: [...running, remove("delete", "/sandboxes/{create}"), pass(2000)] },
  {
    name: "change",
    steps: [
      ...running,
      patch("labels", "/sandboxes/{create}", { metadata: { team: "blue" }, env: { A: "1" } }),
      patch("lifetime", "/sandboxes/{create}", { lifetime: { stopAfterSeconds: 4 } }),
      pass(5000)
    ]
  },
  {
    name: "sleep and wake",
    steps: [
      ...running,
      pass(40_000),
      make("echo", "/sandboxes/{create}/operations", argv("echo", "words")),
      post("wait", "/sandboxes/{create}/operations/{echo}/wait", { timeoutSeconds: 5 })
    ],
    // A late suspension may have frozen it after it had woken: the reconciler lets the Sandbox sleep, and its next use wakes it.
    afterwards: [pass(6000), make("awake", "/sandboxes/{create}/start?wait=running", {})]
  },
  {
    name: "end of a machine",
    steps: [
      ...running,
      make("hang", "/sandboxes/{create}/operations", argv("hang")),
      // What was readable is kept.
      post("look", "/sandboxes/{create}/operations/{hang}/wait", { timeoutSeconds: 5, stdoutOffset: 0 }),
      happen("the machine ends", ({ world, ids }) => world.crash(ids.get("create")!)),
      pass(6000),
      read("get", "/sandboxes/{create}")
    ]
  },
  {
    name: "lifetime",
    steps: [
      workspace,
      create({ lifetime: { stopAfterSeconds: 15, deleteAfterStoppedSeconds: 5 } }),
      make("hang", "/sandboxes/{create}/operations", argv("hang")),
      pass(25_000)
    ]
  },
  {
    name: "snapshot and fork",
    steps: [
      ...running,
      make("snapshot", "/sandboxes/{create}/snapshots", { name: "first" }),
      pass(1000),
      patch("rename", "/snapshots/{snapshot}", { name: "second" }),
      make("fork", "/sandboxes/{create}/fork", {
        names: ["fork"],
        lifetime: { stopAfterSeconds: 5, deleteAfterStoppedSeconds: 0 }
      }),
      pass(10_000),
      remove("delete", "/snapshots/{snapshot}"),
      pass(2000)
    ],
    leaves: ["/snapshots/{fork}"]
  },
  {
    name: "workspace",
    steps: [
      workspace,
      patch("rename", "/workspaces/{workspace}", { name: "two" }),
      remove("delete", "/workspaces/{workspace}")
    ]
  }
]
