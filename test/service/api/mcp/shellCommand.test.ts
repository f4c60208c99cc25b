/** The command lines of agents, run by the shells of this machine. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { shellCommand } from "../../../../src/api/mcp/shellCommand.ts"

const ran = ([program, ...rest]: ReadonlyArray<string>, shells: ReadonlyArray<string>): string => {
  const folder = mkdtempSync(join(tmpdir(), "atoll-shells-"))
  try {
    for (const shell of shells) symlinkSync(join("/bin", shell), join(folder, shell))
    return execFileSync(join(folder, program!), rest, { env: { PATH: folder }, encoding: "utf8" })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const whichShell = 'test -n "$BASH_VERSION" && echo bash || echo sh; echo "$1"'

describe("a command line", () => {
  it("runs by Bash where there is no image", () => {
    assert.strictEqual(ran(shellCommand(whichShell, null), ["bash"]), "bash\n\n")
  })

  it("runs by an image's Bash, or by its sh where it has none, and is never read twice", () => {
    assert.strictEqual(ran(shellCommand(whichShell, "img_1"), ["sh", "bash"]), "bash\n\n")
    assert.strictEqual(ran(shellCommand(whichShell, "img_1"), ["sh"]), "sh\n\n")
    assert.strictEqual(ran(shellCommand("echo '$HOME' \"a  b\"", "img_1"), ["sh"]), "$HOME a  b\n")
  })
})
