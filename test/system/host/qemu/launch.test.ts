/** The arguments and descriptors of QEMU, shown by another program in its place. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { describe, expect, it, vi } from "vitest"
import { connectUnix } from "../../../../src/host/linux/unixSocket.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"

const module = fileURLToPath(new URL("../../../../src/host/qemu/launchQemu.ts", import.meta.url))

interface Wanted {
  readonly uid: number | null
  readonly outlives: boolean
  /** Files of cgroups. */
  readonly joins?: ReadonlyArray<string>
}

const script = (folder: string, { uid, outlives, joins = [] }: Wanted) => `
  import { launch } from ${JSON.stringify(module)}
  const { process: { pid }, ended } = await launch({
    binary: "sleep", arguments: ["60"], folder: ${JSON.stringify(folder)}, uid: ${uid}, accelerator: "tcg",
    fileMaxBytes: 4096, fileMostBytes: 8192, cgroups: { joins: ${JSON.stringify(joins)}, startsIn: null }, life: false, outlives: ${outlives}
  })
  console.log(pid)
`

/**
 * Runs `body` with the pid of a process that a service launched, which itself was started with a descriptor of a secret
 * file.
 */
const launched = (body: (pid: number, folder: string) => Promise<void> | void, joined: ReadonlyArray<string> = []) =>
  inFolder(async (folder) => {
    mkdirSync(join(folder, "run"), { mode: 0o700 })
    const secret = join(folder, "secret")
    writeFileSync(secret, "secret")
    const service = spawn(
      process.execPath,
      [
        "--input-type=module",
        "-e",
        script(folder, { uid: null, outlives: true, joins: joined.map((name) => join(folder, name)) })
      ],
      {
        // Higher than where Node itself looks for inherited descriptors.
        stdio: ["ignore", "pipe", "inherit", ...Array<"ignore">(30).fill("ignore"), openSync(secret, "r")]
      }
    )
    const [said] = (await once(service.stdout!, "data")) as [Buffer]
    const pid = Number(said.toString())
    try {
      // It becomes that program by steps.
      await vi.waitUntil(() => readFileSync(`/proc/${pid}/comm`, "utf8") === "sleep\n", {
        timeout: 100_000,
        interval: 2
      })
      await body(pid, folder)
    } finally {
      process.kill(pid, "SIGKILL")
    }
  })

describe("QEMU's process", () => {
  it("has no descriptor of the service's, and listens where only its own user can connect", () =>
    launched(async (pid, folder) => {
      const held = () =>
        readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
          try {
            return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
          } catch {
            return []
          }
        })
      const strange = () => held().filter((it) => !/^(\/dev\/null|socket:.*|pipe:.*)$/.test(it))
      // A program closes the files of its libraries again.
      await vi.waitUntil(() => strange().length === 0, { timeout: 10_000, interval: 20 }).catch(() => {})
      expect(strange()).toEqual([])
      for (const name of ["qmp", "agent", "boot"]) {
        const socket = await connectUnix(join(folder, `run/${name}.sock`))
        socket.destroy()
      }
      expect(statSync(join(folder, "run")).uid).toBe(process.getuid?.())
    }))

  it("has bounded files, descriptors and no core dumps", () =>
    launched((pid) => {
      const limits = readFileSync(`/proc/${pid}/limits`, "utf8")
      expect(limits).toMatch(/Max file size\s+4096\s+8192/)
      expect(limits).toMatch(/Max open files\s+4096\s+8192/)
      expect(limits).toMatch(/Max core file size\s+0\s+0/)
    }))

  it("has entered its cgroups before it is QEMU", () =>
    launched(
      (_pid, folder) =>
        expect(["one", "it's two"].map((name) => readFileSync(join(folder, name), "utf8"))).toEqual(["0\n", "0\n"]),
      ["one", "it's two"]
    ))

  it("does not start outside of its cgroups", () =>
    inFolder(async (folder) => {
      mkdirSync(join(folder, "run"), { mode: 0o700 })
      const wanted = { uid: null, outlives: true, joins: [join(folder, "none/tasks")] }
      // It may have been seen before it ended.
      const body = `setTimeout(() => {}, 20_000); ${script(folder, wanted)}; console.error(await ended); process.exit()`
      const service = spawn(process.execPath, ["--input-type=module", "-e", body], {
        stdio: ["ignore", "ignore", "pipe"]
      })
      expect(await text(service.stderr!)).toMatch(/QEMU ended immediately with 97|^[^\n]*none\/tasks|it ended with 97/)
    }))

  // As root it is another user's.
  for (const uid of process.getuid?.() === 0 ? [null, 65_000] : [null])
    it(`ends with a service that is killed, where it belongs to no Sandbox${uid === null ? "" : ", as a separate user"}`, () =>
      inFolder(async (folder) => {
        const launchedBy = async (outlives: boolean) => {
          mkdirSync(join(folder, "run"), { recursive: true, mode: 0o700 })
          const body = `${script(folder, { uid, outlives })}; setInterval(() => {}, 1000)`
          const service = spawn(process.execPath, ["--input-type=module", "-e", body], {
            stdio: ["ignore", "pipe", "inherit"]
          })
          const [said] = (await once(service.stdout!, "data")) as [Buffer]
          const pid = Number(said.toString())
          await vi.waitUntil(() => readFileSync(`/proc/${pid}/comm`, "utf8") === "sleep\n", { timeout: 20_000 })
          service.kill("SIGKILL")
          await once(service, "exit")
          return pid
        }
        const kept = await launchedBy(true)
        const bound = await launchedBy(false)
        await vi.waitUntil(() => !existsSync(`/proc/${bound}`), { timeout: 10_000, interval: 5 })
        expect(existsSync(`/proc/${kept}`)).toBe(true)
        process.kill(kept, "SIGKILL")
      }))
})
