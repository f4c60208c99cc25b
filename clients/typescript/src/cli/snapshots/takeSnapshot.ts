/** `atoll snapshots create` */
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { namedSandbox } from "../namedSandbox.ts"
import { answer, remark } from "../standardStreams.ts"
import { later } from "../values.ts"

/** The time in which the service takes one. */
const patienceSeconds = 60

export const create = command({
  name: "create",
  summary: "Take a snapshot of a Sandbox's volume, or of its memory, too, and print its id once it is ready",
  usage: "SANDBOX [--name NAME] [--memory] [--expires TIME]",
  details: [
    "The Sandbox may run, sleep or be stopped; what runs goes on. The snapshot has the files as they are on the volume,",
    "and outlives the Sandbox."
  ].join("\n"),
  options: {
    name: { type: "string", value: "NAME", description: "For people; other commands take it, too" },
    memory: {
      type: "boolean",
      description: "With the memory and the running processes: only of a virtual machine that runs or sleeps"
    },
    expires: {
      type: "string",
      value: "TIME",
      description: "Delete it by itself: after a time such as 7d, or at an instant; by default never"
    },
    "no-wait": { type: "boolean", description: "Do not wait until it is ready" },
    "idempotency-key": {
      type: "string",
      value: "KEY",
      description: "Names this snapshot: repeated with the same key, it is the same one"
    }
  },
  words: { least: 1, most: 1, completes: ["sandbox"] },
  examples: [
    ["snapshots create dev --name before-migration", "Keeps the files of dev as they are"],
    ['sandbox create --snapshot "$(atoll snapshots create dev --expires 1h)"', "A second Sandbox with the same files"]
  ],
  run: async (given) => {
    const { name, memory, expires, "no-wait": noWait, "idempotency-key": idempotencyKey } = given.options
    const expiresAt = expires === undefined ? undefined : later("--expires", expires)
    const sandbox = await namedSandbox(given.connect(patienceSeconds), given.words[0]!)
    const snapshot = await sandbox.snapshot({ name, memory, expiresAt, idempotencyKey, untilReady: noWait !== true })
    await answer(given, snapshot.id, { snapshot: snapshot.record })
    if (!given.isJson && process.stdout.isTTY) {
      remark(`It is ${snapshot.status}. A Sandbox of it: \`atoll sandbox create --snapshot ${snapshot.id}\``)
    }
    return exitCodes.done
  }
})
