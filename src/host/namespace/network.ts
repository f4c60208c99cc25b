/**
 * A Sandbox's way to the internet: slirp4netns carries its packets, routes inside its network namespace decide which.
 *
 * The Sandbox cannot change the routes: nothing in it has a capability over its network namespace. Denied are loopback, link-local (the cloud's
 * metadata address), private and shared ranges, multicast, and every address of this host. Names are resolved by slirp's own forwarder.
 * Without IPv6: there is no route for it at all.
 *
 * @source slirp4netns(1); RFC 6890; lab.md "Network on"
 */
import { spawn } from "node:child_process"
import { closeSync, readFileSync } from "node:fs"
import { networkInterfaces } from "node:os"
import type { Readable } from "node:stream"
import { HOST_ENVIRONMENT, mustRun } from "./hostCommand.ts"
import { MARKER } from "./processIdentity.ts"

/** slirp4netns puts its forwarder at .3 of its network. */
export const NAMESERVER = "10.0.2.3"

const READY_TIMEOUT_MS = 10_000

const DENIED_RANGES = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4"
]

const hostAddresses = (): ReadonlyArray<string> =>
  Object.values(networkInterfaces())
    .flat()
    .filter((it) => it !== undefined && it.family === "IPv4" && !it.address.startsWith("127."))
    .map((it) => `${it!.address}/32`)

/** For `ip -batch`, in the Sandbox's network namespace, before any packet can pass. */
export const routeCommands = (): string =>
  [
    "link set lo up",
    ...[...DENIED_RANGES, ...new Set(hostAddresses())].map((it) => `route replace prohibit ${it}`),
    ""
  ].join("\n")

/** As root, from outside: the routes for the network namespace of this process. */
export const denyRoutes = async (pid: number): Promise<void> => {
  await mustRun(["nsenter", `--net=/proc/${pid}/ns/net`, "ip", "-batch", "-"], routeCommands())
}

export interface NetworkOptions {
  /** A process in the network namespace. */
  readonly pid: number
  /** Without root: slirp must first enter the user namespace that owns the network namespace, which must be that process's own. */
  readonly throughUserNamespace: boolean
  /** slirp ends when the last writer of this pipe is gone. Closed here. */
  readonly exitFd: number
  readonly marker: string
}

/** Starts slirp4netns and returns once packets flow. */
export const connectNetwork = async ({ pid, throughUserNamespace, exitFd, marker }: NetworkOptions): Promise<void> => {
  const slirp = spawn(
    "slirp4netns",
    [
      "--configure",
      "--mtu=65520",
      "--disable-host-loopback",
      "--enable-sandbox",
      "--enable-seccomp",
      "--exit-fd=3",
      "--ready-fd=4",
      ...(throughUserNamespace ? [String(pid)] : ["--netns-type=path", `/proc/${pid}/ns/net`]),
      "tap0"
    ],
    {
      cwd: "/",
      detached: true,
      env: { ...HOST_ENVIRONMENT, [MARKER]: marker },
      stdio: ["ignore", "ignore", "ignore", exitFd, "pipe"]
    }
  )
  closeSync(exitFd)
  slirp.unref()
  const ready = slirp.stdio[4] as Readable
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        slirp.kill("SIGKILL")
        reject(new Error("slirp4netns was not ready in time"))
      }, READY_TIMEOUT_MS)
      const settle = (act: () => void) => {
        clearTimeout(timer)
        act()
      }
      slirp.on("error", (cause) => settle(() => reject(cause)))
      slirp.on("exit", (code, signal) => settle(() => reject(new Error(`slirp4netns ended with ${code ?? signal}`))))
      ready.once("data", () => settle(resolve))
    })
  } finally {
    ready.destroy()
  }
}

/** What all interfaces of a process's network namespace but loopback have carried; null when that process is gone. */
export const networkBytes = (pid: number): { readonly received: number; readonly sent: number } | null => {
  try {
    const lines = readFileSync(`/proc/${pid}/net/dev`, "utf8").split("\n").slice(2)
    const fields = lines.map((line) => line.trim().split(/[:\s]+/)).filter(([name]) => name !== "" && name !== "lo")
    const sum = (column: number) => fields.reduce((total, it) => total + Number(it[column]), 0)
    return { received: sum(1), sent: sum(9) }
  } catch {
    return null
  }
}
