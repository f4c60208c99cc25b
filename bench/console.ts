/**
 * The console in a real Chromium, on a Sandbox with a log of 10,000 transitions and with 3,000 operations: the time and
 * the cost until the whole log is folded; then frames during scrubbing through the log, by the keyboard and by
 * dragging, and during scrolling and zooming of the timeline.
 * CPU is that of the page's own thread, until it has painted.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../src/Config.ts"
import { SignInLinks } from "../src/console/server/SignInLinks.ts"
import { longLife } from "../test/support/console/pages/longLife.ts"
import { noChromium, testBrowser } from "../test/support/console/pages/TestBrowser.ts"
import { databaseOf } from "./BenchDatabase.ts"
import { BenchService, quantile } from "./BenchService.ts"

const transitions = 10_000
const operations = 3000
const mebibyte = 2 ** 20

if (noChromium !== null) {
  console.log(noChromium)
  process.exit(0)
}

/** In the first part of its life, many concurrently. */
const liveIn = Effect.fnUntraced(function* (id: string, accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const ids = sql`'op_' || md5(n::text)`
  const begun = sql`((select created_at from actors where id = ${id}) + (n % 300) * 300)`
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
    select ${ids}, 'operation', ${accountId}, ${id}, 1, 3, '{}'::jsonb, '{"value": "completed", "context": {}}'::jsonb, ${begun}
    from generate_series(1, ${operations}::int4) n`
  yield* sql`
    insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, commit_token)
    select ${ids}, r, ${begun} + r * 500, jsonb_build_object('type', (array['CREATED', 'STARTED', 'EXITED'])[r]),
      (array[null, 'queued', 'running'])[r], (array['queued', 'running', 'completed'])[r], '[]'::jsonb, 'bench', ''
    from generate_series(1, ${operations}::int4) n, generate_series(1, 3) r`
})

await BenchService.use({ ATOLL_RUNTIME: "simulated" }, async (service) => {
  const { account } = await service.call<{ account: { id: string } }>("GET", "/me")
  const like = await service.sandbox(await service.workspace())

  const program = Effect.gen(function* () {
    const { id } = yield* longLife(like, transitions)
    yield* liveIn(id, account.id)
    const { code } = yield* (yield* SignInLinks).create(account.id)
    const { page, context } = yield* (yield* testBrowser).open(new URL(service.base).origin, {
      viewport: { width: 1400, height: 900 }
    })
    yield* Effect.promise(async () => {
      const session = await context.newCDPSession(page)
      await session.send("Performance.enable", { timeDomain: "threadTicks" })
      await session.send("HeapProfiler.enable")
      const metric = async (name: string): Promise<number> =>
        (await session.send("Performance.getMetrics")).metrics.find((one) => one.name === name)!.value
      const cpuMs = async () => 1000 * (await metric("TaskDuration"))
      await page.addInitScript(`
        globalThis.frames = []
        globalThis.longFrames = []
        new PerformanceObserver((list) => {
          for (const { duration } of list.getEntries()) longFrames.push(duration)
        }).observe({ type: "long-animation-frame" })
        let before = performance.now()
        const look = (now) => {
          frames.push(now - before)
          before = now
          requestAnimationFrame(look)
        }
        requestAnimationFrame(look)`)

      await page.goto(`/console/#link=${code}`)
      await page.getByRole("button", { name: "Sign in" }).click()
      await page.getByRole("heading", { name: "Sandboxes", level: 1 }).waitFor()
      const began = performance.now()
      await page.goto(`/console/sandboxes/${id}`)
      await page.getByText(`equals what the service stores at revision ${transitions}`).waitFor()
      await page.getByRole("button", { name: "Load older" }).click()
      await page.getByText(`Operations ${operations.toLocaleString("en-US")}`, { exact: true }).waitFor()
      const ms = performance.now() - began
      const work = await cpuMs()
      await session.send("HeapProfiler.collectGarbage")
      const heap = (await metric("JSHeapUsedSize")) / mebibyte
      console.log(
        `until ${transitions} transitions are folded and ${operations} operations shown: ${Math.round(ms)} ms, ${Math.round(work)} ms of CPU; ${heap.toFixed(1)} MiB of JavaScript's memory`
      )

      const measured = async (what: string, acts: Iterable<() => Promise<void>>) => {
        await page.evaluate("frames.length = 0, longFrames.length = 0")
        const works: Array<number> = []
        for (const act of acts) {
          const before = await cpuMs()
          await act()
          await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
          works.push((await cpuMs()) - before)
        }
        const frames = (await page.evaluate("frames")) as ReadonlyArray<number>
        const long = (await page.evaluate("longFrames")) as ReadonlyArray<number>
        const told = (of: ReadonlyArray<number>) =>
          [0.5, 0.99, 1].map((share) => quantile(of, share).toFixed(1)).join(" / ")
        console.log(
          `${what}: ${works.length} steps; CPU a step p50 / p99 / max ${told(works)} ms; between frames ${told(frames)} ms; ${long.length} frames over 50 ms${long.length === 0 ? "" : ` (${long.map(Math.round).join(", ")})`}`
        )
      }
      const keys = function* (...names: ReadonlyArray<string>) {
        for (const name of names) yield () => page.keyboard.press(name)
      }
      const many = (count: number, name: string) => Array<string>(count).fill(name)

      const slider = page.getByRole("slider", { name: "Revision" })
      await slider.focus()
      const tenth = [...many(20, "ArrowRight"), "PageUp"]
      await measured(
        "scrubbed by the keyboard",
        keys("Home", ...Array(10).fill(tenth).flat(), ...many(20, "ArrowLeft"))
      )
      const { x, y, width, height } = (await slider.boundingBox())!
      const along = (part: number) => page.mouse.move(x + 8 + (width - 16) * part, y + height / 2)
      await along(1)
      await page.mouse.down()
      await measured(
        "scrubbed by dragging",
        (function* () {
          for (let at = 200; at >= 0; at--) yield () => along(at / 200)
          for (let at = 0; at <= 200; at++) yield () => along(at / 200)
        })()
      )
      await page.mouse.up()

      const lane = page.getByRole("listbox", { name: "Operations, transitions" })
      await lane.focus()
      await measured(
        "gone through in the timeline",
        keys(...many(40, "ArrowRight"), ...many(20, "PageDown"), "End", "Home")
      )
      await measured("timeline zoomed", keys(...many(10, "+"), ...many(10, "-"), ...many(5, "+"), "0"))
      const shown = (await lane.boundingBox())!
      await measured(
        "timeline pointed at",
        (function* () {
          for (let at = 0; at <= 100; at++) {
            yield () => page.mouse.move(shown.x + (shown.width * at) / 100, shown.y + (shown.height * at) / 100)
          }
        })()
      )
    })
  })
  await Effect.runPromise(
    Effect.scoped(program).pipe(
      Effect.provide(
        SignInLinks.layer.pipe(
          Layer.provideMerge(databaseOf(service.databaseSocketFolder)),
          Layer.provideMerge(Settings.layer)
        )
      )
    )
  )
})
