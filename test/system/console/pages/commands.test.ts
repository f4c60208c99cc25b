/** Commands and operations in a real Chromium, with real programs in a real Sandbox. */

import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Page } from "playwright-core"
import { describe } from "vitest"
import { operationMachine } from "../../../../machines/operation.ts"
import type { Operation, OperationList } from "../../../../schemas/Operation.ts"
import type { DeclinedEventList, TransitionList } from "../../../../schemas/Transition.ts"
import { violations } from "../../../support/console/pages/axe.ts"
import { assertLifeLit, names } from "../../../support/console/pages/litStates.ts"
import { noChromium, testBrowser } from "../../../support/console/pages/TestBrowser.ts"
import { clean, signInByLink, tooWide } from "../../../support/console/pages/visits.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { newSandboxOf } from "../../../support/SandboxCalls.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { untilFound } from "../../../support/until.ts"

const settings = {
  ATOLL_VOLUME_BYTES: String(256 * 1024 ** 2),
  ATOLL_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2)
}

const service = Layer.suspend(() => ServedAtoll.layer(freshDriver(settings), settings)).pipe(
  Layer.provideMerge(TestDatabase.layer)
)

/** What a client of the API does in the Sandbox that the page shows. */
const sandboxOf = async (atoll: ServedAtoll["Service"]) => {
  const { id, ask, start, write } = await newSandboxOf(atoll)
  const operation = async (operationId: string): Promise<Operation> =>
    (await ask("GET", `/operations/${operationId}`, 200)).operation
  return {
    id,
    ask,
    start: async (line: string): Promise<Operation> => (await start("sh", "-c", line)).operation,
    /** The newest one. */
    newest: async (): Promise<Operation> => (await ask("GET", "/operations?limit=1", 200)).operations[0],
    touch: (name: string) => write(name, name),
    until: async (operationId: string, holds: (operation: Operation) => boolean): Promise<Operation> => {
      for (;;) {
        const found = await operation(operationId)
        if (holds(found)) return found
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
}

type Inside = Awaited<ReturnType<typeof sandboxOf>>

interface Visited {
  readonly page: Page
  readonly inside: Inside
  /** All connections of the browser are lost at once, in the middle of the next bytes that it is sent. */
  readonly cut: () => void
}

/** Stands between the browser and the service. */
const cuttable = (to: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const sockets = new Set<Socket>()
        let isDue = false
        const destroyAll = () => sockets.forEach((socket) => socket.destroy())
        const cut = () => {
          isDue = true
        }
        const server = createServer((near) => {
          const far = connect(to, "127.0.0.1")
          for (const [one, other] of [
            [near, far],
            [far, near]
          ] as const) {
            sockets.add(one)
            one.on("error", () => {})
            one.on("close", () => {
              sockets.delete(one)
              other.destroy()
            })
          }
          near.on("data", (bytes) => far.write(bytes))
          far.on("data", (bytes) => {
            near.write(isDue ? bytes.subarray(0, bytes.length / 2) : bytes)
            if (!isDue) return
            isDue = false
            near.end(destroyAll)
          })
        })
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return { server, cut, destroyAll }
      }),
      ({ server, destroyAll }) =>
        Effect.sync(() => {
          destroyAll()
          server.close()
        })
    ),
    ({ server, cut }) => ({ port: (server.address() as AddressInfo).port, cut })
  )

/** Signed in, with a Sandbox that runs. */
const visited = (test: (visited: Visited) => Promise<void>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const atoll = yield* ServedAtoll
      const { port, cut } = yield* cuttable(atoll.port)
      const inside = yield* Effect.promise(() => sandboxOf(atoll))
      const visit = yield* (yield* testBrowser).open(`http://127.0.0.1:${port}`, {
        viewport: { width: 1400, height: 900 },
        reducedMotion: "reduce"
      })
      yield* Effect.promise(async () => {
        await signInByLink(visit.page, await atoll.newLink())
        await test({ page: visit.page, inside, cut })
        clean(visit)
      })
    })
  )

const run = async (page: Page, command: string) => {
  await page.getByLabel("Command", { exact: true }).fill(command)
  await page.getByLabel("Command", { exact: true }).press("Control+Enter")
}

const shown = (page: Page, stream: string) => page.locator(`[data-stream=${stream}]`)

const hasShown = (page: Page, stream: string, text: string) => shown(page, stream).filter({ hasText: text }).waitFor()

const statusShown = (page: Page, status: string) => page.locator(`.pane-head [data-status=${status}]`).waitFor()

/** Whatever a program may write to do more than to be read. */
const hostile = `
import sys
out = sys.stdout.buffer
out.write(b"\\x1b]0;owned\\x07\\x1b[31mred\\x1b[0m \\x1b]8;;https://elsewhere.example\\x1b\\\\link\\x1b]8;;\\x1b\\\\\\n")
out.write(b"<img src=x onerror=alert(1)><script>document.title='owned'</script>\\n")
out.write(b"\\xff\\xfe not text \\xc3\\x28 \\x00\\x07\\n" + "\\u202egnp\\u2066\\n".encode())
out.write(b"".join(b"\\x1b[%dmcolour\\x1b[2m faint\\x1b[0m\\n" % n for n in range(90, 98)))
out.flush()
sys.stderr.write("\\x1b]0;never ended")
`

const flood = `
import sys
out = sys.stdout.buffer
out.write(b"x" * 1048576 + b"\\n")
for i in range(20):
    out.write(b"".join(b"\\x1b[3%dm line %d of a flood\\x1b[0m\\n" % (n % 8, i * 30000 + n) for n in range(30000)))
out.write(b"the end")
`

/** A tenth of a second as a rule; a machine of which others want something, too, takes longer. */
const frozenMs = 10_000

/** Frames of the page, from now on: the longest time between two, in milliseconds. */
const watchFrames = `(() => {
  let before = performance.now()
  globalThis.longestFrameMs = 0
  const frame = (now) => {
    globalThis.longestFrameMs = Math.max(globalThis.longestFrameMs, now - before)
    before = now
    requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
})()`

describe.skipIf(skipped(unusable ?? noChromium))("commands in a browser", () => {
  layer(service, { excludeTestServices: true, timeout: 240_000 })((it) => {
    it.effect("are run as a shell line and exactly; their output is seen as it is written, and how they ended", () =>
      visited(async ({ page, inside }) => {
        await page.goto(`/console/sandboxes/${inside.id}/commands`)
        await page.getByText("No operation has run").waitFor()
        await run(page, "echo first; echo oops >&2; until [ -e go ]; do sleep 0.02; done; echo last; exit 3")
        await hasShown(page, "stdout", "first\n")
        await hasShown(page, "stderr", "oops\n")
        await statusShown(page, "running")
        const row = page.locator("[data-operation]")
        await row.locator("[data-status=running]").waitFor()
        await inside.touch("go")
        await hasShown(page, "stdout", "first\nlast\n")
        await statusShown(page, "completed")
        await row.getByText("exit code 3").waitFor()
        assert.include(await row.textContent(), "11 bytes + 5 bytes of stderr")

        await page.getByLabel("Format").selectOption("exact")
        await page.getByText("Folder, environment").click()
        await page.getByLabel("Environment").fill("GREETING=good day\nEMPTY=")
        await page.getByLabel("Input").fill("typed in")
        await page.getByLabel("Time limit").fill("30")
        await page
          .getByLabel("Program and arguments")
          .fill(`sh\n-c\necho "$GREETING|$1|$(pwd)"; cat\nzero\n$HOME 'a  b'`)
        await page.getByRole("button", { name: "Run" }).click()
        await hasShown(page, "stdout", "good day|$HOME 'a  b'|/workspace\ntyped in")
        await statusShown(page, "completed")
        const { argv } = await inside.newest()
        assert.deepStrictEqual(argv.slice(3), ["zero", "$HOME 'a  b'"])

        await page.getByLabel("Environment").fill("nonsense")
        await page.getByRole("button", { name: "Run" }).click()
        await page.getByText("“nonsense” has no value: write nonsense=value.").waitFor()
        await page.getByLabel("Environment").fill("")
        await page.getByLabel("Folder").fill("/etc")
        await page.getByRole("button", { name: "Run" }).click()
        await page.locator(".field:has([name=cwd]) .mistake").waitFor()

        // Others' are told, too, newest first, and further ones a page at a time.
        for (let at = 0; at < 50; at++) await inside.start(`exit ${at}`)
        await page.locator("[data-operation]").nth(51).waitFor()
        const listed: OperationList = await inside.ask("GET", "/operations", 200)
        assert.deepStrictEqual(
          await names(page, "[data-operation]", "data-operation"),
          listed.operations.map(({ id }) => id)
        )
        await page.reload()
        await page.locator("[data-operation]").nth(49).waitFor()
        assert.strictEqual(await row.count(), 50)
        await page.getByRole("button", { name: "Show more" }).click()
        await page.locator("[data-operation]").nth(51).waitFor()
        assert.include(await row.last().textContent(), "echo first")
        // Many at once take nothing away of what is shown, nor do answers that do not come.
        let lost = 0
        await page.route(/\/operations(\/|\?limit=200)/, (route) => (++lost <= 3 ? route.abort() : route.continue()))
        await Promise.all(Array.from({ length: 25 }, () => inside.start("exit 0")))
        await row.nth(76).waitFor()
        await untilFound(async () => (await row.locator("[data-status=completed]").count()) === 77)
        assert.strictEqual(await row.count(), 77)
        assert.isAbove(lost, 3)
      })
    )

    it.effect(
      "are cancelled, or too late for that: their page tells who was first, at each moment of their lives",
      () =>
        Effect.gen(function* () {
          const { actors } = yield* ServedAtoll
          yield* visited(async ({ page, inside }) => {
            await page.goto(`/console/sandboxes/${inside.id}/commands`)
            await run(page, "echo here; sleep 60")
            await hasShown(page, "stdout", "here")
            const cancel = page.locator(".pane-head").getByRole("button", { name: "Cancel" })
            await cancel.click()
            await page.getByText("Cancelled: its processes get TERM").first().waitFor()
            await statusShown(page, "cancelled")
            const cancelled = await inside.newest()
            await inside.until(cancelled.id, ({ processTree }) => processTree !== "running")

            // The page's request is held until the command has ended.
            await page.route("**/cancel", async (route) => {
              await inside.touch("done")
              await inside.until((await inside.newest()).id, ({ status }) => status === "completed")
              await route.continue()
            })
            await run(page, "until [ -e done ]; do sleep 0.02; done; echo done")
            await statusShown(page, "running")
            await cancel.click()
            await page.getByText("Too late: it had already completed with exit code 0").first().waitFor()
            const completed = await inside.newest()

            await page.getByRole("link", { name: "Details" }).click()
            const came = page.locator("[data-came]")
            await came.filter({ hasText: "changed nothing" }).waitFor()
            const late = await came.last().textContent()
            assert.match(
              late!,
              /CANCEL.*It was answered with the final result: completed\. EXITED had come .* before\./
            )
            const { declined }: DeclinedEventList = await inside.ask("GET", `/operations/${completed.id}/declined`, 200)
            assert.include(late, declined[0]!.requestId!)
            const facts = (await page.locator(".facts").first().textContent())!
            for (const text of [
              completed.id,
              "sh-cuntil [ -e done ]",
              "Exit code0",
              "Folder/workspace",
              "5 bytes to stdout"
            ]) {
              assert.include(facts, text)
            }

            // An end that came after the cancel, as it would from the guest.
            if (actors !== null) {
              const tell = actors.send(
                operationMachine,
                cancelled.id,
                { type: "EXITED", exitCode: 0, signal: null, reason: null, processTree: "gone" },
                { cause: "command" }
              )
              await Effect.runPromise(Effect.exit(tell))
            }
            await page.goto(`/console/sandboxes/${inside.id}/operations/${cancelled.id}`)
            if (actors !== null) {
              await came.filter({ hasText: "OPERATION_TERMINAL, for it was cancelled." }).waitFor()
              assert.match((await came.last().textContent())!, /EXITED.*CANCEL had come .* before/)
            }
            const log: TransitionList = await inside.ask("GET", `/operations/${cancelled.id}/transitions`, 200)
            assert.isAtLeast(log.transitions.length, 4)
            await page.getByText(`equals what the service stores at revision ${log.transitions.length}`).waitFor()
            await assertLifeLit(page, log.transitions)
            assert.strictEqual(await shown(page, "stdout").textContent(), "here\n")
            assert.match(await page.title(), /^Operation/)

            const found: Array<string> = []
            for (const path of [`/operations/${cancelled.id}`, "/commands"]) {
              await page.goto(`/console/sandboxes/${inside.id}${path}`)
              await page.getByText("Live", { exact: true }).first().waitFor()
              for (const colorScheme of ["light", "dark"] as const) {
                await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
                found.push(...(await violations(page)))
              }
              await page.setViewportSize({ width: 360, height: 700 })
              assert.isAtMost(await tooWide(page), 0, path)
              await page.setViewportSize({ width: 1400, height: 900 })
            }
            assert.deepStrictEqual(found, [])
          })
        })
    )

    it.effect("write what they want: it is text, and a flood of it freezes nothing", () =>
      visited(async ({ page, inside }) => {
        await page.goto(`/console/sandboxes/${inside.id}/commands`)
        await run(page, `python3 - <<'E'\n${hostile}\nE`)
        await statusShown(page, "completed")
        await hasShown(page, "stdout", "gnp")
        assert.strictEqual(
          await shown(page, "stdout").textContent(),
          "red link\n<img src=x onerror=alert(1)><script>document.title='owned'</script>\n\ufffd\ufffd not text \ufffd( ␀␇\n‹U+202E›gnp‹U+2066›\n" +
            "colour faint\n".repeat(8)
        )
        assert.strictEqual(await shown(page, "stderr").textContent(), "␛]0;never ended")
        assert.strictEqual(await shown(page, "stdout").locator(".tint-bad").first().textContent(), "red")
        assert.strictEqual(await page.locator("img, script:not([type=module])").count(), 0)
        assert.match(await page.title(), /^Sandbox/)
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
          assert.deepStrictEqual(await violations(page), [], colorScheme)
        }

        await page.evaluate(watchFrames)
        await run(page, `python3 - <<'E'\n${flood}\nE`)
        // The page is used meanwhile.
        await page.getByText("are left out here").waitFor()
        await page.getByLabel("Command", { exact: true }).fill("typed during the flood")
        await hasShown(page, "stdout", "the end")
        const longestMs = Number(await page.evaluate("globalThis.longestFrameMs"))
        const bytes = Number(await shown(page, "stdout").getAttribute("data-bytes"))
        assert.isAbove(bytes, 18 * 1024 ** 2)
        const text = (await shown(page, "stdout").textContent())!
        assert.isBelow(text.length, 160 * 1024)
        assert.include(text, "line 599999 of a flood\nthe end")
        assert.isBelow(longestMs, frozenMs)
      })
    )

    it.effect("are followed over lost connections without a gap or a double", () =>
      visited(async ({ page, inside, cut }) => {
        const asked: Array<string> = []
        page.on("request", (request) => {
          const { pathname, search } = new URL(request.url())
          if (pathname.endsWith("/output/stream")) asked.push(search)
        })
        const { id } = await inside.start(
          `i=0; for gate in a b c d; do
             until [ -e $gate ]; do sleep 0.02; done
             n=0; while [ $n -lt 1000 ]; do echo "line $i"; i=$((i+1)); n=$((n+1)); done
           done`
        )
        await page.goto(`/console/sandboxes/${inside.id}/operations/${id}`)
        await page.locator(".page-head [data-status=running]").waitFor()
        await inside.touch("a")
        for (const [line, gate] of [
          ["line 999", "b"],
          ["line 1999", "c"],
          ["line 2999", "d"]
        ] as const) {
          await hasShown(page, "stdout", line)
          cut()
          await inside.touch(gate)
        }
        await hasShown(page, "stdout", "line 3999")
        await page.locator("[data-output=whole]").waitFor()
        assert.strictEqual(
          await shown(page, "stdout").textContent(),
          Array.from({ length: 4000 }, (_, at) => `line ${at}\n`).join("")
        )
        await page.locator(".page-head [data-status=completed]").waitFor()
        const offsets = asked.map((search) => Number(/^\?stdoutOffset=(\d+)&stderrOffset=0$/.exec(search)![1]))
        assert.isAtLeast(offsets.length, 4)
        assert.deepStrictEqual(
          offsets,
          [...new Set(offsets)].toSorted((one, other) => one - other)
        )

        await inside.ask("POST", "/stop", 200)
        await page.goto(`/console/sandboxes/${inside.id}/commands`)
        await page.locator(".page-head [data-status=stopped]").waitFor()
        await run(page, "echo nobody there")
        await page.locator(".fault-id").filter({ hasText: "SANDBOX_UNAVAILABLE · request req_" }).waitFor()
        assert.strictEqual(await page.locator("[data-operation]").count(), 1)
      })
    )
  })
})
