/**
 * The user namespaces of a Sandbox in which Dockerfiles are built. Its root changes owners, changes to other users, mounts binds and changes its root
 * directory, as `RUN apt-get install` and buildah need, and has no capability over anything that others have.
 *
 * Two nested namespaces have the same users. The outer one owns what bubblewrap makes: mounts, network, processes, cgroup, IPC and host name. The agent
 * and all commands are in the inner one, so their capabilities are over none of that: not over the routes and the packet filter, nor over the mounts,
 * some of which cover what must stay hidden. A mount namespace that buildah makes belongs to the inner one, and there the kernel has locked each mount
 * that comes from the outer: none can be taken away, moved, or be made writable.
 *
 * User 0 is the Sandbox's user, as whom the service and the agent know its files; 1 to 65535 are host users that nothing else has. Of all users of the
 * host only these are known inside, so a capability of the inner namespace says nothing about files of any other.
 *
 * @source user_namespaces(7), mount_namespaces(7) "Restrictions on mount namespaces"; bwrap(1) --userns2
 */
import { writeFile } from "node:fs/promises"
import type { UserRange } from "../linux/HostUsers.ts"
import { SANDBOX_USERS } from "./markedProcesses.ts"

const USERS = 65_536

/**
 * Where the first range begins. Below are the users of distributions, of /etc/subuid (up to 600,100,000) and of systemd (up to 2^31 - 1). As many ranges
 * as fit below 2^32, less the last, which has the kernel's "no user".
 *
 * @source shadow login.defs(5) SUB_UID_MAX; systemd docs/UIDS-GIDS.md
 */
const FIRST = 2 ** 31
const RANGES = (2 ** 32 - FIRST) / USERS - 1

/**
 * What a step of a build has in a container engine, of which buildah gives it no more: SETPCAP to give up the rest, NET_BIND_SERVICE without effect, since
 * the network belongs to the outer namespace. And SYS_ADMIN for buildah's mounts.
 */
export const BUILDER_CAPABILITIES = [
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
  "SYS_ADMIN"
]

/** For a trial of this host. No Sandbox gets them. */
export const trialUsers: UserRange = { first: FIRST + RANGES * USERS, count: USERS - 1 }

/** Of the Sandbox with this user. The register of users gives the lowest free one, so a host would need 32,767 Sandboxes to run out. */
export const subordinateUsers = (uid: number): UserRange => {
  const place = uid - SANDBOX_USERS.first
  if (place < 0 || place >= RANGES) throw new Error(`user ${uid} has no range of users for builds`)
  return { first: FIRST + place * USERS, count: USERS - 1 }
}

/** Only root may write maps of more than one user. */
export const mapUsers = async (pid: number, uid: number, { first, count }: UserRange): Promise<void> => {
  for (const map of ["uid_map", "gid_map"])
    await writeFile(`/proc/${pid}/${map}`, `0 ${uid} 1\n1 ${first} ${count}\n`, { flag: "r+" })
}

/**
 * Precedes bwrap, and is run as the Sandbox's user. Tells on one descriptor that the outer namespace is there, and reads a line from another once its
 * users are mapped. The first descriptor is then that of the inner namespace.
 */
export const builderNamespaces = (told: number, gate: number): ReadonlyArray<string> => {
  // The second shell has root's capabilities, which the first one does not get before its user is mapped.
  const outer = `echo made >&${told} || exit 96
read -r go <&${gate} || exit 98
exec ${gate}<&- ${told}>&- /bin/sh -c "$0" sh "$@"`
  // A process holds the inner namespace until its descriptor is open. By the end of that process's output the shell knows that it is in there.
  const inner = `p=$(unshare --user -- /bin/sh -c 'echo $$; exec sleep 60 >&- 2>&-' &)
for map in uid_map gid_map; do printf '0 0 1\\n1 1 ${USERS - 1}\\n' >/proc/$p/$map || exit 94; done
exec ${told}</proc/$p/ns/user || exit 94
kill $p
exec "$@"`
  return ["unshare", "--user", "--", "/bin/sh", "-c", outer, inner]
}
