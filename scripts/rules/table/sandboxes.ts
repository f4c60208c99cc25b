import type { Section } from "../Rule.ts"

export const sandboxes: Section = {
  title: "Sandboxes",
  rules: [
    {
      rule: "Create answers 202 with a pending Sandbox; a replay is 202 while pending, 201 when running, 409 for another body.",
      decidedBy: "src/sandbox/createSandbox.ts#createAnswer",
      heldBy:
        "http/sandboxes.test.ts#create answers 202 with a pending Sandbox; the same key recovers it, 201 once it runs, 409 with another body"
    },
    {
      rule: "A create in a workspace that the account does not own is 404.",
      decidedBy: "src/sandbox/sandboxQuota.ts#sandboxQuota.requireQuota",
      heldBy: "http/sandboxes.test.ts#an unknown workspace, or another account's, is 404"
    },
    {
      rule: "The account's limit of Sandboxes is 429 `SANDBOX_LIMIT_REACHED`; stopped Sandboxes count.",
      decidedBy: "src/sandbox/sandboxStates.ts#countedStates",
      heldBy:
        "engine/taggedStates.test.ts#every state of a Sandbox either counts toward the limits or is removed from its host"
    },
    {
      rule: "The limit of Sandboxes holds under concurrent creates.",
      decidedBy: "src/sandbox/insertSandbox.ts#insertSandbox",
      heldBy: "http/sandboxes.test.ts#the account's limit is 429, also for concurrent creates"
    },
    {
      rule: "A workspace's storage limit is 429 `STORAGE_LIMIT_REACHED`.",
      decidedBy: "src/sandbox/sandboxQuota.ts#sandboxQuota.requireRoom",
      heldBy: "account/limits.test.ts#of a workspace's storage hold at creates, and are the limits that workspaces show"
    },
    {
      rule: "A Sandbox has the sizes that its request names, within the operator's bounds, else 400 with the bounds.",
      decidedBy: "src/sandbox/sandboxSizes.ts#profileWith",
      heldBy:
        "http/sizes.test.ts#beyond the operator's bounds are refused with the field and the bounds, which /me shows"
    },
    {
      rule: "Sizes change by PATCH, and cost what they are from that commit on.",
      decidedBy: "machines/sandbox.ts#sandboxMachine.running.CHANGED",
      heldBy: "http/sizes.test.ts#cost what they are from their change on"
    },
    {
      rule: "A volume never shrinks, and grows only within the workspace's storage, also by concurrent changes.",
      decidedBy: "src/sandbox/resizeQuota.ts#resizeQuota.requireStorage",
      heldBy: "http/sizes.test.ts#of concurrent changes never exceed the workspace's storage"
    },
    {
      rule: "A limit that is found while provisioning makes the Sandbox `expired`, and a replay is 429 with the reason.",
      decidedBy: "machines/sandbox.ts#sandboxMachine.pending.RUNTIME_REFUSED",
      heldBy:
        "http/runningWait.test.ts#answers 429 when a limit refuses the boot, to the waiting create and to every replay"
    },
    {
      rule: "Names, metadata and `networkEnabled` have the contract's bounds and defaults.",
      decidedBy: "schemas/Sandbox.ts#CreateSandboxRequest",
      heldBy: "http/sandboxes.test.ts#each bound of a create is exact"
    },
    {
      rule: "A Sandbox with network on a host without one is refused.",
      decidedBy: "src/sandbox/sandboxQuota.ts#sandboxQuota.requireNetwork",
      heldBy:
        "http/sandboxes.test.ts#a server without network for Sandboxes refuses one with network immediately, and says what to send"
    },
    {
      rule: "The list shows active and deleted Sandboxes, newest first, and filters by status, workspace and metadata.",
      decidedBy: "src/sandbox/SandboxesLive.ts#bindingOf",
      heldBy:
        "http/sandboxes.test.ts#the list is newest first, filtered by status, workspace and metadata, and paged without gaps"
    },
    {
      rule: "`generation` is 1 for the first boot and grows by 1 with each boot.",
      decidedBy: "machines/sandbox.ts#sandboxMachine.noteNextGeneration",
      heldBy: "machines/sandbox.test.ts#boots a new generation only after the one before has ended"
    },
    {
      rule: "Start of a running Sandbox answers 201 with the same runtime.",
      decidedBy: "machines/sandbox.ts#sandboxMachine.running",
      heldBy: "sandbox/startKey.test.ts#is also taken by a start that finds the Sandbox running"
    },
    {
      rule: "Start answers as soon as the Sandbox runs, or after 20 s with the status that it has.",
      decidedBy: "src/sandbox/startSandbox.ts#startAnswerMs",
      heldBy:
        "sandbox/answerTimes.test.ts#comes after 20 s for a start and for a command, and after 10 s for a deletion"
    },
    {
      rule: "A create needs an Idempotency-Key for a Sandbox of the runtime vm only.",
      decidedBy: "src/sandbox/insertSandbox.ts#requireKey",
      heldBy: "http/refusals.test.ts#a Sandbox is made without an Idempotency-Key, but for a virtual machine"
    },
    {
      rule: "An Idempotency-Key on start makes a repeated start boot once.",
      decidedBy: "src/sandbox/startSandbox.ts#startSandbox.startOnce",
      heldBy: "sandbox/startKey.test.ts#boots once for many concurrent starts"
    },
    {
      rule: "A start has the create's limits: 429.",
      decidedBy: "machines/sandbox.ts#limitCodes",
      heldBy: "sandbox/hostLimits.test.ts#refuses a start with the limit each time, and keeps the volume"
    },
    {
      rule: "Stop keeps the volume.",
      decidedBy: "machines/sandbox.ts#sandboxMachine.running.STOP",
      heldBy:
        "runtime/contract/runtimeContract.ts#a second provision changes nothing; stop keeps the volume; the next generation finds it; destroy leaves nothing"
    },
    {
      rule: "Delete removes runtime and volume, in every state.",
      decidedBy: "machines/sandbox.ts#sandboxMachine.deleting",
      heldBy: "machines/sandbox.test.ts#lets a delete win in every state, and leaves it by no event"
    },
    {
      rule: "Delete is retried until it is done.",
      decidedBy: "src/sandbox/untilDone.ts#untilDone",
      heldBy: "race/race.test.ts#races"
    },
    {
      rule: "Start of a stopped Sandbox boots it with its volume.",
      decidedBy: "machines/sandbox.ts#sandboxMachine.stopped.START",
      heldBy:
        "sandbox/Lifecycle.test.ts#is created once per key, runs commands, stops, starts again and is deleted with its volume"
    },
    {
      rule: "Delete answers when the volume is gone, or after 10 s while the deletion goes on.",
      decidedBy: "src/sandbox/SandboxesLive.ts#deleteAnswerMs",
      heldBy:
        "sandbox/answerTimes.test.ts#comes after 20 s for a start and for a command, and after 10 s for a deletion"
    },
    {
      rule: "Delete answers 204, also when repeated.",
      decidedBy: "src/sandbox/SandboxesLive.ts#make.remove",
      heldBy:
        "http/sandboxes.test.ts#start, stop and delete answer with the state they reach; a deleted Sandbox can be read, but not changed"
    },
    {
      rule: "A deleted Sandbox stays readable for the retention time; acting on it is 404.",
      decidedBy: "src/observe/retention/deletedSandboxes.ts#deletedSandboxes",
      heldBy:
        "retention/Pruner.test.ts#keeps the resources of a deleted Sandbox as long as the Sandbox, though ended ones elsewhere go sooner"
    },
    {
      rule: "`?wait=running` on create and start answers when the Sandbox runs, or after 30 s.",
      decidedBy: "schemas/Limits.ts#runningWaitSeconds",
      heldBy: "sandbox/runningWait.test.ts#lasts 30 s by default"
    },
    {
      rule: "A call to a pending Sandbox waits up to 20 s for its boot.",
      decidedBy: "src/sandbox/RunningSandbox.ts#bootAnswerMs",
      heldBy:
        "sandbox/answerTimes.test.ts#comes after 20 s for a start and for a command, and after 10 s for a deletion"
    },
    {
      rule: "A boot that takes longer than ATOLL_BOOT_TIMEOUT_MS from its turn on fails; the machine has a deadline for it.",
      decidedBy: "src/sandbox/bootInTurn.ts#bootInTurn",
      heldBy:
        "sandbox/bootInTurn.test.ts#has its whole time-out from its turn on, and extends its deadline while it waits",
      question: "When does a boot time out?"
    },
    {
      rule: "The boot's deadline moves while the boot waits for its turn.",
      decidedBy: "machines/sandbox.ts#sandboxMachine.pending.BOOT_WAITS",
      heldBy: "sandbox/bootInTurn.test.ts#has its deadline moved, and runs"
    },
    {
      rule: "An unused Sandbox sleeps, and the next command wakes it.",
      decidedBy: "machines/sandbox.ts#sandboxMachine.running.SLEEP",
      heldBy: "sandbox/sleep.test.ts#begins for an unused Sandbox, and the next command wakes it with its processes"
    },
    {
      rule: "A Sandbox's lifetime stops and deletes it to the millisecond.",
      decidedBy: "machines/sandbox.ts#stopsAt",
      heldBy:
        "sandbox/lifetime.test.ts#stops a Sandbox after its longest run, to the millisecond and over a restart, and then deletes it"
    },
    {
      rule: "Concurrent changes of a Sandbox lose nothing (optimistic lock).",
      decidedBy: "machines/sandbox.ts#sandboxMachine.isOfEdition",
      heldBy: "http/sandboxChanges.test.ts#loses none of several concurrent ones"
    },
    {
      rule: "A lost host stops its Sandboxes with reason `HOST_LOST`; records, logs and outputs stay readable.",
      decidedBy: "src/sandbox/hostLost.ts#hostLost",
      heldBy:
        "sandbox/hostLost.test.ts#is stopped, costs until the host was last seen, ends its dependents, and can start again later",
      question: "What happens to a Sandbox when its host is lost?"
    },
    {
      rule: "A host that returns is reconciled before anything of it answers.",
      decidedBy: "src/sandbox/HostReconciler.ts#actionOf",
      heldBy: "sandbox/hostLost.test.ts#is ended if it is found alive when the host is back"
    },
    {
      rule: "A runtime without a Sandbox is destroyed.",
      decidedBy: "src/sandbox/HostReconciler.ts#actionOf",
      heldBy: "sandbox/RuntimeWatch.test.ts#destroys a machine, or a volume, that belongs to no Sandbox"
    },
    {
      rule: "The transition log is complete: replayed through the machine it gives the stored snapshot.",
      decidedBy: "src/engine/Transition.ts#replay",
      heldBy: "sandbox/Lifecycle.test.ts#leaves logs that replay to the stored state, for every actor of this file"
    },
    {
      rule: "The transition endpoints page the log and list what may happen next.",
      decidedBy: "src/lists/TransitionLog.ts#transitionLog",
      heldBy:
        "http/sandboxes.test.ts#the transition log is paged from the first revision on, and lists the events that may come next"
    }
  ]
}
