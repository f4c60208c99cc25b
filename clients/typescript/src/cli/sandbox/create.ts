/** `atoll sandbox create` */

import { command } from "../Command.ts"
import { checkpointOptions, checkpoints } from "../checkpoints.ts"
import { exitCodes } from "../failure.ts"
import { namedImage } from "../namedImage.ts"
import { namedSnapshot } from "../namedSnapshot.ts"
import { namedWorkspace } from "../namedWorkspace.ts"
import { answer, remark } from "../standardStreams.ts"
import { duration, oneOf, pairs, sizeOptions, sizes, variableOptions, variables } from "../values.ts"

const optionalDuration = (option: string, text: string | undefined): number | undefined =>
  text === undefined ? undefined : duration(option, text)

/** A new Sandbox may take as long to boot as its image takes to load. */
const patienceSeconds = 60

export const create = command({
  name: "create",
  summary: "Make a Sandbox, and print its id once it runs",
  usage: "[--name NAME] [OPTIONS]",
  details: "Variables are secrets: they are stored sealed, and shown by their names only.",
  options: {
    name: { type: "string", value: "NAME", description: "For people; other commands take it, too" },
    workspace: { type: "string", value: "WORKSPACE", description: "Name or id; the oldest by default" },
    metadata: {
      type: "string",
      short: "m",
      multiple: true,
      value: "KEY=VALUE",
      description: "A mark of your own; may be repeated"
    },
    ...variableOptions,
    ...sizeOptions,
    "stop-after": {
      type: "string",
      value: "TIME",
      description: "Stop it when it has run for so long: 90s, 15m, 2h, 7d"
    },
    "stop-after-idle": { type: "string", value: "TIME", description: "Stop it when nobody has used it for so long" },
    "delete-after-stopped": {
      type: "string",
      value: "TIME",
      description: "Delete it when it has been stopped for so long; 0 for at once"
    },
    ...checkpointOptions,
    snapshot: {
      type: "string",
      value: "SNAPSHOT",
      description: "Begin with the files and variables of this one: name or id",
      completes: "snapshot"
    },
    image: {
      type: "string",
      value: "IMAGE",
      description: "Have this image for its root file system: name or id",
      completes: "image"
    },
    runtime: { type: "string", value: "KIND", description: "vm or namespace; by default as the operator has chosen" },
    "no-network": { type: "boolean", description: "It reaches nothing, and has no previews" },
    "no-wait": { type: "boolean", description: "Do not wait until it runs" },
    "idempotency-key": {
      type: "string",
      value: "KEY",
      description: "Names this creation: repeated with the same key, it is the same Sandbox"
    }
  },
  words: { least: 0, most: 0, completes: [] },
  examples: [
    ["sandbox create --name dev --stop-after-idle 30m", "One that stops when nobody uses it"],
    [
      "sandbox create --env GITHUB_TOKEN --env CI=1 -m team=blue",
      "With a variable as it is here, one of its own, and a mark"
    ],
    ["sandbox create --checkpoint-every 1h --checkpoint-keep 5", "One that takes a snapshot each hour"],
    ["sandbox create --snapshot before-migration", "One with the files of a snapshot"],
    ["sandbox create --image tools", "One with an image that was pulled"],
    ['run --sandbox "$(atoll sandbox create)" -- uname -a', "The id is all that goes to stdout"]
  ],
  run: async (given) => {
    const { options } = given
    const atoll = given.connect(patienceSeconds)
    const { workspace, snapshot, image } = options
    const sandbox = await atoll.sandboxes.create({
      name: options.name,
      workspaceId: workspace === undefined ? undefined : (await namedWorkspace(atoll, workspace)).id,
      snapshot: snapshot === undefined ? undefined : await namedSnapshot(atoll, snapshot),
      image: image === undefined ? undefined : await namedImage(atoll, image),
      metadata: pairs("--metadata", options.metadata),
      env: variables(options),
      runtime: options.runtime === undefined ? undefined : oneOf("--runtime", options.runtime, ["vm", "namespace"]),
      profile: sizes(options),
      networkEnabled: options["no-network"] !== true,
      lifetime: {
        stopAfterSeconds: optionalDuration("--stop-after", options["stop-after"]),
        stopAfterIdleSeconds: optionalDuration("--stop-after-idle", options["stop-after-idle"]),
        deleteAfterStoppedSeconds: optionalDuration("--delete-after-stopped", options["delete-after-stopped"])
      },
      checkpoints: checkpoints(options),
      untilRunning: options["no-wait"] !== true,
      idempotencyKey: options["idempotency-key"]
    })
    await answer(given, sandbox.id, { sandbox: sandbox.record })
    if (!given.isJson && process.stdout.isTTY) {
      remark(`It is ${sandbox.status}. A shell in it: \`atoll shell ${sandbox.id}\``)
    }
    return exitCodes.done
  }
})
