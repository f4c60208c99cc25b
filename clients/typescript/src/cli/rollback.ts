/** `atoll rollback` */
import { command } from "./Command.ts"
import { exitCodes } from "./failure.ts"
import { namedSandbox } from "./namedSandbox.ts"
import { namedSnapshot } from "./namedSnapshot.ts"
import { answer } from "./standardStreams.ts"

const patienceSeconds = 60

export const rollback = command({
  name: "rollback",
  summary: "Give a Sandbox the files of a snapshot, and print the id of the snapshot that its own became",
  usage: "SANDBOX SNAPSHOT [OPTIONS]",
  details: [
    "What runs in the Sandbox is lost, and all files that were written since. They are kept as a snapshot for 24 hours, which",
    "leads back. The Sandbox runs again if it ran or slept, and stays stopped if it was. By a snapshot with memory, the",
    "processes of then go on, if the Sandbox has the same sizes as then."
  ].join("\n"),
  options: {
    "no-keep": { type: "boolean", description: "Give the present files up: there is no way back" },
    "no-wait": { type: "boolean", description: "Do not wait until it runs" },
    "idempotency-key": {
      type: "string",
      value: "KEY",
      description: "Names this rollback: repeated with the same key, it rolls back once"
    }
  },
  words: { least: 2, most: 2, completes: ["sandbox", "snapshot"] },
  examples: [
    ["rollback dev before-migration", "To the snapshot of that name"],
    ["rollback dev $(atoll rollback dev before-migration)", "There and back"]
  ],
  run: async (given) => {
    const { options, words } = given
    const atoll = given.connect(patienceSeconds)
    const sandbox = await namedSandbox(atoll, words[0]!)
    const snapshot = await namedSnapshot(atoll, words[1]!)
    const kept = await sandbox.rollback(snapshot, {
      keep: options["no-keep"] !== true,
      untilDone: options["no-wait"] !== true,
      idempotencyKey: options["idempotency-key"]
    })
    await answer(given, () => kept?.id ?? "", { sandbox: sandbox.record, kept: kept?.record ?? null })
    return exitCodes.done
  }
})
