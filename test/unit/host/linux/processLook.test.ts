import { assert, describe, it } from "vitest"
import { identify, type ProcessIdentity } from "../../../../src/host/linux/ProcessIdentity.ts"
import { ProcessLook } from "../../../../src/host/linux/ProcessLook.ts"

const here = identify(process.pid)!
/** Its pid belongs to another process now. */
const reused: ProcessIdentity = { ...here, startTime: here.startTime - 1 }
/** No process has a pid this large. @source proc_sys_kernel(5) pid_max */
const gone: ProcessIdentity = { ...here, pid: 2 ** 22 + 1 }

/** How many looks in a row, twice a second, took the process for alive. */
const looksUntilDead = (look: ProcessLook, it: ProcessIdentity, startMs: number): number => {
  for (let looks = 0; looks < 200; looks++) if (!look.isAlive(it, startMs + looks * 500)) return looks
  return Number.POSITIVE_INFINITY
}

describe("a look at a process that is looked at again and again", () => {
  it("finds it alive, and gone at the next look", () => {
    const look = new ProcessLook(60)
    for (let looks = 0; looks < 130; looks++) assert.isTrue(look.isAlive(here, looks * 500))
    assert.isFalse(look.isAlive(gone, 130 * 500))
  })

  it("finds a reused pid at the first look", () => {
    assert.isFalse(new ProcessLook(60).isAlive(reused, 0))
  })

  it("finds a pid that was reused between two looks within sixty more", () => {
    for (let at = 0; at < 70; at++) {
      const look = new ProcessLook(60)
      for (let looks = 0; looks < at; looks++) look.isAlive(here, looks * 500)
      assert.isAtMost(looksUntilDead(look, reused, at * 500), 60)
    }
  })

  it("finds it immediately after a pause, as of a frozen service", () => {
    // One of these looks is thorough anyway; the other is not.
    const [one, other] = [new ProcessLook(60), new ProcessLook(60)]
    for (const look of [one, other]) look.isAlive(here, 0)
    assert.isFalse(one.isAlive(reused, 60_000))
    assert.isFalse(other.isAlive(reused, 60_000))
  })

  it("looks thoroughly at about one of sixty", () => {
    const looks = Array.from({ length: 600 }, () => new ProcessLook(60))
    for (const look of looks) look.isAlive(here, 0)
    const thorough = looks.filter((look) => !look.isAlive(reused, 500)).length
    assert.strictEqual(thorough, 10)
  })
})
