/** `atoll snapshots import` */
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { namedWorkspace } from "../namedWorkspace.ts"
import { answer } from "../standardStreams.ts"
import { later } from "../values.ts"

/** The time in which the service checks one. */
const patienceSeconds = 60

export const importSnapshot = command({
  name: "import",
  summary: "Make a snapshot of a file of `snapshots export`, and print its id once it is ready",
  usage: "FILE [--name NAME] [--workspace WORKSPACE] [--expires TIME]",
  options: {
    name: { type: "string", value: "NAME", description: "For people; by default the name in the file" },
    workspace: { type: "string", value: "WORKSPACE", description: "Name or id; the oldest by default" },
    expires: {
      type: "string",
      value: "TIME",
      description: "Delete it by itself: after a time such as 7d, or at an instant; by default never"
    },
    "no-wait": { type: "boolean", description: "Do not wait until it is ready" },
    "idempotency-key": {
      type: "string",
      value: "KEY",
      description: "Names this snapshot: repeated with the same key and file, it is the same one"
    }
  },
  words: { least: 1, most: 1, completes: ["file"] },
  examples: [["snapshots import before.atoll --name before-migration", "With another name"]],
  run: async (given) => {
    const { name, workspace, expires, "no-wait": noWait, "idempotency-key": idempotencyKey } = given.options
    const expiresAt = expires === undefined ? undefined : later("--expires", expires)
    const atoll = given.connect(patienceSeconds)
    const workspaceId = workspace === undefined ? undefined : (await namedWorkspace(atoll, workspace)).id
    const asked = { name, workspaceId, expiresAt, idempotencyKey, untilReady: noWait !== true }
    const snapshot = await atoll.snapshots.import(given.words[0]!, asked)
    await answer(given, snapshot.id, { snapshot: snapshot.record })
    return exitCodes.done
  }
})
