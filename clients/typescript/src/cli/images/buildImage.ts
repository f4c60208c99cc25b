/** `atoll images build` */
import { stat } from "node:fs/promises"
import { command } from "../Command.ts"
import { exitCodes, WrongUsage } from "../failure.ts"
import { namedWorkspace } from "../namedWorkspace.ts"
import { write } from "../standardStreams.ts"
import { answerImage } from "./answerImage.ts"

/** The time in which the service answers beside the upload itself. */
const patienceSeconds = 60

const argsOf = (given: ReadonlyArray<string>): Record<string, string> =>
  Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf("=")
      const name = at === -1 ? pair : pair.slice(0, at)
      const value = at === -1 ? process.env[name] : pair.slice(at + 1)
      if (value === undefined)
        throw new WrongUsage(`--build-arg ${name}: there is no variable ${name}. Give NAME=VALUE.`)
      return [name, value]
    })
  )

export const build = command({
  name: "build",
  summary: "Build an image of a directory with a Dockerfile, and print its id once it is ready",
  usage: "DIRECTORY [-f FILE] [-t NAME] [--target STAGE] [--build-arg NAME=VALUE]…",
  details: [
    "The whole directory is sent; what its .dockerignore names is not in the build. The build runs in a Sandbox of the account.",
    "What it writes comes as it is written, on the standard error output. Where it fails, this ends with 1. Ctrl-C ends the",
    "reading, and not the build."
  ].join("\n"),
  options: {
    file: {
      type: "string",
      short: "f",
      value: "FILE",
      description: "The Dockerfile, as a path in the directory; Dockerfile by default"
    },
    name: { type: "string", short: "t", value: "NAME", description: "For people; other commands take it, too" },
    target: { type: "string", value: "STAGE", description: "The stage to build; the last one by default" },
    "build-arg": {
      type: "string",
      multiple: true,
      value: "NAME=VALUE",
      description: "Of an ARG; NAME alone takes the value of this computer's variable; may be repeated"
    },
    workspace: { type: "string", short: "w", value: "WORKSPACE", description: "Where the build's Sandbox is" },
    quiet: { type: "boolean", short: "q", description: "Do not show what the build writes" },
    "no-wait": { type: "boolean", description: "Do not wait until it is ready" },
    "idempotency-key": {
      type: "string",
      value: "KEY",
      description: "Names this build: repeated with the same key and files, it is the same image"
    }
  },
  words: { least: 1, most: 1, completes: ["file"] },
  examples: [
    ["images build . -t tools", "Of the Dockerfile in this directory"],
    [
      "images build app -f docker/Dockerfile --target test --build-arg VERSION=3",
      "Another file, a stage and an argument"
    ]
  ],
  run: async (given) => {
    const { file, name, target, workspace, quiet, "no-wait": noWait, "idempotency-key": idempotencyKey } = given.options
    const context = given.words[0]!
    if (!(await stat(context)).isDirectory()) throw new WrongUsage(`${context} is not a directory.`)
    const atoll = given.connect(patienceSeconds)
    const workspaceId = workspace === undefined ? undefined : (await namedWorkspace(atoll, workspace)).id
    const image = await atoll.images.build({
      ...{ context, dockerfile: file, name, target, workspaceId, idempotencyKey },
      buildArgs: argsOf(given.options["build-arg"] ?? []),
      untilReady: false
    })
    if (noWait !== true) {
      if (quiet !== true) for await (const { bytes } of image.buildOutput()) await write(process.stderr, bytes)
      await image.untilReady({ withinSeconds: Number.POSITIVE_INFINITY })
    }
    await answerImage(given, image)
    return exitCodes.done
  }
})
