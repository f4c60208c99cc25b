/**
 * Bounds the terminals of one Sandbox. The kernel has a few thousand for all of a host, and whoever opened them all would leave none to the others;
 * bubblewrap mounts a `devpts` for each Sandbox, but without its bound.
 *
 * @source Linux Documentation/filesystems/devpts.rst, `max`
 */
import { mustRun } from "../linux/hostCommand.ts"
import type { ProcessIdentity } from "../linux/ProcessIdentity.ts"

const TERMINALS_MAX = 64

/** As root, from outside, before anything of the user's runs. What is not said again is reset. */
export const boundTerminals = async (init: ProcessIdentity): Promise<void> => {
  const options = `remount,nosuid,noexec,mode=620,ptmxmode=666,max=${TERMINALS_MAX}`
  const mount = ["mount", "-n", "-i", "-t", "devpts", "-o", options, "devpts", "/dev/pts"]
  await mustRun(["nsenter", `--target=${init.pid}`, "--mount", "--", ...mount])
}
