/** How a command line of an agent runs: by Bash, or by the shell of an image that has none. */

/** Costs a start of a shell more, so that only images get it. */
const byWhatThereIs = 'command -v bash >/dev/null 2>&1 && exec bash -c "$1"; exec sh -c "$1"'

/** @param imageId Null: the Sandbox has the host's own programs, and Bash is among them. */
export const shellCommand = (commandLine: string, imageId: string | null): ReadonlyArray<string> =>
  imageId === null ? ["bash", "-c", commandLine] : ["sh", "-c", byWhatThereIs, "sh", commandLine]
