/** `atoll fork` */
import { command } from "./Command.ts"
import { exitCodes, WrongUsage } from "./failure.ts"
import { namedSandbox } from "./namedSandbox.ts"
import { answer, remark } from "./standardStreams.ts"
import { duration, later, pairs, whole } from "./values.ts"

const countMax = 100

/** As many new Sandboxes may take as long to boot as their image takes to load. */
const patienceSeconds = 60

const seconds = (option: string, text: string | undefined): number | undefined =>
  text === undefined ? undefined : duration(option, text)

export const fork = command({
  name: "fork",
  summary: "Make copies of a Sandbox, and print their ids once they run",
  usage: "SANDBOX [--count COUNT] [OPTIONS]",
  details: [
    "All begin with the volume as it is now, or with that of an earlier snapshot; stderr says what that misses. They have",
    "the variables, the metadata and the lifetime of the Sandbox, unless given otherwise. A copy that was refused or failed is",
    "reported on stderr; the others are made all the same."
  ].join("\n"),
  options: {
    count: { type: "string", short: "n", value: "COUNT", description: `How many, at most ${countMax}; 1 by default` },
    "at-revision": {
      type: "string",
      value: "N",
      description: "Begin from the newest snapshot at or before this revision of its log, and take none"
    },
    memory: {
      type: "boolean",
      description: "With the running processes: only of a virtual machine that runs or sleeps, and of now"
    },
    name: {
      type: "string",
      multiple: true,
      value: "NAME",
      description: "For the first, the second and so on; the others are called as the Sandbox is"
    },
    metadata: {
      type: "string",
      short: "m",
      multiple: true,
      value: "KEY=VALUE",
      description: "A mark of each, in place of the Sandbox's; may be repeated"
    },
    "stop-after": { type: "string", value: "TIME", description: "Stop each when it has run for so long" },
    "stop-after-idle": {
      type: "string",
      value: "TIME",
      description: "Stop each when it has not been used for so long"
    },
    "delete-after-stopped": {
      type: "string",
      value: "TIME",
      description: "Delete each when it has been stopped for so long"
    },
    expires: {
      type: "string",
      value: "TIME",
      description: "When their snapshot is deleted: after a time, or at an instant; after 24h by default"
    },
    "no-wait": { type: "boolean", description: "Do not wait until they run" },
    "idempotency-key": {
      type: "string",
      value: "KEY",
      description: "Names this fork: repeated with the same key, it has the same Sandboxes"
    }
  },
  words: { least: 1, most: 1, completes: ["sandbox"] },
  examples: [
    ["fork dev --count 5 -m try=1", "Five copies, with a mark by which they are found again"],
    ["sandbox delete $(atoll sandbox list -q --metadata try=1)", "Deletes them"],
    ["fork dev --memory", "A copy of a virtual machine that goes on with its processes"],
    ["fork dev --at-revision 14", "As it was then, or at the last snapshot before"],
    ["fork dev --json | jq -r '.sandboxes[0].id'", "For a program"]
  ],
  run: async (given) => {
    const { options } = given
    if (options.memory === true && options["at-revision"] !== undefined)
      throw new WrongUsage("Say either --memory, which is of now, or --at-revision.")
    const lifetime = {
      stopAfterSeconds: seconds("--stop-after", options["stop-after"]),
      stopAfterIdleSeconds: seconds("--stop-after-idle", options["stop-after-idle"]),
      deleteAfterStoppedSeconds: seconds("--delete-after-stopped", options["delete-after-stopped"])
    }
    const asked = {
      count: options.count === undefined ? 1 : whole("--count", options.count, 1, countMax),
      names: options.name,
      memory: options.memory,
      atRevision:
        options["at-revision"] === undefined
          ? undefined
          : whole("--at-revision", options["at-revision"], 1, Number.MAX_SAFE_INTEGER),
      metadata: options.metadata === undefined ? undefined : pairs("--metadata", options.metadata),
      lifetime: Object.values(lifetime).some((part) => part !== undefined) ? lifetime : undefined,
      expiresAt: options.expires === undefined ? undefined : later("--expires", options.expires),
      idempotencyKey: options["idempotency-key"],
      untilRunning: options["no-wait"] !== true
    }
    const source = await namedSandbox(given.connect(patienceSeconds), given.words[0]!)
    const { snapshot, sandboxes, refused, missing } = await source.fork(asked)
    await answer(given, () => sandboxes.map(({ id }) => id).join("\n"), {
      snapshot: snapshot.record,
      sandboxes: sandboxes.map(({ record }) => record),
      refused,
      missing
    })
    if (missing !== null) {
      remark(
        `Not in it: ${missing.transitions} transitions, ${missing.operationCount} operations since revision ${snapshot.record.sandboxRevision}.`
      )
    }
    const broken = sandboxes.filter(({ status }) => status === "failed")
    for (const { id, record } of broken)
      remark(`${id} failed: ${record.statusReason?.message ?? "no reason is known."}`)
    for (const { index, message } of refused) remark(`Copy ${index + 1} was refused: ${message}`)
    return broken.length + refused.length === 0 ? exitCodes.done : exitCodes.refused
  }
})
