/**
 * Bounds the terminals of one Sandbox. The kernel has a few thousand for the whole host, and a Sandbox that opened them all would leave none to the
 * others. bubblewrap mounts a `devpts` for each Sandbox, but without a bound.
 *
 * @source Linux Documentation/filesystems/devpts.rst, `max`
 */
import { spawnSync } from "node:child_process"
import { HOST_ENVIRONMENT, mustRun } from "../linux/hostCommand.ts"
import type { ProcessIdentity } from "../linux/ProcessIdentity.ts"

const TERMINALS_MAX = 64
const OPTIONS = `nosuid,noexec,mode=620,ptmxmode=666,max=${TERMINALS_MAX}`

/**
 * Sets the bound as root, from outside, before any process of the user runs. The remount must repeat all options, because omitted ones are reset.
 *
 * The host's own mount(8) enters the mount namespace only for the call. A program that is started there would be a file of the Sandbox's root, which may
 * be an image that anyone made, and would run as root of the host.
 */
export const boundTerminals = async (init: ProcessIdentity): Promise<void> => {
  const place = ["-t", "devpts", "-o", `remount,${OPTIONS}`, "devpts", "/dev/pts"]
  await mustRun(["mount", "--namespace", String(init.pid), "-n", "-i", ...place])
}

/** Without root: mounts a bounded `devpts` before bubblewrap starts, as root of a user namespace above the Sandbox's. */
export const MOUNT_TERMINALS = `mount -n -i -t devpts -o newinstance,${OPTIONS} devpts /dev/pts`

let can: boolean | null = null

/** Some hosts allow user namespaces only to bubblewrap. The result is cached after the first call. */
export const canMountTerminals = (): boolean => {
  can ??=
    spawnSync("unshare", ["--user", "--map-root-user", "--mount", "--", "/bin/sh", "-c", MOUNT_TERMINALS], {
      cwd: "/",
      env: HOST_ENVIRONMENT,
      stdio: "ignore"
    }).status === 0
  return can
}
