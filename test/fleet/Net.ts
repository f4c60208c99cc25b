/**
 * A network of a test's own on this machine: each member is a network namespace, all are on one bridge, which is in a namespace too. Links
 * between members are cut in silence, one way or both, and made slow.
 *
 * The namespaces' names tell whose they are, so what a killed run left is known and removed by the next one (`leftovers.ts`); everything
 * else (bridge, links, addresses) lives in them and goes with them.
 */
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { promisify } from "node:util"
import { identify } from "../../src/host/linux/ProcessIdentity.ts"

/** For benchmarks of networks, so used by none: 512 networks of 254. @source RFC 2544, C.2.2 */
const networks = Array.from({ length: 512 }, (_, at) => `198.${18 + (at >> 8)}.${at & 255}`)
/** A station that there is not: what is sent to it arrives nowhere, and nobody is told. */
const nowhere = "02:00:00:00:00:00"

export const netPrefix = "atoll-net-"

const run = promisify(execFile)

/** Several commands of `ip`, in a namespace if one is named. */
const ip = async (lines: ReadonlyArray<string>, namespace?: string): Promise<void> => {
  const words = [...(namespace === undefined ? [] : ["-n", namespace]), "-batch", "-"]
  const running = run("ip", words)
  running.child.stdin?.end(`${lines.join("\n")}\n`)
  await running
}

export interface Member {
  readonly name: string
  readonly address: string
  /** The words before a command that is to run there. Mounts stay those of everybody: `ip netns exec` would make others. */
  readonly enter: ReadonlyArray<string>
}

export class Net {
  /** Of this process: its pid, its start, and which of its networks. */
  readonly id: string
  /** Of the test itself, to all members. */
  readonly address: string
  readonly #network: string
  readonly #members = new Map<string, { readonly member: Member; readonly namespace: string; station: string }>()

  private constructor(id: string, network: string) {
    this.id = id
    this.#network = network
    this.address = `${network}.1`
  }

  /** Rejects where a network cannot be made: without root, without the right to, without iproute2. */
  static async make(): Promise<Net> {
    const { pid, startTime } = identify(process.pid)!
    const id = `${pid}-${startTime}-${randomBytes(4).toString("hex")}`
    const hub = `${netPrefix}${id}-hub`
    await ip([`netns add ${hub}`])
    try {
      await ip(["link add hub type bridge", "link set hub up"], hub)
      return new Net(id, await Net.#reach(hub))
    } catch (fault) {
      await ip([`netns del ${hub}`])
      throw fault
    }
  }

  /** Why there is no network to be had here, one sentence; null: there is. */
  static async refusal(): Promise<string | null> {
    try {
      await (await Net.make()).end()
      return null
    } catch (fault) {
      const { stderr, message } = fault as { readonly stderr?: string; readonly message: string }
      return `No network namespaces with links can be made here: ${(stderr || message).trim()}.`
    }
  }

  /** A link from here to the hub. Its name says which network it is, so no two tests take the same one. */
  static async #reach(hub: string): Promise<string> {
    const first = Math.floor(Math.random() * networks.length)
    for (let tried = 0; tried < networks.length; tried++) {
      const at = (first + tried) % networks.length
      try {
        await ip([`link add atoll-net${at} type veth peer name outside netns ${hub}`])
      } catch (fault) {
        if (/File exists/.test(String((fault as { readonly stderr?: string }).stderr))) continue
        throw fault
      }
      await ip(["link set outside master hub", "link set outside up"], hub)
      await ip([`addr add ${networks[at]}.1/24 dev atoll-net${at}`, `link set atoll-net${at} up`])
      return networks[at]!
    }
    throw new Error("All networks for tests are taken.")
  }

  async join(name: string): Promise<Member> {
    const namespace = `${netPrefix}${this.id}-${name}`
    const address = `${this.#network}.${this.#members.size + 2}`
    await ip([`netns add ${namespace}`])
    const member: Member = { name, address, enter: ["nsenter", `--net=/run/netns/${namespace}`, "--"] }
    const known = { member, namespace, station: "" }
    this.#members.set(name, known)
    const hub = `${netPrefix}${this.id}-hub`
    await ip([`link add port-${name} type veth peer name eth0 netns ${namespace}`], hub)
    await ip([`link set port-${name} master hub`, `link set port-${name} up`], hub)
    await ip(["link set lo up", `addr add ${address}/24 dev eth0`, "link set eth0 up"], namespace)
    const { stdout } = await run("ip", ["-n", namespace, "-j", "link", "show", "dev", "eth0"])
    known.station = JSON.parse(stdout)[0].address
    return member
  }

  #known(name: string) {
    const known = this.#members.get(name)
    if (known === undefined) throw new Error(`Nobody here is called ${name}.`)
    return known
  }

  /** Nothing that `from` sends reaches `to` any more; connections stay open and hear nothing. */
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

  /** All that was cut or slow. */
  async heal(): Promise<void> {
    for (const { namespace, member } of this.#members.values()) {
      await ip(
        [...this.#members.values()]
          .filter((other) => other.member !== member)
          .map(
            ({ member: { address }, station }) => `neigh replace ${address} lladdr ${station} nud permanent dev eth0`
          ),
        namespace
      )
      await run("tc", ["-n", namespace, "qdisc", "del", "dev", "eth0", "root"]).catch(() => null)
    }
  }

  /** What it sends waits for 150 ms, and some of it is lost; where the kernel has no `netem`, it leaves at 200 kbit/s. */
  async slow(name: string): Promise<void> {
    const add = ["-n", this.#known(name).namespace, "qdisc", "replace", "dev", "eth0", "root"]
    await run("tc", [...add, "netem", "delay", "150ms", "30ms", "loss", "2%"]).catch(() =>
      run("tc", [...add, "tbf", "rate", "200kbit", "burst", "3kb", "latency", "2s"])
    )
  }

  /** Processes that are left in it lose their links; they are the caller's to end. */
  async end(): Promise<void> {
    const names = [...this.#members.values()].map(({ namespace }) => namespace)
    await ip([...names, `${netPrefix}${this.id}-hub`].map((name) => `netns del ${name}`))
  }
}
