/** The terminal in a real Chromium, with a real shell in a real Sandbox. */
import { assert, describe, layer } from "@effect/vitest"
import type { Page } from "playwright-core"
import { terminalsPerSandbox } from "../../../../../../schemas/Limits.ts"
import { violations } from "../../../../../support/console/pages/axe.ts"
import { served, servedVisit, unvisitable } from "../../../../../support/console/pages/sandbox/servedVisit.ts"
import { tooWide } from "../../../../../support/console/pages/visits.ts"
import { skipped } from "../../../../../support/host/namespace/TestHost.ts"
import { TerminalClient } from "../../../../../support/terminal/TerminalClient.ts"
import { untilFound } from "../../../../../support/until.ts"

const becomes = (page: Page, shell: "open" | "ended" | "none") => page.locator(`[data-shell=${shell}]`).waitFor()

/** Until the expression is true in the page, whose policy lets no text become code by itself. */
const holds = (page: Page, expression: string) => untilFound(async () => (await page.evaluate(expression)) === true)

/** Its rows, as they stand on the screen. */
const shows = (page: Page, text: string) =>
  page.locator(".xterm-rows > div").filter({ hasText: text }).first().waitFor()

const type = async (page: Page, line: string) => {
  await page.getByLabel("Terminal input").focus()
  await page.keyboard.insertText(line)
  await page.keyboard.press("Enter")
}

let asked = 0

/** What the shell believes of its terminal, as `[rows, columns]`, once it holds: a new size takes a moment on its way. */
const sizeIn = async (page: Page, isSo: (size: ReadonlyArray<number>) => boolean): Promise<ReadonlyArray<number>> => {
  for (;;) {
    const mark = `s${asked++}`
    await type(page, `echo "${mark}=$(stty size)."`)
    const found = page.locator(".xterm-rows > div").filter({ hasText: new RegExp(`^${mark}=\\d`) })
    const size = (await found.first().textContent())!
      .match(/\d+ \d+/)![0]
      .split(" ")
      .map(Number)
    if (isSo(size)) return size
  }
}

describe.skipIf(skipped(unvisitable))("the terminal in a browser", () => {
  layer(served, { excludeTestServices: true })((it) => {
    it.effect("runs what is typed, follows the pane, tells the exit, and opens another shell", () =>
      servedVisit(async ({ page, sandboxId: id, send }) => {
        const loaded: Array<string> = []
        page.on("request", (request) => loaded.push(request.url()))
        const sent: Array<string> = []
        page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => sent.push(String(payload))))
        await page.goto(`/console/sandboxes/${id}`)
        await page.locator(".statechart").waitFor()
        assert.isFalse(loaded.some((url) => /Terminal-\w+\.js$/.test(url)))
        await page.getByRole("link", { name: "Terminal" }).click()
        await becomes(page, "open")
        assert.isTrue(loaded.some((url) => /Terminal-\w+\.js$/.test(url)))
        await shows(page, "$")
        await type(page, "echo $((6 * 7))-is-it")
        await shows(page, "42-is-it")

        const wide = await sizeIn(page, () => true)
        await page.setViewportSize({ width: 360, height: 700 })
        await holds(page, "document.querySelector('.xterm-screen').clientWidth < 360")
        assert.isAtMost(await tooWide(page), 0)
        await sizeIn(page, ([, columns]) => columns! < wide[1]! / 2)
        await page.setViewportSize({ width: 1400, height: 900 })
        await holds(page, "document.querySelector('.xterm-screen').clientWidth > 360")
        await sizeIn(page, ([rows, columns]) => rows === wide[0] && columns === wide[1])

        await type(page, "yes 'a line that is long enough to be drawn' | head -c 2000000; echo all-of-it")
        await shows(page, "all-of-it")
        const told = (type: string) => sent.filter((frame) => frame === JSON.stringify({ type })).length
        await untilFound(async () => told("pause") === told("resume"))

        // In colours that no style sheet knows, and in both schemes.
        await type(
          page,
          "clear; printf '\\e[38;2;200;80;20mtrue colour\\e[0m \\e[7minverse\\e[0m \\e[4:3;58:2::255:0:0mcurly\\e[0m\\n'"
        )
        await shows(page, "true colour inverse curly")
        const colour = () =>
          page.evaluate("getComputedStyle(document.querySelector('.xterm-rows')).color") as Promise<string>
        const light = await colour()
        const found: Array<string> = [...(await violations(page))]
        await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" })
        await holds(page, `getComputedStyle(document.querySelector(".xterm-rows")).color !== "${light}"`)
        await page.getByLabel("Screen-reader mode").check()
        await page.locator(".xterm-accessibility").waitFor()
        found.push(...(await violations(page)))
        assert.deepStrictEqual(found, [])

        await page.getByLabel("Terminal input").focus()
        await page.keyboard.press("Tab")
        await page.keyboard.press("Control+F6")
        assert.isTrue(
          await page.getByRole("button", { name: "Disconnect" }).evaluate((button) => button.matches(":focus"))
        )
        await page.getByLabel("Terminal input").focus()
        await page.keyboard.type("exit 3\n")
        await becomes(page, "ended")
        await page.getByText("The shell ended with exit code 3.").waitFor()
        await page.getByRole("button", { name: "Reconnect" }).click()
        await becomes(page, "open")
        await shows(page, "$")
        assert.isTrue(await page.getByLabel("Screen-reader mode").isChecked())
        await page.keyboard.type("echo ano''ther\n")
        await shows(page, "another")

        await send("POST", "/stop")
        await becomes(page, "ended")
        await page.locator("[data-status=stopped]").waitFor()
        assert.match((await page.locator("[data-shell]").textContent())!, /^The Sandbox /)
        await page.reload()
        await page.getByText("Start it to open a terminal.").waitFor()
        const connect = page.getByRole("button", { name: "Connect", exact: true })
        assert.strictEqual(await connect.getAttribute("aria-disabled"), "true")
        assert.deepStrictEqual(await violations(page), [])
        await page.getByRole("button", { name: "Start", exact: true }).last().click()
        await page.locator("[data-status=running]").waitFor()
        await connect.click()
        await becomes(page, "open")
      })
    )

    it.effect("tells the shell to pause while its screen is behind, and to go on", () =>
      servedVisit(async ({ page, sandboxId: id }) => {
        const told: Array<unknown> = []
        await page.routeWebSocket(/\/terminal\?/, (socket) => {
          socket.onMessage((message) => void (typeof message === "string" && told.push(JSON.parse(message).type)))
          // More in one piece than may wait for the screen.
          socket.send(Buffer.from(`${"a line of output\r\n".repeat(30_000)}the end`))
        })
        await page.goto(`/console/sandboxes/${id}/terminal`)
        await shows(page, "the end")
        await untilFound(async () => told.includes("resume"))
        assert.deepStrictEqual(
          told.filter((type) => type !== "resize"),
          ["pause", "resume"]
        )
      })
    )

    it.effect("says why it cannot be opened, in the service's words, and leaves all that a program writes inert", () =>
      servedVisit(async ({ page, context, origin, api: { port, key }, sandboxId: id, send }) => {
        const open = await Promise.all(
          Array.from({ length: terminalsPerSandbox }, () =>
            TerminalClient.open(port, `/api/v2/sandboxes/${id}/terminal`, { key })
          )
        )
        await page.goto(`/console/sandboxes/${id}/terminal`)
        await page.getByText("its limit of open terminals and connections").waitFor()
        assert.match((await page.locator(".fault-id").textContent())!, /^RATE_LIMITED · request req_\w+$/)
        assert.deepStrictEqual(await violations(page), [])
        for (const client of open) if (client instanceof TerminalClient) await client.cut()
        for (;;) {
          await page.getByRole("button", { name: "Reconnect" }).click()
          await page.locator("[data-shell=open], [data-shell=ended]").waitFor()
          if ((await page.locator("[data-shell=open]").count()) === 1) break
        }
        assert.strictEqual(await page.locator(".fault").count(), 0)

        const title = await page.title()
        const pages = page.context().pages().length
        const hostile = [
          "\\e]0;owned\\a\\e]2;owned\\a",
          "\\e]8;;javascript:document.title=1\\e\\\\link\\e]8;;\\e\\\\ \\e]8;;https://evil.example/\\e\\\\other\\e]8;;\\e\\\\",
          "\\e]52;c;b3duZWQ=\\a<img src=x onerror=alert(1)><script>alert(1)</script>"
        ]
        await type(page, `clear; printf '%b\\n' '${hostile.join(" ")}' in''ert`)
        await shows(page, "<script>alert(1)</script>")
        for (const name of ["link", "other"]) {
          await page
            .locator(".xterm-rows span", { hasText: new RegExp(`^${name}$`) })
            .first()
            .click({ force: true })
        }
        await type(page, "echo go''es on")
        await shows(page, "goes on")
        assert.strictEqual(await page.title(), title)
        assert.strictEqual(page.context().pages().length, pages)
        assert.strictEqual(await page.locator("img, .xterm script").count(), 0)

        // With something selected Ctrl-C copies; then it interrupts again.
        await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin })
        await type(page, "clear; echo pick''me; sleep 98768")
        await page
          .locator(".xterm-rows span", { hasText: /^pickme$/ })
          .first()
          .dblclick({ force: true })
        await page.keyboard.press("Control+c")
        await holds(page, "navigator.clipboard.readText().then((text) => text === 'pickme')")
        await page.keyboard.press("Control+c")
        await type(page, "echo fr''ee")
        await shows(page, "free")

        // A user who leaves the page leaves nothing running.
        await type(page, "sleep 98766")
        const lines = async (): Promise<string> => JSON.stringify((await send("GET", "/processes")).json.processes)
        while (!(await lines()).includes("98766"));
        await page.getByRole("link", { name: "Life" }).click()
        while ((await lines()) !== "[]");
      })
    )
  })
})
