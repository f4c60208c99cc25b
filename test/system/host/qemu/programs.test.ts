/** The guest's own small programs, as the image has them, on this machine. */
import { execFileSync, spawn } from "node:child_process"
import { randomBytes, randomUUID } from "node:crypto"
import { once } from "node:events"
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { OutputBuffer } from "../../../../src/agent/processes/OutputBuffer.ts"
import { withOpenInput } from "../../../../src/agent/processes/openInput.ts"
import { OutputPipes, runToEnd } from "../../../../src/agent/processes/outputPipes.ts"
import type { Launch, Launched, LaunchRequest } from "../../../../src/agent/processes/ProcessLaunch.ts"
import type { ProcessTree } from "../../../../src/agent/processes/ProcessTree.ts"
import { openSpawnerProgram } from "../../../../src/agent/processes/SpawnerProgram.ts"
import { findBaseImage } from "../../../../src/host/qemu/image/BaseImage.ts"
import { imageCache, unusable } from "../../../support/host/qemu/TestMachines.ts"

const image = unusable === null ? await findBaseImage(imageCache, process.version) : null
const program = (name: string) => `${image!.folder}/programs/${name}`
const folder = mkdtempSync(join(tmpdir(), "atoll-programs-"))
afterAll(() => rm(folder, { recursive: true, force: true }))
const file = (content: string | Buffer, mode = 0o644) => {
  const path = join(folder, randomUUID())
  writeFileSync(path, content, { mode })
  return path
}

const native = fileURLToPath(new URL("../../../../src/host/linux/native/", import.meta.url))

describe.skipIf(image === null)("the programs beside their sources", () => {
  const shipped = readdirSync(native).filter((name) => name.endsWith(".x64"))

  it.each(shipped)("%s is, byte for byte, what the image's compiler makes of its source", (name) => {
    const made = ["programs", "hostPrograms"].flatMap((kind) => {
      const path = join(image!.folder, kind, name.replace(/\.x64$/, ""))
      return existsSync(path) ? [readFileSync(path)] : []
    })
    expect(made.map((it) => it.equals(readFileSync(join(native, name))))).toEqual([true])
  })
})

describe.skipIf(image === null)("settime", () => {
  it("refuses short input, without reaching the system call", () => {
    expect(() => execFileSync(program("settime"), { input: "short", stdio: ["pipe", "ignore", "ignore"] })).toThrow(
      "failed"
    )
  })
})

describe.skipIf(image === null)("relay", () => {
  it("copies its input, reads on after an end of file, and ends with its reader", async () => {
    const bytes = randomBytes(100_000)
    const input = file(bytes)
    const relay = spawn("sh", ["-c", 'exec "$0" < "$1"', program("relay"), input], {
      stdio: ["ignore", "pipe", "ignore"]
    })
    const ended = once(relay, "exit")
    let seen = Buffer.alloc(0)
    const more = Buffer.from("more")
    for await (const chunk of relay.stdout) {
      seen = Buffer.concat([seen, chunk as Buffer])
      // A file reads as ended like a port whose host has hung up.
      if (seen.length === bytes.length) appendFileSync(input, more)
      if (seen.length === bytes.length + more.length) break
    }
    expect(seen.equals(Buffer.concat([bytes, more]))).toBe(true)
    // Nothing more comes: PID 1 waits for this end before it starts another agent.
    expect(await ended).toEqual([1, null])
  })

  it("ends with its reader also while it waits for input", async () => {
    const relay = spawn(program("relay"), { stdio: ["pipe", "pipe", "ignore"] })
    const ended = once(relay, "exit")
    relay.stdin.write("begun")
    await once(relay.stdout, "data")
    relay.stdout.destroy()
    expect(await ended).toEqual([1, null])
  })
})

describe.skipIf(image === null)("spawner", () => {
  const gone: Array<unknown> = []
  const opened =
    image === null
      ? null
      : openSpawnerProgram(program("spawner"), { own: new Set(), threadsFile: null }, (cause) => gone.push(cause))
  afterAll(() => opened?.close())
  const tree = { threadsFile: null, wrap: (argv) => argv, began: () => {} } as Partial<ProcessTree> as ProcessTree
  const retained = { total: 0, max: 2 ** 30 }

  interface Running {
    readonly launched: Launched
    readonly stdout: OutputBuffer
    readonly stderr: OutputBuffer
    readonly ended: Promise<readonly [number | null, string | null]>
    readonly drained: Promise<void>
  }

  const launch = async (
    argv: ReadonlyArray<string>,
    more: Partial<LaunchRequest> = {},
    window: number | null = null,
    how: Launch = opened!.launch
  ): Promise<Running> => {
    const mode = window === null ? "head" : "window"
    const stdout = new OutputBuffer(mode, window ?? 2 ** 24, retained)
    const stderr = new OutputBuffer(mode, window ?? 2 ** 24, retained)
    let look = () => {}
    const request = {
      argv,
      cwd: folder,
      env: { PATH: "/nowhere:/usr/bin:/bin" },
      runAs: null,
      tree,
      stdin: "ignore" as const,
      unwaited: false,
      ...more
    }
    const launched = await how(request, { stdout, stderr, onProgress: () => look() })
    const ended = new Promise<readonly [number | null, string | null]>((resolve) =>
      launched.onEnd((...end) => resolve(end))
    )
    const drained = new Promise<void>((resolve) => {
      look = () => {
        if (launched.isDrained()) resolve()
      }
      look()
    })
    return { launched, stdout, stderr, ended, drained }
  }

  const text = (buffer: OutputBuffer) => {
    const parts: Array<Buffer> = []
    for (let at = buffer.base; at < buffer.readableEnd; at += parts.at(-1)!.length) parts.push(buffer.read(at))
    return Buffer.concat(parts).toString("latin1")
  }

  const run = async (argv: ReadonlyArray<string>, more: Partial<LaunchRequest> = {}) => {
    const { launched, stdout, stderr, ended, drained } = await launch(argv, more)
    const [code, signal] = await ended
    await drained
    launched.dispose()
    return { code, signal, stdout: text(stdout), stderr: text(stderr) }
  }

  it("runs a program found by the command's own PATH, with its environment, folder and output", async () => {
    const script = 'echo "$GREETING $1"; pwd; echo wrong >&2; exit 7'
    const more = { env: { PATH: "/nowhere:/usr/bin:/bin", GREETING: "good morning, ünïcode" } }
    expect(await run(["sh", "-c", script, "sh", "a b"], more)).toEqual({
      code: 7,
      signal: null,
      stdout: Buffer.from(`good morning, ünïcode a b\n${folder}\n`).toString("latin1"),
      stderr: "wrong\n"
    })
    expect(await run(["true"], { unwaited: true })).toMatchObject({ code: 0, stdout: "", stderr: "" })
    expect(await run(["/bin/echo", "", "x"], { env: {} })).toMatchObject({ stdout: " x\n" })
  })

  it("reports the signal that ended a command, real-time signals too", async () => {
    expect(await run(["sh", "-c", "kill -TERM $$"])).toMatchObject({ code: null, signal: "SIGTERM" })
    expect(await run(["sh", "-c", "kill -40 $$"])).toMatchObject({ code: null, signal: "SIGRTMIN+6" })
    const sleeping = await launch(["sleep", "60"])
    sleeping.launched.signal("SIGINT")
    expect(await sleeping.ended).toEqual([null, "SIGINT"])
    sleeping.launched.dispose()
  })

  it("ignores a signal to a command that ended before its end was read", async () => {
    const { launched, ended } = await launch(["true"])
    // Nothing is read while the program reaps it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    launched.signal("SIGKILL")
    expect(await ended).toEqual([0, null])
    launched.dispose()
  })

  it("keeps a command's input open over a pipe, and still reports every signal", async () => {
    const pipes = new OutputPipes(mkdtempSync(join(folder, "pipes-")), null, (argv) => runToEnd(argv, () => {}))
    const open = withOpenInput(opened!.launch, pipes)
    const cat = await launch(["sh", "-c", "cat; exit 5"], {}, null, open)
    const bytes = randomBytes(300_000)
    cat.launched.input!.write(bytes)
    cat.launched.input!.end()
    expect(await cat.ended).toEqual([5, null])
    await cat.drained
    expect(text(cat.stdout)).toBe(bytes.toString("latin1"))
    cat.launched.dispose()
    const killed = await launch(["sh", "-c", "read line; kill -40 $$"], {}, null, open)
    killed.launched.input!.write("go\n")
    expect(await killed.ended).toEqual([null, "SIGRTMIN+6"])
    killed.launched.dispose()
    await expect(launch(["no-such-program"], {}, null, open)).rejects.toMatchObject({ code: "ENOENT" })
  })

  it("rejects what cannot be executed with the kernel's reason", async () => {
    await expect(launch(["no-such-program"])).rejects.toMatchObject({ code: "ENOENT" })
    await expect(launch([file("text")])).rejects.toMatchObject({ code: "EACCES" })
    const atFolder = (code: string) => ({ code, atFolder: true })
    await expect(launch(["no-such-program"])).rejects.toMatchObject({ atFolder: false })
    await expect(launch(["true"], { cwd: join(folder, "nowhere") })).rejects.toMatchObject(atFolder("ENOENT"))
    await expect(launch(["true"], { cwd: file("text") })).rejects.toMatchObject(atFolder("ENOTDIR"))
    await expect(launch(["true", "x".repeat(200_000)])).rejects.toMatchObject({ code: "E2BIG" })
    await expect(launch(["true", "x".repeat(5_000_000)])).rejects.toMatchObject({ code: "E2BIG" })
    expect(await run(["true"])).toMatchObject({ code: 0 })
  })

  it("runs a script without a first line by the shell, as execvp does", async () => {
    expect(await run([file('echo "script $1"', 0o755), "argument"])).toMatchObject({
      code: 0,
      stdout: "script argument\n"
    })
  })

  it("takes many arguments, and many concurrent commands, each with its own output", async () => {
    const numbers = Array.from({ length: 20_000 }, (_, index) => String(index))
    const { stdout } = await run(["/bin/echo", ...numbers])
    expect(stdout).toBe(`${numbers.join(" ")}\n`)
    const outputs = await Promise.all(
      Array.from({ length: 60 }, (_, index) => run(["sh", "-c", `echo ${index}; echo ${index} >&2; exit ${index}`]))
    )
    expect(outputs).toEqual(
      outputs.map((_, index) => ({ code: index, signal: null, stdout: `${index}\n`, stderr: `${index}\n` }))
    )
  })

  it("reads input from a file and opens /dev/stdout", async () => {
    expect(
      await run(["sh", "-c", "cat; echo again > /dev/stdout; tee /dev/stderr < /dev/stdin > /dev/null"], {
        stdin: { path: file("some input") }
      })
    ).toMatchObject({ stdout: "some inputagain\n", stderr: "some input" })
  })

  it("sends all output, and no more than there is room for", async () => {
    const window = 256 * 1024
    const { launched, stdout, ended, drained } = await launch(
      ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x"],
      {},
      window
    )
    let most = 0
    const reading = setInterval(() => {
      most = Math.max(most, stdout.retainedBytes)
      stdout.acknowledge(stdout.readableEnd)
      launched.wake()
    }, 1)
    await drained
    clearInterval(reading)
    expect(await ended).toEqual([0, null])
    expect(stdout.end).toBe(3_000_000)
    expect(most).toBeLessThanOrEqual(window)
    launched.dispose()
  })

  it("does not wait for a background child that keeps the output open", async () => {
    const { launched, stdout, ended, drained } = await launch(["sh", "-c", "echo done; (sleep 0.3; yes) & exit 3"])
    expect(await ended).toEqual([3, null])
    await drained
    expect(text(stdout)).toBe("done\n")
    // The child's output is dropped, and the program does not wait for it.
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(stdout.end).toBe(5)
    expect(await run(["echo", "meanwhile"])).toMatchObject({ stdout: "meanwhile\n" })
    launched.dispose()
  })

  it("ends at an unknown message, and with its agent", async () => {
    const start = () => spawn(program("spawner"), [], { stdio: ["pipe", "ignore", "inherit"] })
    const broken = start()
    broken.stdin.write("\nthis is no request at all")
    expect(await once(broken, "exit")).toEqual([1, null])
    const orphan = start()
    orphan.stdin.end("\n")
    expect(await once(orphan, "exit")).toEqual([0, null])
    expect(gone).toEqual([])
  })
})
