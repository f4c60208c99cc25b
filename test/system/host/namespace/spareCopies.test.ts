/** A Sandbox that was started ahead and becomes one with the volume of a snapshot, or of another size. */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { basename, dirname } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { NamespaceHost } from "../../../../src/host/namespace/NamespaceHost.ts"
import { dataFolder, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { lastingTracesOf } from "../../../support/host/namespace/traces.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { until, untilSeen } from "../../../support/until.ts"

const MiB = 1024 ** 2
const obstacle =
  unusable ?? (isRoot && process.arch === "x64" ? null : "another volume for a spare needs root and x86-64")

const { vcpus, memoryBytes, volumeBytes } = sandboxSpec("any")

const open = (dataDir: string) =>
  NamespaceHost.open({
    dataDir,
    processesMax: 256,
    parallelStarts: 4,
    diskReserveBytes: 0,
    spares: 1,
    usual: { vcpus, memoryBytes, volumeBytes },
    run: Effect.runPromise
  })

const said = (host: NamespaceHost, sandboxId: string, script: string, generation = 1) =>
  Effect.runPromise(output(host.guest(sandboxId, generation)!, script))

/** Resolves with the name and the PID 1 of a spare whose agent has answered. */
const readySpare = async (host: NamespaceHost) => {
  const ready = () =>
    host.layout.spareNames().flatMap((name) => {
      const init = host.layout.state(name).runtime()?.init ?? null
      return init === null ? [] : [{ name, pid: init.pid }]
    })
  const [spare] = await Effect.runPromise(until(Effect.sync(ready), (spares) => spares.length === 1))
  return spare!
}

/** Resolves when no loop device has a volume of the folder but those of its Sandboxes and spares. */
const untilNoOtherVolume = (host: NamespaceHost) =>
  untilSeen(
    () =>
      execFileSync("losetup", ["--list", "--noheadings", "--output", "BACK-FILE"], { encoding: "utf8" })
        .split("\n")
        .filter((line) => line.includes(host.layout.stateFolder) && line.includes("volume.img"))
        .filter((line) => line.includes("(deleted)") || !existsSync(line.trim())),
    (others) => others.length === 0
  )

/** The devices of all volumes that a process sees. */
const devicesOf = (pid: number) =>
  new Set(
    readFileSync(`/proc/${pid}/mountinfo`, "utf8")
      .split("\n")
      .filter((line) => line.includes(" - ext4 /dev/loop"))
      .map((line) => line.split(" ")[2])
  )

const onHost = async (body: (host: NamespaceHost, folder: string) => Promise<void>) => {
  const folder = dataFolder()
  const host = await open(folder)
  try {
    await host.prepare(sandboxSpec("any"))
    await body(host, folder)
  } finally {
    for (const { sandboxId } of host.inventory()) await host.destroy(sandboxId)
    for (const snapshotId of await host.snapshots.inventory()) await host.snapshots.remove(snapshotId)
    await host.close()
    expect(await lastingTracesOf(folder)).toEqual([])
    rmSync(folder, { recursive: true, force: true })
  }
}

describe.skipIf(skipped(obstacle))("a Sandbox that was started ahead, and gets another volume", () => {
  it("has the snapshot's files as its own, nothing of its first volume, and lives as any other", () =>
    onHost(async (host) => {
      await readySpare(host)
      await host.provision(sandboxSpec("source"))
      await said(host, "source", "echo copied > file; mkdir folder; echo secret > /tmp/secret")
      await host.snapshots.capture("snap", "source")
      const spare = await readySpare(host)
      await host.provision(sandboxSpec("child", { snapshotId: "snap", volumeBytes: volumeBytes + 64 * MiB }))
      const { init } = host.layout.state("child").runtime()!
      expect(init?.pid).toBe(spare.pid)
      expect(host.layout.nameOf("child")).toBe(spare.name)
      const script = "cat file; stat -c %u file folder . /tmp; ls -A /tmp; echo new > file; pwd; touch /tmp/mine"
      expect(await said(host, "child", script)).toBe("copied\n1000\n1000\n1000\n1000\n/workspace")
      expect(await said(host, "source", "cat file; cat /tmp/secret")).toBe("copied\nsecret")
      const users = ["source", "child"].map((id) => host.layout.state(id).spec()?.uid)
      expect(new Set(users).size).toBe(2)
      // Also the mounts that only its PID 1 could see.
      expect(devicesOf(init!.pid).size).toBe(1)
      await untilNoOtherVolume(host)

      // It grew with its mount; it is captured, restored and started again like any other.
      const sizeOf = async (generation = 1) =>
        Number(await said(host, "child", "df -B 1048576 --output=size /workspace | tail -1", generation))
      const size = await sizeOf()
      expect(size).toBeGreaterThan((volumeBytes + 64 * MiB) / MiB / 1.5)
      await host.resize("child", 1, { vcpus, memoryBytes, volumeBytes: volumeBytes + 256 * MiB })
      await host.snapshots.capture("later", "child")
      await said(host, "child", "echo lost > file")
      await host.stop("child", 1)
      await host.snapshots.restore("later", "child", 1)
      await host.provision(sandboxSpec("child", { generation: 2, volumeBytes: volumeBytes + 256 * MiB }))
      expect(await said(host, "child", "cat file; ls -A /tmp", 2)).toBe("new")
      expect(await sizeOf(2)).toBeGreaterThan(size)
      expect(host.layout.nameOf("child")).toBe(spare.name)
      await untilNoOtherVolume(host)
    }))

  it("has an empty one of its size, where another size than the usual one is wanted", () =>
    onHost(async (host) => {
      const spare = await readySpare(host)
      await host.provision(sandboxSpec("large", { volumeBytes: 4 * volumeBytes }))
      expect(host.layout.state("large").runtime()?.init?.pid).toBe(spare.pid)
      const size = Number(await said(host, "large", "df -B 1048576 --output=size /workspace | tail -1"))
      expect(size).toBeGreaterThan((2 * volumeBytes) / MiB)
      expect(await said(host, "large", "ls -A /workspace /tmp; touch mine; stat -c %u .")).toBe(
        "/tmp:\n\n/workspace:\n1000"
      )
      await untilNoOtherVolume(host)
    }))

  it("is still such a Sandbox for another process, which reads its console", () =>
    onHost(async (host, folder) => {
      await readySpare(host)
      await host.provision(sandboxSpec("source"))
      await host.snapshots.capture("snap", "source")
      await readySpare(host)
      await host.provision(sandboxSpec("child", { snapshotId: "snap" }))
      const other = await NamespaceHost.open({
        ...{ dataDir: folder, processesMax: 256, parallelStarts: 1, diskReserveBytes: 0 },
        run: Effect.runPromise
      })
      const consoles = other.readConsoles().filter(({ sandboxId }) => sandboxId === "child")
      expect(consoles.map(({ bytes }) => new TextDecoder().decode(bytes))).toEqual([
        expect.stringContaining("atoll agent ready: generation 1")
      ])
      expect(await said(other, "child", "pwd")).toBe("/workspace")
      expect(basename(dirname(host.layout.volume(host.layout.state("child")).image!))).toBe("child")
      await other.close()
    }))
})
