import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { type Held, obstacle } from "../../../../src/host/qemu/Admission.ts"
import { BootPort, hostnameOf, timespecEscapes } from "../../../../src/host/qemu/BootPort.ts"
import { Consoles } from "../../../../src/host/qemu/Consoles.ts"
import type { GuestImage } from "../../../../src/host/qemu/GuestImage.ts"
import { cpioArchive, directory, executable, plainFile } from "../../../../src/host/qemu/image/cpio.ts"
import { vmlinuxToElf } from "../../../../src/host/qemu/image/vmlinux.ts"
import { type MachineShape, machineArguments } from "../../../../src/host/qemu/machineArguments.ts"
import { machineKey } from "../../../../src/host/qemu/memoryCapture.ts"
import { Qmp } from "../../../../src/host/qemu/Qmp.ts"
import { noteImageUse, removeUnused } from "../../../../src/host/qemu/removeUnused.ts"
import { SandboxFolder } from "../../../../src/host/qemu/SandboxFolder.ts"
import { templateKey } from "../../../../src/host/qemu/Template.ts"
import { conversation } from "../../../support/conversation.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"

const shape: MachineShape = {
  accelerator: "tcg",
  vcpus: 1,
  memoryBytes: 256 * 1024 ** 2,
  volumeBytes: 1024 ** 3,
  network: false
}

describe("guest image", () => {
  it("an archive has its entries, with their modes and contents, in order", () => {
    const archive = cpioArchive([
      directory("bin"),
      executable("bin/run", Buffer.from("odd")),
      plainFile("empty", Buffer.alloc(0))
    ])
    const headers = [...archive.toString("latin1").matchAll(/070701([0-9a-f]{104})/g)].map(([, fields]) => fields!)
    expect(headers.length).toBe(4)
    expect(headers.map((fields) => Number.parseInt(fields.slice(8, 16), 16))).toEqual([0o040755, 0o100755, 0o100644, 0])
    expect(headers.map((fields) => Number.parseInt(fields.slice(48, 56), 16))).toEqual([0, 3, 0, 0])
    expect(archive.length % 4).toBe(0)
    expect(archive.indexOf("bin/run\0")).toBeLessThan(archive.indexOf("odd"))
  })

  it("a file that is no kernel is refused with its fault", () => {
    expect(() => vmlinuxToElf(Buffer.alloc(4096))).toThrow("not a bzImage")
    const image = Buffer.alloc(4096)
    image.write("HdrS", 0x202)
    expect(() => vmlinuxToElf(image)).toThrow("zstd")
  })

  it("a time is sixteen bytes, seconds and nanoseconds", () => {
    const escapes = timespecEscapes(1_795_000_000_250)
    expect(escapes.match(/\\[0-7]{3}/g)?.length).toBe(16)
    const bytes = Buffer.from(
      escapes
        .split("\\")
        .slice(1)
        .map((octal) => Number.parseInt(octal, 8))
    )
    expect(bytes.readBigInt64LE(0)).toBe(1_795_000_000n)
    expect(bytes.readBigInt64LE(8)).toBe(250_000_000n)
  })

  it("a host name has only the characters of host names", () => {
    expect(hostnameOf("sbx_01ABC")).toBe("sbx-01abc")
    expect(hostnameOf("x".repeat(100)).length).toBe(63)
  })
})

describe("templates", () => {
  const image: GuestImage = { id: "one", kernel: "k", initramfs: "i", rootDisk: "r", rootBytes: 1, ticks: "t" }
  const host = {
    vmFolder: "/v",
    qemu: { binary: "q", version: "10.0", clones: true },
    image,
    ticks: { khz: async () => null },
    uid: null,
    answerTimeoutMs: 1000
  }

  it("another image, QEMU, accelerator, size or device is another template", () => {
    const keys = [
      templateKey(host, shape),
      templateKey({ ...host, image: { ...image, id: "two" } }, shape),
      templateKey({ ...host, qemu: { ...host.qemu, version: "10.1" } }, shape),
      templateKey(host, { ...shape, accelerator: "kvm" }),
      templateKey(host, { ...shape, memoryBytes: 2 * shape.memoryBytes }),
      templateKey(host, { ...shape, volumeBytes: 2 * shape.volumeBytes }),
      templateKey(host, { ...shape, network: true }),
      templateKey(host, { ...shape, vcpus: 2 })
    ]
    expect(new Set(keys).size).toBe(keys.length)
    expect(templateKey({ ...host, vmFolder: "/elsewhere" }, { ...shape })).toBe(keys[0])
  })

  it("a machine without a network has no network device, and every machine a filter for its system calls", () => {
    const line = (network: boolean) =>
      machineArguments({ ...shape, network }, { uuid: "u", start: { type: "wake", mapped: null } }).join(" ")
    expect(line(false)).not.toMatch(/netdev|virtio-net/)
    expect(line(true)).toContain("virtio-net-pci")
    expect(line(false)).toContain("elevateprivileges=deny,spawn=deny,resourcecontrol=deny")
  })
})

describe("a machine's image", () => {
  const other = (imageDigest: string) => machineKey("10.0", { ...shape, imageDigest })

  it("is one of the devices that a saved memory belongs to", () => {
    const keys = [machineKey("10.0", shape), other("sha256:a"), other("sha256:b")]
    expect(new Set(keys).size).toBe(keys.length)
  })

  it("is a disk that the machine cannot write, and that QEMU gets open", () => {
    const start = { type: "boot", kernel: "k", initramfs: "i", memoryFile: null, tscKhz: null } as const
    const line = machineArguments({ ...shape, imageDigest: "sha256:a" }, { uuid: "u", start }).join(" ")
    expect(line).toMatch(/node-name=image,read-only=on,\S*filename=\/dev\/fdset\//)
    expect(line).toContain("atoll.image")
    expect(machineArguments(shape, { uuid: "u", start }).join(" ")).not.toMatch(/atoll\.image|fdset/)
  })
})

describe("the cache", () => {
  it("drops unused templates soon and images late, and keeps the newest of each", () =>
    inFolder(async (cache) => {
      const DAY_S = 24 * 3600
      const make = (kind: "images" | "templates", name: string, usedDaysAgo: number) => {
        const folder = join(cache, kind, name)
        mkdirSync(folder, { recursive: true })
        const stamp = join(folder, kind === "images" ? "manifest.json" : "template.json")
        writeFileSync(stamp, "{}")
        const usedAt = Date.now() / 1000 - usedDaysAgo * DAY_S
        utimesSync(stamp, usedAt, usedAt)
      }
      for (const days of [100, 90, 40, 20]) make("images", `used-${days}`, days)
      for (let days = 1; days <= 10; days++) make("templates", `used-${days}`, days)
      await removeUnused(cache)
      expect(readdirSync(join(cache, "images")).toSorted()).toEqual(["used-20", "used-40"])
      expect(readdirSync(join(cache, "templates")).length).toBe(8)
      // Used again, it stays longer than a newer unused one.
      make("images", "used-10", 10)
      await noteImageUse(join(cache, "images", "used-40"))
      make("images", "used-60", 60)
      await removeUnused(cache)
      expect(readdirSync(join(cache, "images")).toSorted()).toEqual(["used-10", "used-20", "used-40"])
    }))
})

describe("host admission", () => {
  const limits = { memoryBytes: 2 * 1024 ** 3, diskReserveBytes: 0 }
  const need = { memoryBytes: 512 * 1024 ** 2, accelerator: "tcg" as const, files: [] }
  const held = (count: number, changes: Partial<Held> = {}): ReadonlyArray<Held> =>
    Array.from({ length: count }, () => ({ ...need, running: true, ...changes }))

  it("memory is counted with QEMU's own need, and only for running machines", async () => {
    expect(await obstacle(need, held(2), limits, "/")).toBeNull()
    expect(await obstacle(need, held(3), limits, "/")).toContain("stop a Sandbox, or raise ATOLL_VM_MEMORY_BYTES")
    expect(await obstacle(need, held(30, { running: false }), limits, "/")).toBeNull()
  })

  it("the disk is counted with the files of machines that do not run", async () => {
    const files = [{ bytes: 2 ** 50, allocatedBytes: 0 }]
    expect(await obstacle({ ...need, files }, [], limits, "/")).toContain("disk")
    expect(await obstacle(need, held(1, { files, running: false }), limits, "/")).toContain("disk")
  })
})

describe("boot port", () => {
  it("only the answer to this question counts, and the guest's reason is passed on", () =>
    conversation(
      "",
      (line, socket) => {
        const [verb, token] = line.split(" ")
        socket.write(`0123456789abcdef ready\n${token} ${verb === "flush" ? "ready" : "failed no volume"}\n`)
      },
      async (socket) => {
        const port = new BootPort(socket, process)
        await port.flush(2_000)
        await expect(port.clock(2_000)).rejects.toThrow("failed no volume")
        port.close()
      }
    ))

  it("a guest that reports an impossible adjustment of its clock is distinguished from an honest one", () => {
    const said = ["10526 -123456", "10526", "90000 0", "10000 99999999", "1e4 0", "10000 0; reboot", "", "-10000 0"]
    const asked: Array<string> = []
    return conversation(
      "",
      (line, socket) => {
        const [verb, token, ...rest] = line.split(" ")
        if (verb === "adjust") asked.push(rest.slice(1).join(" "))
        socket.write(`${token} ready ${verb === "adjustment" ? said.shift() : ""}\n`)
      },
      async (socket) => {
        const port = new BootPort(socket, process)
        expect(await port.adjustment(2_000)).toEqual({ tickUs: 10_526, frequency: -123_456 })
        while (said.length > 0) await expect(port.adjustment(2_000)).rejects.toThrow("The guest answered")
        await port.adjust({ tickUs: 9_500, frequency: -7 }, 2_000)
        expect(asked).toEqual(["9500 -7"])
        port.close()
      }
    )
  })

  it("a guest that goes away or is silent is given up", () =>
    conversation(
      "",
      (line, socket) => {
        if (line.startsWith("clock")) socket.end()
      },
      async (socket) => {
        const port = new BootPort(socket, process)
        await expect(port.flush(20)).rejects.toThrow("within 20 ms")
        await expect(port.clock(2_000)).rejects.toThrow("ended")
      }
    ))
})

describe("QEMU's control socket", () => {
  const greeting = '{"QMP": {"version": {}, "capabilities": []}}\r\n'

  it("answers belong to commands in order, refusals say why, and events are no answers", () =>
    conversation(
      greeting,
      (line, socket) => {
        const { execute } = JSON.parse(line) as { execute: string }
        if (execute === "stop") socket.write('{"event": "STOP", "data": {}}\r\n')
        socket.write(
          execute === "bad" ? '{"error": {"class": "X", "desc": "no such"}}\r\n' : `{"return": "${execute}"}\r\n`
        )
      },
      async (socket) => {
        const qmp = await Qmp.open(socket, 2_000)
        const stopped = qmp.next(({ event }) => event === "STOP", 2_000)
        const [a, b] = await Promise.all([qmp.execute("stop"), qmp.execute("cont")])
        expect([a, b]).toEqual(["stop", "cont"])
        await stopped
        await expect(qmp.execute("bad")).rejects.toThrow("no such")
        qmp.close()
        await qmp.closed
      }
    ))

  it("the reason of a shutdown outlives the connection; pending commands are given up", () =>
    conversation(
      greeting,
      (line, socket) => {
        if (!line.includes("quit")) {
          socket.write('{"return": {}}\r\n')
          return
        }
        socket.write('{"event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-shutdown"}}\r\n')
        socket.end()
      },
      async (socket) => {
        const qmp = await Qmp.open(socket, 2_000)
        await expect(qmp.execute("quit")).rejects.toThrow("closed")
        await qmp.closed
        expect(qmp.shutdownReason).toBe("guest-shutdown")
      }
    ))

  it("a QEMU that does not answer is distinguished from one that has ended", () =>
    conversation(
      greeting,
      (line, socket) => {
        if (line.includes("qmp_capabilities")) socket.write('{"return": {}}\r\n')
      },
      async (socket) => {
        const qmp = await Qmp.open(socket, 200)
        await expect(qmp.execute("query-status")).rejects.toThrow("did not answer query-status in 200 ms")
        await qmp.closed
        expect(qmp.isHung).toBe(true)
      }
    ))

  it("an answer that came while this process was itself frozen is taken", () =>
    conversation(
      greeting,
      (_line, socket) => socket.write('{"return": {}}\r\n'),
      async (socket) => {
        const qmp = await Qmp.open(socket, 1000)
        const answered = qmp.execute("query-status")
        // The whole time passes in one pass of the event loop, before the answer can be read.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100)
        expect(await answered).toEqual({})
        qmp.close()
      }
    ))

  it("text that is no JSON ends the connection", () =>
    conversation(
      "no json\r\n",
      () => {},
      async (socket) => {
        await expect(Qmp.open(socket, 2_000)).rejects.toThrow("closed")
      }
    ))
})

describe("host", () => {
  it("a console is read on from its offset, by the next service too, and each generation's from its beginning", () =>
    inFolder(async (root) => {
      const folder = new SandboxFolder(root, "s")
      mkdirSync(folder.path)
      const ring: Array<string> = []
      const qmp = { execute: async () => Buffer.from(ring.splice(0).join("")).toString("base64") }
      const source = { sandboxId: "s", generation: 1, qmp, folder }
      const consoles = new Consoles()
      ring.push("one")
      expect(await consoles.read([source])).toMatchObject([{ offset: 0, generation: 1, bytes: Buffer.from("one") }])
      expect(await consoles.read([source])).toEqual([])
      ring.push("two")
      expect(await consoles.read([source])).toMatchObject([{ offset: 3, bytes: Buffer.from("two") }])
      ring.push("three")
      expect(await new Consoles().read([source])).toMatchObject([{ offset: 6, bytes: Buffer.from("three") }])
      ring.push("next")
      expect(await consoles.read([{ ...source, generation: 2 }])).toMatchObject([{ offset: 0, generation: 2 }])
    }))

  it("a machine that does not answer delays no other console, and its own is not lost", () =>
    inFolder(async (root) => {
      const source = (sandboxId: string, answer: Promise<string>) => {
        const folder = new SandboxFolder(root, sandboxId)
        mkdirSync(folder.path, { recursive: true })
        return { sandboxId, generation: 1, qmp: { execute: () => answer }, folder }
      }
      let end = (_: string) => {}
      const hung = source("hung", new Promise((resolve) => (end = resolve)))
      const well = source("well", Promise.resolve(Buffer.from("said").toString("base64")))
      const consoles = new Consoles()
      expect(await consoles.read([hung, well])).toMatchObject([{ sandboxId: "well" }])
      end(Buffer.from("late").toString("base64"))
      let read = await consoles.read([hung])
      while (read.length === 0) read = await consoles.read([hung])
      expect(read).toMatchObject([{ sandboxId: "hung", bytes: Buffer.from("late") }])
    }))
})
