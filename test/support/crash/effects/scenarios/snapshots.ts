/** Snapshots, Sandboxes of them, checkpoints, and forks. */
import { snapshotMediaType } from "../../../../../schemas/SnapshotFile.ts"
import { snapshotFile } from "../../../snapshot/snapshotFile.ts"
import { epochMs, type Scenario } from "./Scenario.ts"
import { create, make, pass, patch, post, read, remove, running, workspace } from "./steps.ts"

export const write = (text: string) => ({
  ...post(`write ${text}`, `/sandboxes/{create}/files/content?path=${encodeURIComponent("/workspace/a.txt")}`),
  method: "PUT" as const,
  bytes: { type: "application/octet-stream", bytes: Buffer.from(text) }
})

/** A service that takes over captures it again. */
export const captured = pass(6000)

const imported = await snapshotFile({ name: "elsewhere" }, [{ offset: 4096, bytes: Buffer.alloc(4096, "a file") }])

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
    name: "import of a snapshot",
    environment: { ATOLL_VOLUME_BYTES: String(1024 ** 2) },
    steps: [
      workspace,
      {
        ...make("import", "/snapshots?workspaceId={workspace}"),
        bytes: { type: snapshotMediaType, bytes: imported },
        isSlow: true
      },
      captured,
      make("create", "/sandboxes?wait=running", {
        ...{ workspaceId: "{workspace}", name: "copy", networkEnabled: false, snapshotId: "{import}" }
      }),
      remove("delete", "/snapshots/{import}"),
      pass(2000)
    ]
  },
  {
    name: "checkpoints",
    steps: [
      workspace,
      create({ checkpoints: { everySeconds: 60, keep: 1, onStop: true } }),
      pass(62_000),
      captured,
      // The second one takes the first one's place.
      pass(60_000),
      captured,
      post("stop", "/sandboxes/{create}/stop"),
      captured,
      read("list", "/snapshots?sandboxId={create}"),
      remove("delete", "/sandboxes/{create}"),
      pass(2000)
    ]
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
