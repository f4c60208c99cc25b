/** The names in an answer, as the README uses them in later commands. */
export const namesIn = (command: string, answer: string): Readonly<Record<string, string>> => {
  const json = (() => {
    try {
      return JSON.parse(answer)
    } catch {
      return {}
    }
  })()
  const isMade = /-X POST/.test(command)
  return Object.fromEntries(
    Object.entries({
      WSP: isMade && json.workspace?.id,
      SBX: isMade && json.sandbox?.id,
      OP: isMade && json.operation?.id,
      // A fork's is not meant.
      SNP: isMade && json.sandboxes === undefined && json.snapshot?.id,
      IMG: isMade && json.image?.id,
      PRV: json.preview?.id,
      CAPABILITY: json.capability,
      EP: json.endpointId,
      PID: json.processes?.findLast(({ argv }: { readonly argv: ReadonlyArray<string> }) => argv[0] === "sleep")?.id,
      HOST: /^PREVIEW=/.test(command) && /\/\/([^/\s]+)/.exec(answer)?.[1],
      INVITATION: /\binv_\w+/.exec(answer)?.[0],
      KEY_ID: /\bkey_\w+/.exec(answer)?.[0]
    }).filter((entry): entry is [string, string] => typeof entry[1] === "string")
  )
}
