/** `atoll sandbox update` */

import { command } from "../Command.ts"
import { checkpointOptions, checkpoints } from "../checkpoints.ts"
import { exitCodes, WrongUsage } from "../failure.ts"
import { namedSandbox } from "../namedSandbox.ts"
import { plain } from "../plainText.ts"
import { answer } from "../standardStreams.ts"
import { duration, pairs, sizeOptions, sizes, variableOptions, variables } from "../values.ts"

/** The time in which the service does it. */
const patienceSeconds = 60

/** Removes a time. */
const never = "never"

const time = (option: string, text: string | undefined): number | null | undefined =>
  text === undefined ? undefined : text === never ? null : duration(option, text)

/** The values to set and to remove, which is null in the API. Undefined: no change. */
const changes = (set: Readonly<Record<string, string>>, removed: ReadonlyArray<string> = []) => {
  const all = [...Object.entries(set), ...removed.map((name) => [name, null] as const)]
  return all.length === 0 ? undefined : Object.fromEntries<string | null>(all)
}

export const update = command({
  name: "update",
  summary: "Change the name, metadata, variables, sizes, lifetime or checkpoints of a Sandbox",
  usage: "SANDBOX [OPTIONS]",
  details: [
    "What is not named stays as it is. Commands that begin afterwards get the new variables; those that run keep",
    "theirs. A time counts from the boot, or from the stop: what has passed already falls at once."
  ].join("\n"),
  options: {
    name: { type: "string", value: "NAME", description: "For people; an empty one: it has none any more" },
    metadata: {
      type: "string",
      short: "m",
      multiple: true,
      value: "KEY=VALUE",
      description: "A mark of your own; may be repeated"
    },
    "remove-metadata": { type: "string", multiple: true, value: "KEY", description: "Take it away; may be repeated" },
    ...variableOptions,
    "remove-env": { type: "string", multiple: true, value: "NAME", description: "Take it away; may be repeated" },
    ...sizeOptions,
    "stop-after": { type: "string", value: "TIME", description: `Stop it when it has run for so long, or ${never}` },
    "stop-after-idle": {
      type: "string",
      value: "TIME",
      description: `Stop it when nobody has used it for so long, or ${never}`
    },
    "delete-after-stopped": {
      type: "string",
      value: "TIME",
      description: `Delete it when it has been stopped for so long, or ${never}`
    },
    ...checkpointOptions
  },
  words: { least: 1, most: 1, completes: ["sandbox"] },
  examples: [
    ["sandbox update dev --name api -m stage=review", "Another name, and a mark more"],
    ["sandbox update dev --env GITHUB_TOKEN --remove-env DEBUG", "One variable as it is here, another one away"],
    ["sandbox update dev --vcpus 1.5 --memory 1G", "Other sizes; a virtual machine has them at its next start"],
    ["sandbox update dev --stop-after-idle never", "It stays until somebody stops it"]
  ],
  run: async (given) => {
    const { options } = given
    const lifetime = {
      stopAfterSeconds: time("--stop-after", options["stop-after"]),
      stopAfterIdleSeconds: time("--stop-after-idle", options["stop-after-idle"]),
      deleteAfterStoppedSeconds: time("--delete-after-stopped", options["delete-after-stopped"])
    }
    const asked = {
      name: options.name === "" ? null : options.name,
      metadata: changes(pairs("--metadata", options.metadata), options["remove-metadata"]),
      env: changes(variables(options), options["remove-env"]),
      profile: sizes(options),
      lifetime: Object.values(lifetime).some((part) => part !== undefined) ? lifetime : undefined,
      checkpoints: checkpoints(options)
    }
    if (Object.values(asked).every((part) => part === undefined)) {
      throw new WrongUsage("Say what is to be changed: its name, metadata, variables, sizes, lifetime or checkpoints.")
    }
    const sandbox = await namedSandbox(given.connect(patienceSeconds), given.words[0]!)
    const { record } = await sandbox.update(asked)
    const { id, name } = record
    await answer(given, () => `${id}${name === null ? "" : ` (${plain(name)})`} is changed.`, { sandbox: record })
    return exitCodes.done
  }
})
