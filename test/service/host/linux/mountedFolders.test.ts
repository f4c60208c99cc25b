import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"

const source = fileURLToPath(new URL("../../../../src/host/linux/mountedFolders.ts", import.meta.url))

/** Looks before a Sandbox has the folder mounted, meanwhile, and afterwards. */
const script = `
import { spawn } from "node:child_process"
import { once } from "node:events"
const { mountedFolders } = await import(process.argv[1])
const seen = []
const look = async () => seen.push((await mountedFolders())?.has("mounted-here") ?? null)
await look()
const inside = ["--ro-bind", "/", "/", "--ro-bind", process.argv[2], "/mnt", "--unshare-user", "--uid", "1000"]
const sandbox = spawn("bwrap", [...inside, "sh", "-c", "echo up; read -r end"], { stdio: ["pipe", "pipe", "inherit"] })
const ended = once(sandbox, "exit")
await once(sandbox.stdout, "data")
await look()
sandbox.stdin.end()
await ended
await look()
console.log(JSON.stringify(seen))
`

describe.skipIf(skipped(unusable) || !isRoot)("the folders that are mounted", () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "atoll-mounted-"))
    mkdirSync(join(folder, "mounted-here"))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("are found in the mount namespaces of other processes", () => {
    // In another process namespace, because not every host lets the test look into all its processes.
    const node = [process.execPath, "--input-type=module", "-e", script, source, join(folder, "mounted-here")]
    const seen = execFileSync("unshare", ["--pid", "--fork", "--mount-proc", "--kill-child", ...node], {
      encoding: "utf8"
    })
    expect(JSON.parse(seen)).toEqual([false, true, false])
  })
})
