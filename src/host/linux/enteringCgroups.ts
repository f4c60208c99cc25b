/** A command line that enters cgroups and then becomes another program. */
import { quoted } from "./shellQuoted.ts"

/**
 * The lines of a shell with which it enters cgroups, or ends. As a process of one thread it does not wait for the kernel where it writes to `tasks` of
 * v1. A process that is moved by another one waits 5 to 20 ms for each, and with it all that starts a process.
 */
export const enteringCgroups = (files: ReadonlyArray<string>): ReadonlyArray<string> =>
  files.map((path) => `echo 0 > ${quoted(path)} || exit 97`)

type Argv = readonly [string, ...ReadonlyArray<string>]

/** `argv`, entered first. */
export const insideCgroups = (files: ReadonlyArray<string>, argv: Argv): Argv =>
  files.length === 0 ? argv : ["/bin/sh", "-c", [...enteringCgroups(files), 'exec "$@"'].join("\n"), "sh", ...argv]
