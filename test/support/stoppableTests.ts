/** Tests that a person runs for a long time. Ctrl-C ends them after their present step, and they say what they had seen; a second one ends them now. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")

/**
 * Their exit code.
 * @param args Of vitest.
 * @param stopVariable Names, in their environment, the file that is there once they shall end.
 */
export const runStoppable = async (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  stopVariable: string
): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), "atoll-stop-"))
  const stopFile = join(folder, "stop")
  const child = spawn(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), "run", ...args], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...environment, [stopVariable]: stopFile },
    // Ctrl-C reaches only this process.
    detached: true
  })
  let isStopping = false
  const stop = () => {
    if (isStopping) process.kill(-child.pid!, "SIGKILL")
    isStopping = true
    writeFileSync(stopFile, "")
  }
  process.on("SIGINT", stop)
  const [code] = await once(child, "exit")
  process.off("SIGINT", stop)
  rmSync(folder, { recursive: true, force: true })
  return code ?? 1
}
