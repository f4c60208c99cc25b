/** `atoll cp` */
import type { Sandbox } from "../../Sandbox.ts"
import { command } from "../Command.ts"
import { exitCodes, Refused, sentenceOf, WrongUsage } from "../failure.ts"
import { Interruption } from "../Interruption.ts"
import { isUnknown } from "../insist.ts"
import { namedSandbox } from "../namedSandbox.ts"
import { jsonOf, remark, writeLine } from "../standardStreams.ts"
import type { Copied } from "./Copied.ts"
import { download } from "./download.ts"
import { isDirectoryMeant, placeOf } from "./Place.ts"
import { upload } from "./upload.ts"

/** While the service is away. */
const patienceSeconds = 60
const leftOutShown = 5

const again = "Copy it again; every file is the old one or the new one."

const tellLeftOut = ({ from, leftOut }: Copied): void => {
  if (leftOut.length === 0) return
  const more = leftOut.length > leftOutShown ? `, and ${leftOut.length - leftOutShown} more` : ""
  remark(
    `Of ${from} was left out what is no file, directory or link, or leads out of it: ${leftOut.slice(0, leftOutShown).join(", ")}${more}`
  )
}

export const cp = command({
  name: "cp",
  summary: "Copy files and directories into a Sandbox, or out of it",
  usage: "SOURCE… DESTINATION   (one side: SANDBOX:PATH)",
  details: [
    "Paths in a Sandbox are below /workspace, where relative ones begin. A directory is copied with all that is in it,",
    "modes and links, too; `src/.` stands for what is in src. Into a directory that is there things are put under their",
    "own names; what else is there stays. Each file is the old one or the new one, whatever happens meanwhile. `-` is",
    "stdin or stdout. A local path with a colon is written ./a:b."
  ].join("\n"),
  options: {},
  words: { least: 2, most: Number.POSITIVE_INFINITY, completes: ["path"] },
  examples: [
    ["cp report.csv dev:data/", "A file into a directory"],
    ["cp ./app dev:", "A directory into /workspace"],
    ["cp dev:out ./results", "A directory out of it"],
    ["cp dev:log.txt - | tail", "To stdout"]
  ],
  run: async (given) => {
    const sources = given.words.slice(0, -1)
    const last = given.words.at(-1)!
    const to = placeOf(last)
    const from = sources.map(placeOf)
    const names = new Set([...from, to].map(({ sandbox }) => sandbox).filter((name) => name !== null))
    const isUpload = to.sandbox !== null
    if (names.size !== 1 || from.some(({ sandbox }) => (sandbox === null) !== isUpload)) {
      throw new WrongUsage(
        names.size > 1
          ? "One Sandbox at a time: copy here first, and from here."
          : "Exactly one side is in a Sandbox: atoll cp ./app dev:app, or atoll cp dev:app ./app"
      )
    }
    const isDirectory = sources.length > 1 || isDirectoryMeant(last)
    const interruption = new Interruption(() => {})
    const { signal } = interruption
    const atoll = given.connect(patienceSeconds)
    try {
      const sandbox: Sandbox = await namedSandbox(atoll, [...names][0]!)
      const copied: Array<Copied> = []
      for (const [at, { path }] of from.entries()) {
        const one = isUpload
          ? await upload(sandbox, path, to.path, isDirectory, signal)
          : await download(sandbox, path, sources[at]!, to.path, isDirectory, signal)
        tellLeftOut(one)
        copied.push(one)
      }
      if (given.isJson) await writeLine(jsonOf({ copied }, 2))
      return exitCodes.done
    } catch (thrown) {
      if (interruption.exitCode !== null) {
        throw new Refused("It is not whole. Every file is the old one or the new one.", interruption.exitCode)
      }
      throw isUnknown(thrown) ? new Refused(sentenceOf(thrown, atoll.api.url.origin, again), null, thrown) : thrown
    }
  }
})
