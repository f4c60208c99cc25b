/**
 * A private network of a test on this machine: each member is a network namespace, all are on one bridge, which is in a
 * namespace too. Links between members can be cut silently, one way or both, and slowed down.
 * Each namespace is held by a process that ends with the test, and everything else (bridge, links, addresses) lives in
 * them and goes with them: a killed run leaves only the processes that it ran there. They have no names, which others
 * on this machine might unmount.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { join } from "node:path"
import { promisify } from "node:util"
import { identify } from "../../../src/host/linux/ProcessIdentity.ts"

/** Reserved for benchmarks, so unused: 512 networks of 254. @source RFC 2544, C.2.2 */
const networks = Array.from({ length: 512 }, (_, at) => `198.${18 + (at >> 8)}.${at & 255}`)
/** An absent station: packets to it are lost silently. */
const nowhere = "02:00:00:00:00:00"

/** For packets of a slow sender. */
const slowMs = 150
const jitterMs = 30
const lossPercent = 2
const slowLink = join(import.meta.dirname, "fixtures/slowLink.py")

const run = promisify(execFile)

/** A network namespace that exists as long as this process does, or until `end`. */
class Namespace {
  /** The path that enters it. */
  readonly path: string
  readonly pid: number
  readonly #holder: ChildProcess

  private constructor(holder: ChildProcess) {
    this.#holder = holder
    this.pid = holder.pid!
    this.path = `/proc/${holder.pid}/ns/net`
  }

  static async make(): Promise<Namespace> {
    const holder = spawn("unshare", ["--net", "sh", "-c", "echo; exec cat"], { stdio: ["pipe", "pipe", "pipe"] })
    let said = ""
    holder.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text
    })
    const ended = once(holder, "close").then(() => Promise.reject(new Error(said.trim())))
    ended.catch(() => {})
    await Promise.race([once(holder.stdout, "data"), ended])
    return new Namespace(holder)
  }

  async end(): Promise<void> {
    const ended = once(this.#holder, "exit")
    this.#holder.kill("SIGKILL")
    await ended
  }
}

/** A program that replaces a port at the hub while it runs. */
class SlowLink {
  readonly #program: ChildProcess

  private constructor(program: ChildProcess) {
    this.#program = program
  }

  static async of(hub: Namespace, port: string): Promise<SlowLink> {
    const how = [slowMs, jitterMs, lossPercent].map(String)
    const [command, ...words] = [...into(hub), "python3", slowLink, port, "hub", ...how]
    const program = spawn(command!, words, { stdio: ["pipe", "pipe", "pipe"] })
    let said = ""
    program.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text
    })
    const ended = once(program, "close").then(() => Promise.reject(new Error(`The link is not slow: ${said.trim()}`)))
    ended.catch(() => {})
    await Promise.race([once(program.stdout, "data"), ended])
    return new SlowLink(program)
  }

  async end(): Promise<void> {
    if (this.#program.exitCode !== null || this.#program.signalCode !== null) return
    const ended = once(this.#program, "exit")
    this.#program.stdin!.end()
    await ended
  }
}

/** The words before a command that is to run in a namespace. */
const into = ({ path }: Namespace): ReadonlyArray<string> => ["nsenter", `--net=${path}`, "--"]

/** Several commands of `ip`, in a namespace if one is given. */
const ip = async (lines: ReadonlyArray<string>, namespace?: Namespace): Promise<void> => {
  const [program, ...words] = [...(namespace === undefined ? [] : into(namespace)), "ip", "-batch", "-"]
  const running = run(program!, words)
  // Its own output says why it ended early.
  running.child.stdin?.on("error", () => {}).end(`${lines.join("\n")}\n`)
  await running
}

const inside = (namespace: Namespace, ...command: ReadonlyArray<string>) => {
  const [program, ...words] = [...into(namespace), ...command]
  return run(program!, words)
}

export interface Member {
  readonly name: string
  readonly address: string
  /** It has this address once `lodge` has given the test an IPv6 address. */
  readonly address6: string
  /**
   * The words before a command that is to run there. It keeps the machine's mounts: `ip netns exec` would make others.
   */
  readonly enter: ReadonlyArray<string>
}

export class Net {
  /** Of this process: its pid, its start, and the number of the network. */
  readonly id: string
  /** The test's own end of it. */
  readonly link: string
  /** The test's own address, for all members. */
  readonly address: string
  readonly #hub: Namespace
  readonly #network: string
  /** IPv6 addresses for documentation, so unused. @source RFC 3849 */
  readonly #network6: string
  readonly #members = new Map<string, { readonly member: Member; readonly namespace: Namespace; station: string }>()
  /** For links that the kernel cannot slow down. */
  readonly #slow = new Map<string, SlowLink>()
  /** The number of members so far, including those that are just joining. */
  #addresses = 1

  private constructor(id: string, hub: Namespace, at: number) {
    this.id = id
    this.#hub = hub
    this.#network = networks[at]!
    this.#network6 = `2001:db8:a:${at.toString(16)}:`
    this.link = `atoll-net${at}`
    this.address = `${this.#network}.1`
  }

  /** Rejects where a network cannot be made: without root, without the privilege, without iproute2. */
  static async make(): Promise<Net> {
    const { pid, startTime } = identify(process.pid)!
    const id = `${pid}-${startTime}-${randomBytes(4).toString("hex")}`
    const hub = await Namespace.make()
    try {
      await ip(["link add hub type bridge", "link set hub up"], hub)
      return new Net(id, hub, await Net.#reach(hub))
    } catch (fault) {
      await hub.end()
      throw fault
    }
  }

  /** Why there can be no network here, one sentence; null: there can. */
  static async refusal(): Promise<string | null> {
    try {
      await (await Net.make()).end()
      return null
    } catch (fault) {
      const { stderr, message } = fault as { readonly stderr?: string; readonly message: string }
      return `No network namespaces with links can be made here: ${(stderr || message).trim()}.`
    }
  }

  /** A link from here to the hub. Its name is the network's number, so no two tests take the same one. */
  static async #reach(hub: Namespace): Promise<number> {
    const first = Math.floor(Math.random() * networks.length)
    for (let tried = 0; tried < networks.length; tried++) {
      const at = (first + tried) % networks.length
      try {
        await ip([`link add atoll-net${at} type veth peer name outside netns ${hub.pid}`])
      } catch (fault) {
        if (/File exists/.test(String((fault as { readonly stderr?: string }).stderr))) continue
        throw fault
      }
      await ip(["link set outside master hub", "link set outside up"], hub)
      await ip([`addr add ${networks[at]}.1/24 dev atoll-net${at}`, `link set atoll-net${at} up`])
      return at
    }
    throw new Error("All networks for tests are taken.")
  }

  async join(name: string): Promise<Member> {
    const at = ++this.#addresses
    const address = `${this.#network}.${at}`
    const namespace = await Namespace.make()
    const member: Member = { name, address, address6: `${this.#network6}:${at.toString(16)}`, enter: into(namespace) }
    const known = { member, namespace, station: "" }
    this.#members.set(name, known)
    await ip([`link add port-${name} type veth peer name eth0 netns ${namespace.pid}`], this.#hub)
    await ip([`link set port-${name} master hub`, `link set port-${name} up`], this.#hub)
    await ip(["link set lo up", `addr add ${address}/24 dev eth0`, "link set eth0 up"], namespace)
    const { stdout } = await inside(namespace, "ip", "-j", "link", "show", "dev", "eth0")
    known.station = JSON.parse(stdout)[0].address
    return member
  }

  /**
   * Gives the test these addresses as well, for members that have joined. They are known before the network exists, so
   * settings may name them, and several networks may have the same ones.
   */
  async lodge(addresses: ReadonlyArray<string>): Promise<void> {
    const dev = `dev ${this.link}`
    const isIpv6 = (address: string) => address.includes(":")
    const own = addresses.map((address) => (isIpv6(address) ? `${address}/128 ${dev} nodad` : `${address}/32 ${dev}`))
    const sixth = addresses.find(isIpv6)
    await ip([
      ...own.map((words) => `addr add ${words}`),
      ...(sixth === undefined ? [] : [`route add ${this.#network6}:/64 ${dev} src ${sixth}`])
    ])
    for (const { namespace, member } of this.#members.values()) {
      await ip(
        [
          ...(sixth === undefined ? [] : [`addr add ${member.address6}/64 dev eth0 nodad`]),
          ...addresses.map((address) => `route add ${address} dev eth0`)
        ],
        namespace
      )
    }
  }

  #known(name: string) {
    const known = this.#members.get(name)
    if (known === undefined) throw new Error(`There is no member ${name}.`)
    return known
  }

  /** No packet of `from` reaches `to` any more; connections stay open and silent. */
  async cutOneWay(from: string, to: string): Promise<void> {
    const { address } = this.#known(to).member
    await ip([`neigh replace ${address} lladdr ${nowhere} nud permanent dev eth0`], this.#known(from).namespace)
  }

  async cut(one: string, other: string): Promise<void> {
    await this.cutOneWay(one, other)
    await this.cutOneWay(other, one)
  }

  /** From all other members; the test still reaches it. */
  async isolate(name: string): Promise<void> {
    for (const other of this.#members.keys()) if (other !== name) await this.cut(name, other)
  }

  /** All links that were cut or slow. */
  async heal(): Promise<void> {
    await this.#hasten()
    for (const { namespace, member } of this.#members.values()) {
      await ip(
        [...this.#members.values()]
          .filter((other) => other.member !== member)
          .map(
            ({ member: { address }, station }) => `neigh replace ${address} lladdr ${station} nud permanent dev eth0`
          ),
        namespace
      )
      await inside(namespace, "tc", "qdisc", "del", "dev", "eth0", "root").catch(() => null)
    }
  }

  /**
   * Delays what it sends by 120 to 180 ms, and drops some of it; where the kernel has no `netem`, by a program that
   * does the same.
   */
  async slow(name: string): Promise<void> {
    const { namespace } = this.#known(name)
    const netem = ["netem", "delay", `${slowMs}ms`, `${jitterMs}ms`, "loss", `${lossPercent}%`]
    await inside(namespace, "tc", "qdisc", "replace", "dev", "eth0", "root", ...netem).catch(async () => {
      if (this.#slow.has(name)) return
      this.#slow.set(name, await SlowLink.of(this.#hub, `port-${name}`))
    })
  }

  async #hasten(): Promise<void> {
    const slow = [...this.#slow.values()]
    this.#slow.clear()
    await Promise.all(slow.map((link) => link.end()))
  }

  /** Processes that are left in it keep their namespaces; the caller ends them. */
  async end(): Promise<void> {
    await this.#hasten()
    await Promise.all(
      [this.#hub, ...[...this.#members.values()].map(({ namespace }) => namespace)].map((it) => it.end())
    )
  }
}
