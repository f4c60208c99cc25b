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
      rule: "An image that no snapshot has is removed; a snapshot whose image is missing becomes `failed`.",
      decidedBy: "src/snapshot/snapshotPass.ts#snapshotPass",
      heldBy:
        "snapshot/snapshotWatch.test.ts#removes images that no snapshot has, and tells a snapshot that its image is lost"
    }
  ]
}
