/** The host's programs as children of the spawner: what they get, what is known of their end, and what happens without it. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { hasSpawner } from "../../../../src/host/linux/HostSpawner.ts"
import { hostCommand } from "../../../../src/host/linux/hostCommand.ts"

const sources = join(import.meta.dirname, "../../../../src/host/linux")

describe("a program of the host", () => {
  it("tells its output, its errors and its exit code", async () => {
    assert.deepStrictEqual(await hostCommand(["sh", "-c", "echo out; echo err >&2; exit 3"]), {
      code: 3,
      stdout: "out\n",
      stderr: "err\n"
    })
  })

  it("is ended by a signal, or missing", async () => {
    assert.strictEqual((await hostCommand(["sh", "-c", "kill -9 $$"])).code, null)
    const missing = await hostCommand(["atoll-no-such-program"])
    assert.strictEqual(missing.code, 127)
    assert.match(missing.stderr, /atoll-no-such-program ENOENT/)
  })

  it("reads its input to the end", async () => {
    const text = "é".repeat(1_000_000)
    assert.strictEqual((await hostCommand(["wc", "-c"], text)).stdout.trim(), "2000000")
    assert.strictEqual((await hostCommand(["cat"])).stdout, "")
    assert.strictEqual((await hostCommand(["cat"], "")).stdout, "")
  })

  it("may write more than is kept", async () => {
    const { code, stdout } = await hostCommand(["sh", "-c", "yes ü | head -c 3000000"])
    assert.strictEqual(code, 0)
    assert.match(stdout, /^(?:ü\n){5000}/)
    assert.isBelow(stdout.length, 200_000)
  })

  it("gets no descriptor and no variable of the service", async () => {
    const { stdout } = await hostCommand(["sh", "-c", "ls -l /proc/self/fd; env"])
    const beyond = [...stdout.matchAll(/ (\d+) -> (.+)$/gm)].filter(([, fd]) => Number(fd) > 3)
    // What this process inherited itself is replaced.
    for (const [, , file] of beyond) assert.strictEqual(file, "/dev/null")
    assert.notMatch(stdout, /HOME|ATOLL|NODE/)
    const { stdout: folder } = await hostCommand(["pwd"])
    assert.strictEqual(folder, "/\n")
  })

  it("may leave a process behind that holds its pipes", async () => {
    const before = performance.now()
    const { code, stdout } = await hostCommand(["sh", "-c", "sleep 20 & echo $!"])
    assert.strictEqual(code, 0)
    assert.isBelow(performance.now() - before, 15_000)
    process.kill(Number(stdout), "SIGKILL")
  })

  it("runs beside others", async () => {
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, n) => hostCommand(["sh", "-c", `echo ${n}; exit ${n}`]))
    )
    assert.deepStrictEqual(
      all.map(({ code, stdout }) => [code, stdout]),
      Array.from({ length: 50 }, (_, n) => [n, `${n}\n`])
    )
  })

  it.skipIf(!hasSpawner)("learns that the spawner was killed, and the next one has another", async () => {
    const { stdout } = await hostCommand(["sh", "-c", "echo $PPID"])
    const spawner = Number(stdout)
    assert.match(readFileSync(`/proc/${spawner}/cmdline`, "utf8"), /spawner\.x64/)
    const waits = hostCommand(["sleep", "30"])
    process.kill(spawner, "SIGKILL")
    assert.strictEqual((await waits).code, null)
    const next = await hostCommand(["sh", "-c", "echo $PPID"])
    assert.strictEqual(next.code, 0)
    assert.notStrictEqual(Number(next.stdout), spawner)
  })

  it("holds its process only while it runs", async () => {
    const script = `const { hostCommand } = await import(${JSON.stringify(join(sources, "hostCommand.ts"))})
      console.log((await hostCommand(["sh", "-c", "sleep 0.2; echo done"])).stdout)`
    const said = await new Promise<string>((resolve, reject) =>
      execFile(process.execPath, ["--input-type=module", "-e", script], { timeout: 20_000 }, (fault, stdout) =>
        fault === null ? resolve(stdout) : reject(fault)
      )
    )
    assert.strictEqual(said.trim(), "done")
  })
})
