import type { Section } from "../Rule.ts"

export const commands: Section = {
  title: "Commands and operations",
  rules: [
    {
      rule: "`argv` has 1 to 1024 strings; NUL, an empty first one and a bad `cwd` are 400.",
      decidedBy: "schemas/Command.ts#Argv",
      heldBy: "http/operations.test.ts#each bound of a command is exact, for execute and for operations"
    },
    {
      rule: "Execute returns exit code, signal, both streams and times.",
      decidedBy: "src/operation/Executions.ts#Executions.layer.run",
      heldBy: "http/operations.test.ts#execute answers with the command's result"
    },
    {
      rule: "Each stream of an execute keeps its first 1 MiB and says when it was cut.",
      decidedBy: "schemas/Limits.ts#executeStreamMaxBytes",
      heldBy: "runtime/contract/processContract.ts#head mode keeps the first bytes and counts the rest"
    },
    {
      rule: "An execute that times out is 408 with the output so far.",
      decidedBy: "schemas/Errors.ts#ExecutionTimeout",
      heldBy: "http/operations.test.ts#a command that exceeds its time-out is 408, with its output so far"
    },
    {
      rule: "A missing program is exit code 127, one that cannot run 126.",
      decidedBy: "src/agent/processes/CommandProcess.ts#CommandProcess.notStarted",
      heldBy:
        "runtime/contract/processContract.ts#a missing program ends with 127 and one that cannot run with 126, each with a line on stderr"
    },
    {
      rule: "A command that a signal ended has no exit code; the signal is spelled as POSIX has it.",
      decidedBy: "src/agent/processes/signals.ts#posixSignal",
      heldBy: "runtime/contract/processContract.ts#a command that a signal ends has no exit code"
    },
    {
      rule: "A `cwd` that does not exist starts nothing.",
      decidedBy: "src/agent/processes/workingDirectory.ts#checkFolder",
      heldBy: "runtime/contract/processContract.ts#a working directory that is missing or no directory is refused"
    },
    {
      rule: "A `cwd` that does not exist is 400 for execute, and `failed` with reason `CWD_NOT_FOUND` for an operation.",
      decidedBy: "src/operation/Executions.ts#refusal",
      heldBy: "operation/workingDirectory.test.ts#that does not exist is refused by an execute, and fails an operation"
    },
    {
      rule: "A time-out, cancel and stop end the whole process tree.",
      decidedBy: "src/agent/processes/CommandProcess.ts#CommandProcess.kill",
      heldBy: "runtime/contract/processContract.ts#a kill reaches processes that escaped by setsid and double fork"
    },
    {
      rule: "A command that does not end at TERM is ended by KILL after the grace.",
      decidedBy: "src/agent/processes/CommandProcess.ts#CommandProcess.kill",
      heldBy: "runtime/contract/processContract.ts#a process that ignores TERM is killed after the grace"
    },
    {
      rule: "The grace between TERM and KILL of a cancelled operation is 2 s.",
      decidedBy: "src/operation/endProcess.ts#graceMs",
      heldBy: null
    },
    {
      rule: "A command runs as an unprivileged user.",
      decidedBy: "src/host/namespace/systemFiles.ts#SANDBOX_UID",
      heldBy: "host/namespace/isolation.test.ts#each Sandbox has a separate host user without rights outside"
    },
    {
      rule: "The processes of a Sandbox are listed, and one is ended by its id.",
      decidedBy: "src/operation/process/SandboxProcesses.ts#SandboxProcesses",
      heldBy: "http/operations.test.ts#are listed with their fields, and DELETE ends the process with that id"
    },
    {
      rule: "An operation is accepted with 202 and runs independently of the connection.",
      decidedBy: "src/operation/startOperation.ts#startOperation.start",
      heldBy: "http/operations.test.ts#an operation is accepted with 202, completes, and its output is read by offset"
    },
    {
      rule: "A repeated key recovers the original operation; another request with it is 409.",
      decidedBy: "src/operation/startOperation.ts#startOperation.replay",
      heldBy:
        "http/operations.test.ts#the key is required; repeated it recovers the operation, with another body it is a conflict",
      question: "How is a repeated operation answered?"
    },
    {
      rule: "A non-zero exit is `completed` with its `exitCode`.",
      decidedBy: "machines/operation.ts#operationMachine.running.EXITED",
      heldBy: "http/operations.test.ts#an operation whose command fails is completed with its exit code"
    },
    {
      rule: "The first of cancel and completion in the operation's mailbox wins; every caller sees that result.",
      decidedBy: "machines/operation.ts#operationMachine.running.CANCEL",
      heldBy: "engine/ActorHost.test.ts#orders cancel against completion: every caller sees the one terminal result",
      question: "Who wins, cancel or completion?"
    },
    {
      rule: "A repeated or late cancel returns the existing result.",
      decidedBy: "machines/operation.ts#operationMachine.completed",
      heldBy: "http/operations.test.ts#cancel ends an operation once; repeated, or after completion, the result stands"
    },
    {
      rule: "A terminal result never changes.",
      decidedBy: "machines/operation.ts#terminal",
      heldBy: "machines/operation.test.ts#never changes a terminal result"
    },
    {
      rule: "`completed` is committed only after all output is stored.",
      decidedBy: "src/operation/ProcessFollower.ts#followProcess",
      heldBy:
        "crash/output.test.ts#every byte of a completed operation's output is stored, however often the database and the service are killed"
    },
    {
      rule: "`processTree` may settle after the end, until the tree is gone.",
      decidedBy: "machines/operation.ts#operationMachine.cancelled.TREE_SETTLED",
      heldBy: "machines/operation.test.ts#reports its processes as gone only when an event confirmed it"
    },
    {
      rule: "An operation's own time-out ends it `failed` with reason `TIMED_OUT`.",
      decidedBy: "machines/operation.ts#operationMachine.running.TIME_OUT",
      heldBy: "machines/operation.test.ts#has its time-out as a deadline while it runs, if it has one"
    },
    {
      rule: "Operations of a stopped or deleted Sandbox become `failed` with a reason.",
      decidedBy: "machines/operation.ts#operationMachine.running.LOST",
      heldBy: "operation/queue.test.ts#fail with their Sandbox's stop, and none of them begins during it"
    },
    {
      rule: "Wait returns on the first of: terminal, status change, output, time-out (30 s at most); it cancels nothing.",
      decidedBy: "src/operation/waitForOperation.ts#waitForOperation.wait",
      heldBy: "http/operations.test.ts#wait takes 0 to 30 seconds, and an optional body"
    },
    {
      rule: "Output is read by absolute offset, `limit` 1 to 262144 bytes; past the end it is empty.",
      decidedBy: "src/store/Output.ts#Output.layer.read",
      heldBy: "http/operations.test.ts#an operation is accepted with 202, completes, and its output is read by offset"
    },
    {
      rule: "`eof` only when the operation is terminal and everything was read.",
      decidedBy: "machines/operation.ts#isSettled",
      heldBy:
        "http/operations.test.ts#output that was read to its present end reports eof only once the operation has ended"
    },
    {
      rule: "The last 16 MiB of each stream are kept; an earlier offset answers from the first retained byte with `truncated`.",
      decidedBy: "src/store/OutputRoom.ts#trimStatement",
      heldBy: "store/Output.test.ts#keeps the last bytes exactly, though they begin in the middle of a chunk",
      question: "How much output is kept?"
    },
    {
      rule: "An output stream sends every byte once, then the operation.",
      decidedBy: "src/api/http/outputEvents.ts#outputEvents",
      heldBy: "http/outputStream.test.ts#carries every byte once, then the operation, and resumes after any event"
    },
    {
      rule: "An operation of another Sandbox is 404.",
      decidedBy: "src/operation/ownOperations.ts#ownOperations.find",
      heldBy: "http/operations.test.ts#an operation of another Sandbox is 404"
    },
    {
      rule: "The list is newest first.",
      decidedBy: "src/operation/OperationsLive.ts#make.list",
      heldBy: "http/operations.test.ts#the list is newest first and paged; each operation has its transition log"
    },
    {
      rule: "Operations beyond ATOLL_OPERATIONS_RUNNING wait in the order of their acceptance.",
      decidedBy: "src/operation/OperationTurns.ts#operationTurns",
      heldBy: "operation/queue.test.ts#wait, begin in the order in which they were accepted, and all complete"
    },
    {
      rule: "Not running: execute and operations are 502 `SANDBOX_UNAVAILABLE`.",
      decidedBy: "src/operation/runningForOperation.ts#runningForOperation.findRunning",
      heldBy:
        "http/sandboxes.test.ts#start, stop and delete answer with the state they reach; a deleted Sandbox can be read, but not changed"
    },
    {
      rule: "An operation outlives a crash of the service and finishes once.",
      decidedBy: "src/operation/ProcessFollower.ts#followProcess",
      heldBy:
        "crash/crash.test.ts#a service loses nothing that it acknowledged and does nothing twice, however often it is killed"
    }
  ]
}
