/** In separate processes: what is set holds for a whole one. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, it } from "@effect/vitest"

const memory = join(import.meta.dirname, "../../../src/app/memory")
const mebibyte = 1024 ** 2

const said = async <Name extends string>(program: string): Promise<Readonly<Record<Name, number>>> => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program])
  return JSON.parse(stdout) as Record<Name, number>
}

it("content that passes through is freed without collections of the whole heap", async () => {
  const { outside, whole } = await said<"outside" | "whole">(`
    import { constants, PerformanceObserver } from "node:perf_hooks"
    import { setTimeout as sleep } from "node:timers/promises"
    const { boundMemory } = await import(${JSON.stringify(join(memory, "boundMemory.ts"))})
    let whole = 0
    new PerformanceObserver((list) => {
      for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) whole++
    }).observe({ entryTypes: ["gc"] })
    boundMemory()
    let outside = 0
    for (let made = 0; made < 1024; made++) {
      Buffer.allocUnsafeSlow(${mebibyte})
      await sleep(5)
      outside = Math.max(outside, process.memoryUsage().external)
    }
    console.log(JSON.stringify({ outside, whole }))
    process.exit()`)
  assert.isBelow(outside, 128 * mebibyte)
  // By default one for each 64 MiB: sixteen.
  assert.isAtMost(whole, 8)
})

it("the young generation is bounded, and given back where one turn has made it larger", async () => {
  const { afterTurn, later, grown } = await said<"afterTurn" | "later" | "grown">(`
    import { getHeapSpaceStatistics } from "node:v8"
    import { setTimeout as sleep } from "node:timers/promises"
    const { boundYoungGeneration } = await import(${JSON.stringify(join(memory, "YoungGeneration.ts"))})
    const size = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space").space_size
    boundYoungGeneration(500)
    const kept = []
    const make = (count) => {
      for (let made = 0; made < count; made++) kept.push({ made, and: [made] })
    }
    make(3e6)
    const afterTurn = size()
    for (let looks = 0; looks < 100 && size() > ${40 * mebibyte}; looks++) await sleep(100)
    const later = size()
    let grown = 0
    for (let turns = 0; turns < 100; turns++) {
      make(1e4)
      await sleep(20)
      grown = Math.max(grown, size())
    }
    console.log(JSON.stringify({ afterTurn, later, grown }))
    process.exit()`)
  assert.isAbove(afterTurn, 64 * mebibyte)
  assert.isBelow(later, 40 * mebibyte)
  assert.isAtMost(grown, 32 * mebibyte)
})

it("buffers in use for longer than a young collection do not grow beyond what is allowed", async () => {
  const { outside } = await said<"outside">(`
    import { setTimeout as sleep } from "node:timers/promises"
    const { boundMemory } = await import(${JSON.stringify(join(memory, "boundMemory.ts"))})
    boundMemory()
    // V8 begins no collection early while its heap is tiny.
    const heap = Array.from({ length: 3e5 }, (_, made) => ({ made, and: [made] }))
    const inUse = []
    let outside = 0
    for (let made = 0; made < 1500; made++) {
      inUse.push(Buffer.allocUnsafeSlow(${mebibyte}))
      if (inUse.length > 40) inUse.shift()
      await sleep(4)
      outside = Math.max(outside, process.memoryUsage().external)
    }
    console.log(JSON.stringify({ outside, held: heap.length }))
    process.exit()`)
  assert.isBelow(outside, 200 * mebibyte)
})

it("pages that the heap does not need any more go back to the system while it is busy", async () => {
  const { large, later } = await said<"large" | "later">(`
    import { setFlagsFromString } from "node:v8"
    import { setTimeout as sleep } from "node:timers/promises"
    const { giveBackPooledPages } = await import(${JSON.stringify(join(memory, "PooledPages.ts"))})
    // Collections of all follow each other, as under load.
    setFlagsFromString("--incremental-marking-hard-trigger=1")
    giveBackPooledPages(500)
    const resident = () => process.memoryUsage().rss
    let kept = []
    for (let made = 0; made < 3e6; made++) kept.push({ made, and: [made] })
    const large = resident()
    kept = []
    let later = large
    for (let turns = 0; turns < 200 && later > large / 2; turns++) {
      for (let made = 0; made < 2e4; made++) kept.push({ made, and: [made] })
      if (turns % 10 === 9) kept = []
      await sleep(20)
      later = resident()
    }
    console.log(JSON.stringify({ large, later }))
    process.exit()`)
  assert.isAtLeast(large, 200 * mebibyte)
  assert.isBelow(later, large / 2)
})
