/** Snapshots, Sandboxes of them, and forks. */
import { epochMs, type Scenario } from "./Scenario.ts"
import { make, pass, patch, post, read, remove, running } from "./steps.ts"

const write = (text: string) => ({
  ...post(`write ${text}`, `/sandboxes/{create}/files/content?path=${encodeURIComponent("/workspace/a.txt")}`),
  method: "PUT" as const,
  bytes: { type: "application/octet-stream", bytes: Buffer.from(text) }
})

/** A service that takes over captures it again. */
const captured = pass(6000)

export const snapshotScenarios: ReadonlyArray<Scenario> = [
  {
    name: "snapshot",
    steps: [
      ...running,
      write("before"),
      make("snapshot", "/sandboxes/{create}/snapshots", { name: "first" }),
      captured,
      write("after"),
      patch("rename", "/snapshots/{snapshot}", { name: "second" }),
      make("copy", "/sandboxes?wait=running", {
        workspaceId: "{workspace}",
        name: "copy",
        networkEnabled: false,
        snapshotId: "{snapshot}"
      }),
      remove("delete", "/snapshots/{snapshot}"),
      pass(2000)
    ]
  },
  {
    name: "rollback",
    steps: [
      ...running,
      write("before"),
      make("snapshot", "/sandboxes/{create}/snapshots", { name: "first" }),
      captured,
      write("after"),
      make("rollback", "/sandboxes/{create}/rollback", { snapshotId: "{snapshot}" }),
      captured,
      post("start", "/sandboxes/{create}/start?wait=running", {}),
      read("lineage", "/sandboxes/{create}/lineage"),
      remove("delete", "/snapshots/{snapshot}"),
      post("stop", "/sandboxes/{create}/stop"),
      pass(2000)
    ],
    leaves: ["/snapshots/{rollbackKept}"]
  },
  {
    name: "expiry of a snapshot",
    steps: [
      ...running,
      make("brief", "/sandboxes/{create}/snapshots", { expiresAt: new Date(epochMs + 60_000).toISOString() }),
      make("kept", "/sandboxes/{create}/snapshots", { expiresAt: new Date(epochMs + 60_000).toISOString() }),
      patch("keep", "/snapshots/{kept}", { expiresAt: null }),
      pass(65_000),
      read("get", "/snapshots/{brief}")
    ],
    leaves: ["/snapshots/{kept}"]
  },
  {
    name: "fork",
    steps: [
      ...running,
      write("before"),
      make("fork", "/sandboxes/{create}/fork", { count: 2, names: ["one", "two"] }),
      captured,
      read("lineage", "/sandboxes/{forkSandbox1}/lineage")
    ],
    leaves: ["/sandboxes/{forkSandbox0}", "/sandboxes/{forkSandbox1}", "/snapshots/{fork}"]
  }
]
