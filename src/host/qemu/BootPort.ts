/**
 * The line protocol with `guest/boot.c`, which PID 1 of a guest starts. It turns a clone of a template into one particular machine.
 *
 * @source guest/boot.c, guest/boot.sh
 */
import { randomBytes } from "node:crypto"
import type { Socket } from "node:net"
import { Patience } from "../linux/starvation.ts"
import { type Adjustment, adjustmentIn } from "./clockAdjustment.ts"

const ANSWER_MAX_CHARACTERS = 1000
const READY = "ready"
/** EBUSY of mount(2). @source guest/boot.c `identity` */
const ALREADY_MOUNTED = "the volume cannot be mounted: error 16"

export interface Identity {
  readonly hostname: string
  /** Null without a network. */
  readonly nameserver: string | null
  /** Its volume is mounted. A guest of an older Atoll tries to mount it all the same. */
  readonly isMounted?: boolean
}

/** Host names have letters, digits and dashes, at most 63; a Sandbox id has an underscore. */
export const hostnameOf = (sandboxId: string): string =>
  sandboxId
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")
    .slice(0, 63)

/** A struct timespec as `printf` escapes: seconds and nanoseconds of eight bytes each, little endian. */
export const timespecEscapes = (epochMs: number): string => {
  const bytes = Buffer.alloc(16)
  bytes.writeBigInt64LE(BigInt(Math.floor(epochMs / 1000)), 0)
  bytes.writeBigInt64LE(BigInt(Math.floor((epochMs % 1000) * 1e6)), 8)
  return [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")
}

export class BootPort {
  private readonly socket: Socket
  private readonly process: { readonly pid: number }

  /** @param process The QEMU process. A time-out excludes the time in which it waits for a processor. */
  constructor(socket: Socket, process: { readonly pid: number }) {
    this.socket = socket
    this.process = process
    socket.setEncoding("utf8")
    socket.on("error", () => {})
  }

  /** Clock, names, entropy, network, volume. Rejects with the guest's reason. */
  async identity(identity: Identity, timeoutMs: number): Promise<void> {
    const machineId = randomBytes(16).toString("hex")
    const seed = randomBytes(32).toString("hex")
    const { hostname, nameserver, isMounted = false } = identity
    const words = [timespecEscapes(Date.now()), hostname, machineId, seed, nameserver ?? "-"]
    await this.ask("identity", [...words, ...(isMounted ? ["mounted"] : [])].join(" "), timeoutMs)
  }

  /** Clock, names and entropy, for a machine that goes on with another one's memory: its network is up, and its volume mounted. */
  async ownIdentity(hostname: string, timeoutMs: number): Promise<void> {
    await this.identity({ hostname, nameserver: null, isMounted: true }, timeoutMs).catch((error: Error) => {
      // The volume comes last, and all before it was done.
      if (!error.message.endsWith(ALREADY_MOUNTED)) throw error
    })
  }

  /** Clock and host name, for a machine that had its identity before it was anybody's. */
  async name(hostname: string, timeoutMs: number): Promise<void> {
    await this.ask("name", `${timespecEscapes(Date.now())} ${hostname}`, timeoutMs)
  }

  /** After a sleep. */
  async clock(timeoutMs: number): Promise<void> {
    await this.ask("clock", timespecEscapes(Date.now()), timeoutMs)
  }

  /** How the guest's kernel adjusts its clock. */
  async adjustment(timeoutMs: number): Promise<Adjustment> {
    const said = await this.ask("adjustment", "", timeoutMs)
    const adjustment = adjustmentIn(said)
    if (adjustment === null) throw new Error(`The guest answered: ${said.slice(0, 200)}`)
    return adjustment
  }

  /** Has the guest's kernel adjust its clock so from now on, and sets the time. */
  async adjust({ tickUs, frequency }: Adjustment, timeoutMs: number): Promise<void> {
    await this.ask("adjust", `${timespecEscapes(Date.now())} ${tickUs} ${frequency}`, timeoutMs)
  }

  /** Everything that was written is on the volume. */
  async flush(timeoutMs: number): Promise<void> {
    await this.ask("flush", "", timeoutMs)
  }

  /** The same, and writes to the volume wait: until `thaw`, or this connection ends, or for 5 s of the guest's time. */
  async freeze(timeoutMs: number): Promise<void> {
    await this.ask("freeze", "", timeoutMs)
  }

  /** The agent and all commands stop: until `thaw`, or the guest gets a clock or an identity, or for 10 s of its time. */
  async still(timeoutMs: number): Promise<void> {
    await this.ask("still", "", timeoutMs)
  }

  /** After `freeze` and `still`. */
  async thaw(timeoutMs: number): Promise<void> {
    await this.ask("thaw", "", timeoutMs)
  }

  /** The volume's file system becomes as large as its disk, once the guest's kernel knows this size of it. */
  async grow(bytes: number, timeoutMs: number): Promise<void> {
    await this.ask("grow", String(bytes), timeoutMs)
  }

  /** The guest ends its commands, writes all data to the volume and powers off. There is no answer. */
  halt(): void {
    this.socket.write("\nhalt -\n")
  }

  close(): void {
    this.socket.destroy()
  }

  /** Resolves with what the guest says after `ready`. */
  private ask(verb: string, rest: string, timeoutMs: number): Promise<string> {
    return new Promise((resolve, reject) => {
      // A late answer to a service that was killed carries another token.
      const token = randomBytes(8).toString("hex")
      let text = ""
      const stop = () => {
        clearTimeout(timer)
        this.socket.off("data", onData).off("close", onClose)
      }
      const onData = (more: string) => {
        const lines = (text + more).split("\n")
        text = (lines.pop() ?? "").slice(-ANSWER_MAX_CHARACTERS)
        const answer = lines.find((line) => line.startsWith(`${token} `))
        if (answer === undefined) return
        stop()
        const said = answer.slice(token.length + 1).trim()
        if (said === READY || said.startsWith(`${READY} `)) resolve(said.slice(READY.length + 1))
        else reject(new Error(`The guest answered: ${said.slice(0, 200)}`))
      }
      const onClose = () => {
        stop()
        reject(new Error("The guest ended while it was starting"))
      }
      const patience = new Patience(this.process, timeoutMs)
      const look = () => {
        const leftMs = patience.leftMs()
        if (leftMs > 0) {
          timer = setTimeout(look, leftMs)
          return
        }
        stop()
        reject(new Error(`The guest did not answer within ${timeoutMs} ms of processor time that it could have`))
      }
      let timer = setTimeout(look, patience.leftMs())
      this.socket.on("data", onData).on("close", onClose)
      // The first line break terminates a line that a killed service may have left incomplete.
      this.socket.write(`\n${verb} ${token} ${rest}\n`)
      if (this.socket.destroyed) onClose()
    })
  }
}
