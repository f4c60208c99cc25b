import type { Section } from "../Rule.ts"

export const snapshots: Section = {
  title: "Snapshots",
  rules: [
    {
      rule: "A snapshot can be taken of a Sandbox that runs, sleeps or is stopped; else 409 `SANDBOX_NOT_CAPTURABLE`.",
      decidedBy: "src/sandbox/sandboxStates.ts#isCapturable",
      heldBy: "snapshot/snapshots.test.ts#is taken of a Sandbox that runs or is stopped, and refused with 409 otherwise"
    },
    {
      rule: "A snapshot with memory can be taken of a virtual machine that runs or sleeps; else 422 `MEMORY_NOT_SUPPORTED` or 409. A Sandbox from it has the same sizes and network, else 400.",
      decidedBy: "src/sandbox/sandboxStates.ts#hasMemory",
      heldBy:
        "snapshot/snapshots.test.ts#has memory where the runtime can save it: of a Sandbox that runs, for Sandboxes of the same sizes"
    },
    {
      rule: "A snapshot outlives its Sandbox.",
      decidedBy: "src/observe/retention/deletedSandboxes.ts#deletedSandboxes",
      heldBy: "snapshot/snapshots.test.ts#outlives its Sandbox, also the record of it"
    },
    {
      rule: "A deletion wins over a capture that still runs.",
      decidedBy: "machines/snapshot.ts#snapshotMachine.creating.DELETE",
      heldBy: "snapshot/captures.test.ts#a deletion wins over a capture that ends late, and leaves no image"
    },
    {
      rule: "The image of a deleted snapshot stays until no first boot needs it.",
      decidedBy: "src/snapshot/SnapshotDefinition.ts#snapshotDefinition.untilUnneeded",
      heldBy: "snapshot/captures.test.ts#a deletion waits for a first boot that needs the image"
    },
    {
      rule: "A checkpoint that was missed is taken once. The oldest beyond `keep` are deleted, and all with the Sandbox, but not those that a client has changed.",
      decidedBy: "src/snapshot/sandboxCheckpoints.ts#supersedeCheckpoints",
      heldBy:
        "snapshot/checkpoints.test.ts#are taken at their time, once for all that a service missed, and the oldest beyond `keep` go"
    },
    {
      rule: "A checkpoint at a stop is taken after the stop; a Sandbox that has not run since the last one takes none.",
      decidedBy: "machines/checkpoints.ts#isCheckpointedAtStop",
      heldBy: "snapshot/checkpoints.test.ts#of a Sandbox that stops are taken after its stop, once for each run"
    },
    {
      rule: "A checkpoint that a limit refuses is passed over; `lastCheckpoint` has the reason.",
      decidedBy: "src/snapshot/sandboxCheckpoints.ts#takeCheckpoint",
      heldBy:
        "snapshot/checkpoints.test.ts#that a limit refuses are passed over, which the Sandbox tells; the next one is tried at its time"
    },
    {
      rule: "A fork at a revision begins from the newest ready snapshot at or before it, also of a deleted Sandbox; without one it is 409 `NO_SNAPSHOT_AT_REVISION`.",
      decidedBy: "src/snapshot/forkRevision.ts#forkRevision",
      heldBy:
        "snapshot/forkRevision.test.ts#takes the newest snapshot at or before it, and says what is missing; a repeated key gives the same"
    },
    {
      rule: "The account's limit of snapshots is 429 `SNAPSHOT_LIMIT_REACHED`, also for concurrent creates.",
      decidedBy: "src/snapshot/snapshotQuota.ts#snapshotQuota",
      heldBy: "snapshot/snapshotLimits.test.ts#the account's number of snapshots is 429, also for concurrent creates"
    },
    {
      rule: "The bytes of a workspace's snapshots count toward its storage limit.",
      decidedBy: "src/sandbox/sandboxQuota.ts#snapshotBytes",
      heldBy: "snapshot/snapshotLimits.test.ts#the bytes of its snapshots count toward the storage limit of a workspace"
    },
    {
      rule: "The file of a snapshot makes an equal one, without its variables.",
      decidedBy: "src/snapshot/exportSnapshot.ts#headFor",
      heldBy:
        "snapshot/snapshotFiles.test.ts#makes an equal snapshot, of which Sandboxes can be made; it has no variables"
    },
    {
      rule: "An import is bounded before a byte is written, and is checked to its digest; else 400, and nothing is left.",
      decidedBy: "src/snapshot/file/decodeSnapshot.ts#openSnapshot",
      heldBy:
        "snapshot/snapshotFiles.test.ts#is 400 where it is no whole snapshot file or does not fit here, and leaves nothing"
    },
    {
      rule: "A fleet exports from the host that has the snapshot, and imports to a ready host of its runtime with room.",
      decidedBy: "src/fleet/fleetSnapshots.ts#fleetSnapshots",
      heldBy: "fleet/carriedFiles.test.ts#comes from the snapshot's host and makes a snapshot on a host with room"
    },
    {
      rule: "A Sandbox from a snapshot goes to the snapshot's host, else to another one of its runtime, to which the image travels.",
      decidedBy: "src/fleet/Reservations.ts#placesFor",
      heldBy:
        "fleet/snapshots.test.ts#give their Sandboxes a place on their host, and on another one of their kind while it is full or draining"
    },
    {
      rule: "A host that is drained is left by its snapshots, and its removal needs no force once each has a copy elsewhere.",
      decidedBy: "src/fleet/leaveHost.ts#leaveHost",
      heldBy: "fleet/removedHost.test.ts#is drained of its snapshots first, which live on elsewhere"
    },
    {
      rule: "An account has at most four exports and imports in progress: one more is 429.",
      decidedBy: "src/snapshot/SnapshotTransfers.ts#SnapshotTransfers",
      heldBy:
        "fleet/carriedFiles.test.ts#is one of at most four exports and imports of an account; each gives its permit back"
    },
    {
      rule: "The host mounts no imported file system before e2fsck has found it whole, and its root is as a driver makes it.",
      decidedBy: "src/host/linux/checkedImage.ts#checkImage",
      heldBy: "host/linux/checkedImage.test.ts#is refused where it is no file system, or is shorter than it says"
    },
    {
      rule: "A create with a snapshot that is not ready is 409 `SNAPSHOT_NOT_READY`; one of another account's is 404.",
      decidedBy: "src/sandbox/sandboxOrigin.ts#sandboxOrigin",
      heldBy: "snapshot/snapshots.test.ts#is the origin of Sandboxes only while it is ready, and only of its account"
    },
    {
      rule: "Variables come along, and those that are given win by name.",
      decidedBy: "src/sandbox/insertSandbox.ts#insertSandbox.variablesOf",
      heldBy:
        "snapshot/snapshots.test.ts#gives its variables to the Sandboxes that are made of it; given ones win by name"
    },
    {
      rule: "A repeated fork gives the same snapshot, Sandboxes and refusals.",
      decidedBy: "src/snapshot/forkSandbox.ts#forkSandbox.fork",
      heldBy: "snapshot/forks.test.ts#makes Sandboxes of one snapshot; a repeated key gives the same ones"
    },
    {
      rule: "Each Sandbox of a fork is under the limits for itself.",
      decidedBy: "src/snapshot/forkSandbox.ts#forkSandbox.fork",
      heldBy:
        "snapshot/forks.test.ts#makes as many Sandboxes as the limit allows, and says which were refused, each time"
    },
    {
      rule: "The Sandboxes of a fork fail when its snapshot fails, with its reason.",
      decidedBy: "src/sandbox/bootImage.ts#bootImage",
      heldBy: "snapshot/forks.test.ts#its Sandboxes wait for the snapshot, and fail with its reason when it fails"
    },
    {
      rule: "A rollback restores the volume in the same Sandbox, and keeps the one before as a snapshot of 24 hours.",
      decidedBy: "src/snapshot/rollbackSandbox.ts#rollbackSandbox.rollback",
      heldBy:
        "snapshot/rollbacks.test.ts#of a running Sandbox keeps its volume, restores the snapshot's, and boots it again"
    },
    {
      rule: "A rollback by a snapshot with memory restores the memory and the processes, too, in a Sandbox of the same sizes and network; else the volume alone.",
      decidedBy: "src/host/qemu/snapshotMemory.ts#restoredIn",
      heldBy:
        "contract/memoryContract.ts#a Sandbox that is rolled back to one goes on with its processes and files of then; with other sizes it boots from the volume"
    },
    {
      rule: "A rollback leaves a stopped Sandbox stopped; one that ran or slept runs again.",
      decidedBy: "machines/sandbox.ts#sandboxMachine.stopped.ROLLBACK",
      heldBy:
        "snapshot/rollbacks.test.ts#of a stopped Sandbox leaves it stopped, with the next generation; what slept runs again"
    },
    {
      rule: "A start or a stop during a rollback says what comes after it; a deletion wins.",
      decidedBy: "machines/sandbox.ts#betweenRuns.DELETE",
      heldBy:
        "snapshot/rollbacks.test.ts#does what was asked last: a stop or a start meanwhile, and a deletion immediately"
    },
    {
      rule: "A rollback that cannot keep the present volume changes nothing.",
      decidedBy: "src/sandbox/restoreVolume.ts#restoreVolume",
      heldBy:
        "snapshot/rollbacks.test.ts#that cannot keep the present volume, or has no room, leaves it as it was and boots it again"
    },
    {
      rule: "A rollback to a snapshot of another workspace or runtime, or to a larger one is 409 `SNAPSHOT_DOES_NOT_FIT`.",
      decidedBy: "src/snapshot/rollbackSandbox.ts#requireFit",
      heldBy:
        "snapshot/rollbacks.test.ts#is refused for a snapshot that is not ready or does not fit, and leaves nothing behind"
    },
    {
      rule: "An image that no snapshot has is removed; a snapshot whose image is missing becomes `failed`.",
      decidedBy: "src/snapshot/snapshotPass.ts#snapshotPass",
      heldBy:
        "snapshot/snapshotWatch.test.ts#removes images that no snapshot has, and tells a snapshot that its image is lost"
    }
  ]
}
