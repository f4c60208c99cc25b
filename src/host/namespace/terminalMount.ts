/**
 * Bounds the terminals of one Sandbox. The kernel has a few thousand for all of a host, and whoever opened them all would leave none to the others;
 * bubblewrap mounts a `devpts` for each Sandbox, but without its bound.
 *
 * @source Linux Documentation/filesystems/devpts.rst, `max`
 */
import { spawnSync } from "node:child_process"
import { HOST_ENVIRONMENT, mustRun } from "../linux/hostCommand.ts"
import type { ProcessIdentity } from "../linux/ProcessIdentity.ts"

const TERMINALS_MAX = 64
const OPTIONS = `nosuid,noexec,mode=620,ptmxmode=666,max=${TERMINALS_MAX}`

/** As root, from outside, before anything of the user's runs. What is not said again is reset. */
export const boundTerminals = async (init: ProcessIdentity): Promise<void> => {
  const mount = ["mount", "-n", "-i", "-t", "devpts", "-o", `remount,${OPTIONS}`, "devpts", "/dev/pts"]
  await mustRun(["nsenter", `--target=${init.pid}`, "--mount", "--", ...mount])
}

/** Without root a `devpts` with its bound is mounted before bubblewrap, by the root of a user namespace that the Sandbox's lies below. */
export const MOUNT_TERMINALS = `mount -n -i -t devpts -o newinstance,${OPTIONS} devpts /dev/pts`

let can: boolean | null = null

/** Some hosts let bubblewrap have user namespaces, and nobody else. Known after the first call. */
export const canMountTerminals = (): boolean => {
  can ??=
    spawnSync("unshare", ["--user", "--map-root-user", "--mount", "--", "/bin/sh", "-c", MOUNT_TERMINALS], {
      cwd: "/",
      env: HOST_ENVIRONMENT,
      stdio: "ignore"
    }).status === 0
  return can
}
