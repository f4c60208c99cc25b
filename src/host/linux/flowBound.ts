/**
 * A limit on the connections that one network namespace has open at a time, counted in that namespace.
 *
 * A host that tracks connections (a firewall with state, Docker, kube-proxy) has one table for all of them, and every flow that slirp4netns
 * carries takes an entry. A single UDP socket in a Sandbox that sends to many addresses filled a table of 262,144 entries in four seconds; while
 * the flows had answers, the kernel then dropped new connections of everybody, Atoll's clients included. slirp4netns' limit of open files does
 * not bound this, and routes and `packetFilter.ts` keep no state. So nftables counts: a packet that would begin one flow more is dropped. A flow that was
 * answered goes on.
 *
 * @source nft(8) "CONNLIMIT", Linux net/netfilter/nf_conncount.c and nf_conntrack_core.c (early_drop)
 */
import { spawnSync } from "node:child_process"
import { HOST_ENVIRONMENT } from "./hostCommand.ts"
import { missingPackages } from "./programs.ts"

/** All protocols together. A flow of UDP counts for half a minute after its last packet, one that was answered for two. */
export const FLOWS_MAX = 4096

const PROBE_TIMEOUT_MS = 10_000

/** Lines for `nft -f`. Safe to repeat. */
export const flowCommands = (device: string): string =>
  [
    // So that there is a table to delete.
    "table ip atoll",
    "delete table ip atoll",
    "table ip atoll {",
    "  chain out {",
    "    type filter hook output priority 0; policy accept;",
    `    oifname "${device}" ct state new ct count over ${FLOWS_MAX} drop`,
    "  }",
    "}",
    ""
  ].join("\n")

/** The kernel checks the rules in a network namespace that is gone afterwards. Null when it takes them. */
const tryRules = (): string | null => {
  const asRoot = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"]
  const { status, stderr } = spawnSync("unshare", [...asRoot, "--net", "--", "nft", "--check", "--file", "-"], {
    cwd: "/",
    env: HOST_ENVIRONMENT,
    input: flowCommands("tap0"),
    encoding: "utf8",
    timeout: PROBE_TIMEOUT_MS
  })
  return status === 0 ? null : `nftables does not work here: ${(stderr ?? "").trim().split("\n")[0]!.slice(0, 200)}`
}

let known: string | null | undefined

/** Null when connections are counted on this host; else why not, without a full stop. Asked once a process. */
export const flowObstacle = (): string | null => {
  if (known === undefined) {
    const absent = missingPackages({ nft: "nftables" })
    known = absent.length > 0 ? `missing on this host: apt-get install ${absent.join(" ")}` : tryRules()
  }
  return known
}

/** For people. */
export const flowStatement = (): string => {
  const obstacle = flowObstacle()
  return obstacle === null
    ? `A Sandbox has at most ${FLOWS_MAX} connections to the internet at a time.`
    : `The connections of a Sandbox are not counted, so one can fill this host's table of tracked connections: ${obstacle}.`
}
