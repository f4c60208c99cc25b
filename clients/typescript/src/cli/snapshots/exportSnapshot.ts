/** `atoll snapshots export` */
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { namedSnapshot } from "../namedSnapshot.ts"
import { answer } from "../standardStreams.ts"
import { shownBytes } from "../table.ts"

export const exportSnapshot = command({
  name: "export",
  summary: "Write a snapshot into one file",
  usage: "SNAPSHOT FILE",
  details: [
    "`snapshots import` makes a snapshot of the file again, here or on another server. Variables are not",
    "in it; the files of the volume are. An existing FILE is replaced once all of it is there."
  ].join("\n"),
  options: {},
  words: { least: 2, most: 2, completes: ["snapshot", "file"] },
  examples: [["snapshots export before-migration before.atoll", "By its name"]],
  run: async (given) => {
    const [nameOrId, file] = given.words as [string, string]
    const snapshot = await namedSnapshot(given.connect(), nameOrId)
    const { bytes } = await snapshot.export(file)
    await answer(given, `${file} has ${snapshot.id} (${shownBytes(bytes)}).`, {
      file,
      bytes,
      snapshot: snapshot.record
    })
    return exitCodes.done
  }
})
