/**
 * What a guest with a network may reach, enforced outside it: QEMU sits alone in a network namespace whose only way out is slirp4netns,
 * and whose routes refuse the host, private, link-local and reserved addresses. Nobody in that namespace may change a route.
 *
 * The guest's packets become QEMU's own connections (user networking), so they meet those routes. Names are resolved by slirp4netns'
 * forwarder, the only private address that is let through.
 *
 * @source issue "The VM runtime"; lab.md: slirp4netns alone reaches the host and link-local addresses; RFC 6890
 */
import { spawn } from "node:child_process"
import { closeSync, fstatSync, openSync, statSync } from "node:fs"
import { networkInterfaces } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"

/** slirp4netns' own forwarder, as the namespace sees it. */
export const NAMESERVER = "10.0.2.3"
const GATEWAY = "10.0.2.2"
const DEVICE = "tap0"

const REFUSED = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4"
]

/** Lines for `ip -batch`. `hostAddresses`: the host's own IPv4 addresses, public ones too. */
export const routeCommands = (hostAddresses: ReadonlyArray<string>): string =>
  [
    // The connected route would let the gateway's address through.
    "route del 10.0.2.0/24",
    `route replace default via ${GATEWAY} dev ${DEVICE} onlink`,
    `route add ${NAMESERVER}/32 dev ${DEVICE}`,
    // They outlive a slirp4netns that died, and are there when the next one comes.
    ...REFUSED.map((range) => `route replace prohibit ${range}`),
    ...new Set(hostAddresses.map((address) => `route replace prohibit ${address}/32`)),
    ""
  ].join("\n")

const hostAddresses = (): ReadonlyArray<string> =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family }) => family === "IPv4")
    .map(({ address }) => address)
    .filter((address) => !address.startsWith("127."))

const END_TIMEOUT_MS = 10_000

/** Runs to its end; rejects with what it said. */
const run = (command: string, args: ReadonlyArray<string>, input: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ["pipe", "ignore", "pipe"],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
      timeout: END_TIMEOUT_MS
    })
    let errors = ""
    child.stderr.on("data", (bytes: Buffer) => {
      errors = (errors + bytes.toString()).slice(0, 500)
    })
    child.on("error", reject)
    child.on("close", (code) => (code === 0 ? resolve() : reject(new Error(`${command}: ${errors.trim()}`))))
    child.stdin.on("error", () => {})
    child.stdin.end(input)
  })

const NAMESPACE_POLL_MS = 2

/**
 * The network namespace of a process that is on its way into one of its own, held open: until it is there its name still leads to ours, and what
 * is meant for a guest would be done to this host.
 */
const ownNamespace = async (pid: number, timeoutMs: number): Promise<number> => {
  const ours = statSync("/proc/self/ns/net").ino
  const deadline = performance.now() + timeoutMs
  while (true) {
    const fd = openSync(`/proc/${pid}/ns/net`, "r")
    if (fstatSync(fd).ino !== ours) return fd
    closeSync(fd)
    if (performance.now() > deadline) throw new Error("the machine has no network namespace of its own")
    await sleep(NAMESPACE_POLL_MS)
  }
}

/**
 * Connects the network namespace of the process `pid` and closes what a guest must not reach.
 * `lifeFd`: the read end of a pipe whose write end that process holds; when it closes, slirp4netns ends.
 * Returns slirp4netns' pid. Resolves only when every route is in place. Rejects, and changes nothing, when the process stays in our namespace.
 */
export const connectNetwork = async (pid: number, lifeFd: number, timeoutMs = END_TIMEOUT_MS): Promise<number> => {
  const namespace = await ownNamespace(pid, timeoutMs)
  try {
    return await connectNamespace(`/proc/${process.pid}/fd/${namespace}`, lifeFd)
  } finally {
    closeSync(namespace)
  }
}

const connectNamespace = async (namespace: string, lifeFd: number): Promise<number> => {
  const slirp = spawn(
    "slirp4netns",
    [
      ...["--configure", "--mtu=65520", "--disable-host-loopback", "--enable-sandbox", "--enable-seccomp"],
      ...["--ready-fd=3", "--exit-fd=4", "--netns-type=path", namespace, DEVICE]
    ],
    {
      detached: true,
      stdio: ["ignore", "ignore", "ignore", "pipe", lifeFd],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" }
    }
  )
  slirp.unref()
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("slirp4netns did not start in time")), END_TIMEOUT_MS)
    slirp.on("error", reject)
    slirp.on("exit", () => reject(new Error("slirp4netns ended at once")))
    slirp.stdio[3]?.once("data", () => {
      clearTimeout(timer)
      slirp.stdio[3]?.destroy()
      resolve()
    })
    slirp.stdio[3]?.on("error", () => {})
  })
  await run("nsenter", [`--net=${namespace}`, "ip", "-batch", "-"], routeCommands(hostAddresses()))
  return slirp.pid!
}
