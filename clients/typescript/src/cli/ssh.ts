/** `atoll ssh` */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { constants, tmpdir } from "node:os"
import { join } from "node:path"
import { AtollError } from "../errors.ts"
import type { CooperativeEnvelope } from "../generated/schemas.ts"
import { command } from "./Command.ts"
import { exitCodes, Refused } from "./failure.ts"
import { insist } from "./insist.ts"
import { namedSandbox } from "./namedSandbox.ts"
import { newSshKey } from "./sshKey.ts"
import { remark } from "./standardStreams.ts"

/** For a waking Sandbox. */
const patienceSeconds = 60

/** ssh's exit code for its own failures. A command may end with it, too. */
const lostCode = 255

/** All options of ssh, in a file that other users cannot read. */
const configOf = (folder: string, { host, port, username }: CooperativeEnvelope): string =>
  [
    "Host sandbox",
    `  HostName ${host}`,
    `  Port ${port}`,
    `  User ${username}`,
    `  IdentityFile "${join(folder, "key")}"`,
    "  IdentitiesOnly yes",
    "  IdentityAgent none",
    "  PreferredAuthentications publickey",
    "  StrictHostKeyChecking yes",
    `  UserKnownHostsFile "${join(folder, "known_hosts")}"`,
    "  GlobalKnownHostsFile /dev/null",
    "  UpdateHostKeys no",
    "  LogLevel ERROR",
    ""
  ].join("\n")

/** In a line of known_hosts. */
const placeOf = ({ host, port }: CooperativeEnvelope): string => (port === 22 ? host : `[${host}]:${port}`)

/** Text of the service that goes into ssh's files is checked against its form. */
const isPlain = ({ host, username, hostKey }: CooperativeEnvelope): boolean =>
  /^[\w:][\w.:-]*$/.test(host) &&
  /^[\w-]+$/.test(username) &&
  /^[\w-]+ [A-Za-z0-9+/]+=*(?: [\w@.-]*)?$/.test(hostKey.trim())

export const ssh = command({
  name: "ssh",
  summary: "Connect with the system's ssh",
  usage: "SANDBOX [-- COMMAND [ARGUMENTS]]",
  details: [
    "The service gives a key that is made for this one connection 30 s to open it, and takes it back afterwards; the",
    "host key is the one that the service tells. Exit codes are ssh's, which are the command's, or 255 where the connection",
    "is lost; 125 where there was none to begin with. The service must have SSH switched on."
  ].join("\n"),
  options: {
    tunnel: {
      type: "string",
      short: "L",
      multiple: true,
      value: "FORWARD",
      description: "As ssh's -L: 8080:127.0.0.1:3000. May be repeated"
    },
    tty: { type: "boolean", short: "t", description: "A terminal for the command, too" }
  },
  failsWith: exitCodes.notRun,
  words: { least: 1, most: Number.POSITIVE_INFINITY, completes: ["sandbox", "command", "file"] },
  examples: [
    ["ssh dev", "A shell"],
    ["ssh dev -- tar cz src > src.tgz", "One command"],
    ["ssh dev -L 5432:127.0.0.1:5432", "With a port of the Sandbox"]
  ],
  run: async (given) => {
    const [nameOrId = "", ...argv] = given.words
    const sandbox = await namedSandbox(given.connect(patienceSeconds), nameOrId)
    const { api } = given.connect(patienceSeconds)
    const { publicKey, privateKey } = newSshKey()
    // A grant that was not received opens nothing after its 30 s.
    const envelope = await insist(patienceSeconds, () =>
      api.call("grantConnection", { parameters: { id: sandbox.id }, body: { publicKeys: [publicKey] } })
    ).catch((thrown: unknown) => {
      if (thrown instanceof AtollError && thrown.is("UNSUPPORTED_BY_RUNTIME")) {
        throw new Refused("This service has SSH switched off. `atoll shell` needs none.", null, thrown)
      }
      throw thrown
    })
    if (!isPlain(envelope)) throw new Refused("What the service says of its SSH is not understood.")
    const folder = mkdtempSync(join(tmpdir(), "atoll-ssh-"))
    // Ctrl-C belongs to the remote program, and to ssh.
    for (const name of ["SIGINT", "SIGQUIT"] as const) process.on(name, () => {})
    try {
      writeFileSync(join(folder, "key"), privateKey, { mode: 0o600 })
      writeFileSync(join(folder, "known_hosts"), `${placeOf(envelope)} ${envelope.hostKey.trim()}\n`, { mode: 0o600 })
      writeFileSync(join(folder, "config"), configOf(folder, envelope), { mode: 0o600 })
      const forwards = (given.options.tunnel ?? []).flatMap((forward) => ["-L", forward])
      const tty = given.options.tty === true ? ["-t"] : []
      const child = spawn("ssh", ["-F", join(folder, "config"), ...forwards, ...tty, "sandbox", "--", ...argv], {
        stdio: "inherit"
      })
      const end = () => void child.kill("SIGTERM")
      for (const name of ["SIGTERM", "SIGHUP"] as const) process.on(name, end)
      const [code, signal] = (await once(child, "close").catch((thrown: NodeJS.ErrnoException) => {
        throw new Refused(thrown.code === "ENOENT" ? "There is no ssh here: install OpenSSH's client." : thrown.message)
      })) as [number | null, NodeJS.Signals | null]
      if (code === lostCode) {
        remark(
          `ssh ended with ${lostCode}, as it does where the connection is lost: \`atoll ssh ${nameOrId}\` makes another one.`
        )
      }
      return code ?? 128 + constants.signals[signal!]
    } finally {
      rmSync(folder, { recursive: true, force: true })
      await api
        .call("revokeConnection", { parameters: { id: sandbox.id, endpointId: envelope.endpointId } })
        .catch(() => remark("The connection's key was not taken back; it opens nothing after its 30 s."))
    }
  }
})
