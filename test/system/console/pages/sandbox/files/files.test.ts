/** The files of a real Sandbox in a real Chromium, as people work with them. */
import { createHash, randomBytes } from "node:crypto"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import type { Page } from "playwright-core"
import { describe } from "vitest"
import { focusOnceShown } from "../../../../../support/console/pages/focus.ts"
import {
  assertSound,
  type ServedVisit,
  served,
  servedVisit,
  unvisitable
} from "../../../../../support/console/pages/sandbox/servedVisit.ts"

import { Work } from "../../../../../support/console/pages/Work.ts"
import { skipped } from "../../../../../support/host/namespace/TestHost.ts"
import { untilFound } from "../../../../../support/until.ts"

const MiB = 1024 ** 2

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex")

const goTo = (page: Page, sandboxId: string, path: string) =>
  page.goto(`/console/sandboxes/${sandboxId}/files?path=${encodeURIComponent(path)}`)

const content = (path: string) => `/files/content?path=${encodeURIComponent(path)}`

const row = (page: Page, name: string) =>
  page.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) })

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

/** Presses a button that opens a dialog, fills what is asked in it, and waits until it is gone. */
const answer = async (page: Page, asking: string, fields: Readonly<Record<string, string>>, done: string) => {
  await button(page, asking).click()
  const dialog = page.getByRole("dialog")
  for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label).fill(text)
  await dialog.getByRole("button", { name: done, exact: true }).click()
  await dialog.waitFor({ state: "detached" })
}

const textField = (page: Page) => page.locator("textarea")

/** All at once: typed as `fill` does it, a long text takes the browser a minute. */
const paste = (page: Page, text: string) =>
  textField(page).evaluate((field, text) => {
    // biome-ignore lint/suspicious/noExplicitAny: these are the browser's
    const { Event } = globalThis as any
    Object.assign(field, { value: text })
    // biome-ignore lint/suspicious/noExplicitAny: as above
    ;(field as any).dispatchEvent(new Event("input", { bubbles: true }))
  }, text)

const save = (page: Page) => button(page, "Save").click()

const fileIn = ({ send }: ServedVisit, path: string): Promise<string> =>
  send("GET", content(path)).then(({ text }) => text)

/**
 * What the service answers for a directory of 100,000 entries, made in the page until it is loaded again: through the browser's debugger it
 * would take longer than all else. Backwards, as a file system may have them.
 */
const manyEntries = `{
  const most = 100_000
  const entryOf = (index) => ({
    name: "row " + String(index).padStart(6, "0"),
    type: "file",
    sizeBytes: index,
    mode: "0644",
    modifiedAt: "2026-01-01T00:00:00.000Z"
  })
  const ask = globalThis.fetch
  globalThis.fetch = async (address, init) => {
    const { pathname, searchParams } = new URL(address, location.href)
    if (!pathname.endsWith("/files/list")) return ask(address, init)
    const from = Number(searchParams.get("cursor") ?? 0)
    const until = Math.min(most, from + Number(searchParams.get("pageSize")))
    const entries = Array.from({ length: until - from }, (_, at) => entryOf(most - 1 - from - at))
    return Response.json({ path: "/workspace/many", entries, nextCursor: until < most ? String(until) : null })
  }
}`

/** While all rows pass by. */
const assertSmooth = async (page: Page) =>
  (await Work.of(page)).assertShort("of scrolling through 100,000 rows", async (step) => {
    for (let part = 0; part <= 30; part++) {
      await step(() =>
        page.evaluate(
          `{ const view = document.querySelector(".windowed"); view.scrollTop = (view.scrollHeight * ${part}) / 30 }`
        )
      )
    }
  })

const drop = async (page: Page, name: string, text: string) => {
  const dataTransfer = await page.evaluateHandle(
    ([name, text]) => {
      // biome-ignore lint/suspicious/noExplicitAny: these are the browser's
      const { DataTransfer, File } = globalThis as any
      const dropped = new DataTransfer()
      dropped.items.add(new File([text], name))
      return dropped
    },
    [name, text]
  )
  await page.dispatchEvent(".directory", "drop", { dataTransfer })
}

/** They are made, edited, and never written over unasked. */
const madeAndEdited = async (visit: ServedVisit) => {
  const { page, sandboxId, send } = visit
  await page.goto(`/console/sandboxes/${sandboxId}`)
  await page.getByRole("link", { name: "Files" }).click()
  await page.getByText("This folder is empty.").waitFor()
  await answer(page, "New folder", { Name: "src" }, "Make it")
  await page.getByRole("link", { name: "src" }).click()
  await page.getByText("This folder is empty.").waitFor()
  assert.strictEqual(new URL(page.url()).search, "?path=%2Fworkspace%2Fsrc")
  await page.goBack()
  await row(page, "src").waitFor()
  await page.goForward()
  await page.getByText("This folder is empty.").waitFor()

  await answer(page, "New file", { Name: "a.txt" }, "Make it")
  const path = "/workspace/src/a.txt"
  await textField(page).fill("one\ntwo\n")
  await textField(page).press("Control+s")
  await page.getByText("Saved.").waitFor()
  assert.strictEqual(await fileIn(visit, path), "one\ntwo\n")
  assert.strictEqual(await page.locator(".file-text").textContent(), "one\ntwo\n")

  // Somebody else's change is found, kept, and taken over.
  await button(page, "Edit").click()
  await textField(page).fill("one\nmine\n")
  await send("PUT", content(path), Buffer.from("one\r\ntheirs\r\n"))
  await save(page)
  await page.getByText("This file has changed since").waitFor()
  assert.strictEqual(await fileIn(visit, path), "one\r\ntheirs\r\n")
  await assertSound(page, "a conflict")
  await button(page, "Discard my changes").click()
  await page.getByText("Its lines end with CR LF").waitFor()
  assert.strictEqual(await textField(page).inputValue(), "one\ntheirs\n")

  // What is not saved is still there after a look at something else.
  await textField(page).fill("one\nmine again\n")
  await page.getByRole("link", { name: "Previews" }).click()
  await page.getByRole("heading", { name: "Previews" }).waitFor()
  await page.goBack()
  await page.getByText("These are your unsaved changes").waitFor()
  assert.strictEqual(await textField(page).inputValue(), "one\nmine again\n")
  await save(page)
  await page.getByText("Saved.").waitFor()
  assert.strictEqual(await fileIn(visit, path), "one\r\nmine again\r\n")

  await button(page, "Edit").click()
  await textField(page).fill("overwritten\n")
  await send("PUT", content(path), Buffer.from("other\n"))
  await save(page)
  await button(page, "Overwrite the file").click()
  await page.getByText("Saved.").waitFor()
  assert.strictEqual(await fileIn(visit, path), "overwritten\r\n")

  // What fits no edit is guarded, too.
  const large = "a line of many\n".repeat(15_000)
  await button(page, "Edit").click()
  await paste(page, large)
  await send("PUT", content(path), Buffer.from("other\n"))
  await save(page)
  await page.getByText("This file has changed since").waitFor()
  await button(page, "Discard my changes").click()
  await untilFound(async () => (await textField(page).inputValue()) === "other\n")
  await paste(page, large)
  await save(page)
  await page.getByText("Saved.").waitFor()
  assert.strictEqual(await fileIn(visit, path), large)
  await button(page, "Edit").click()
  await textField(page).fill("written again\n")
  await send("DELETE", `/files?path=${path}`)
  await save(page)
  await page.getByText("This file was deleted").waitFor()
  await button(page, "Create it again").click()
  await page.getByText("Saved.").waitFor()

  // An answer that was lost: it is found out what became of the change.
  await button(page, "Edit").click()
  await textField(page).fill("lost answer\n")
  await page.route(`**${content("")}*`, async (route) => {
    if (route.request().method() !== "PATCH") return route.continue()
    await route.fetch()
    await route.abort()
  })
  await save(page)
  await page.getByText("Saved.").waitFor()
  await page.unroute(`**${content("")}*`)
  assert.strictEqual(await fileIn(visit, path), "lost answer\n")
}

/** They are uploaded, downloaded whole, renamed and removed. */
const carried = async (visit: ServedVisit) => {
  const { page, sandboxId, send, shell } = visit
  await shell("mkdir d")
  await goTo(page, sandboxId, "/workspace/d")
  await page.getByText("This folder is empty.").waitFor()
  // From the disk: bytes would go through the browser's own debugger.
  const folder = await mkdtemp(join(tmpdir(), "atoll-upload-"))
  const large = randomBytes(17 * MiB)
  await writeFile(join(folder, "large.bin"), large)
  await writeFile(join(folder, "small.txt"), "small")
  const chosen = page.getByLabel("Files to upload")
  await chosen.setInputFiles([join(folder, "small.txt"), join(folder, "large.bin")])
  await page.getByText("2 of 2 files uploaded").waitFor()
  await rm(folder, { recursive: true })
  assert.strictEqual((await shell("sha256sum d/large.bin")).slice(0, 64), sha256(large))
  assert.strictEqual(await shell("ls -A"), "d\nsrc\n", "pieces are left behind")

  const [download] = await Promise.all([page.waitForEvent("download"), button(page, "Download large.bin").click()])
  assert.strictEqual(download.suggestedFilename(), "large.bin")
  assert.strictEqual(sha256(await readFile(await download.path())), sha256(large))

  // What is there is replaced only when somebody says so.
  await chosen.setInputFiles({ name: "small.txt", mimeType: "text/plain", buffer: Buffer.from("another") })
  await page.getByText("A file with this name already exists.").waitFor()
  assert.strictEqual(await fileIn(visit, "/workspace/d/small.txt"), "small")
  await assertSound(page, "uploads")
  await button(page, "Replace small.txt").click()
  await page.getByText("3 of 3 files uploaded").waitFor()
  assert.strictEqual(await fileIn(visit, "/workspace/d/small.txt"), "another")

  await drop(page, "dropped.txt", "dropped")
  await page.getByText("4 of 4 files uploaded").waitFor()
  await row(page, "dropped.txt").waitFor()
  assert.strictEqual(await fileIn(visit, "/workspace/d/dropped.txt"), "dropped")

  await answer(page, "Rename dropped.txt", { Name: "moved.txt", "In the folder": "/workspace" }, "Rename")
  await row(page, "dropped.txt").waitFor({ state: "detached" })
  assert.strictEqual(await fileIn(visit, "/workspace/moved.txt"), "dropped")
  await button(page, "Rename small.txt").click()
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("Name").fill("large.bin")
  await dialog.getByRole("button", { name: "Rename", exact: true }).click()
  await dialog.getByText("DESTINATION_EXISTS").waitFor()
  await dialog.getByLabel("Replace what is there").check()
  await dialog.getByRole("button", { name: "Rename", exact: true }).click()
  await dialog.waitFor({ state: "detached" })
  assert.strictEqual(await fileIn(visit, "/workspace/d/large.bin"), "another")

  const focus = await focusOnceShown(page, ".way li:only-child > [aria-current]", ".way [aria-current]")
  await page.getByRole("navigation", { name: "Folders" }).getByRole("link", { name: "workspace" }).click()
  assert.isTrue(await focus(), "the folder has the focus as it is shown")
  await answer(page, "Remove d", {}, "Remove")
  await row(page, "d").waitFor({ state: "detached" })
  assert.strictEqual((await send("GET", "/files/stat?path=/workspace/d")).status, 404)
}

/** Whatever they are called and hold is only shown, each for itself, and can be worked with. */
const hostile = async (visit: ServedVisit) => {
  const { page, sandboxId, send, shell } = visit
  const names: ReadonlyArray<readonly [name: string, shown: string]> = [
    ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
    ["line\nbreak", "line\\nbreak"],
    ["\u202egpj.exe", "\\u{202e}gpj.exe"],
    ["\u001b]0;title\u0007", "\\e]0;title\\x07"],
    ["-rf", "-rf"],
    [" ", "\\x20"],
    ["zero\u200bwidth", "zero\\u{200b}width"],
    ["?path=x#y&z%2e", "?path=x#y&z%2e"],
    ["n".repeat(255), "n".repeat(255)]
  ]
  for (const [name] of names) await send("PUT", content(`/workspace/${name}`), Buffer.from(`in ${name}`))
  await shell(`printf bytes > "$(printf 'latin\\351')"`)
  await goTo(page, sandboxId, "/workspace")
  const all = [...names.map(([, shown]) => shown), "latin\\xe9"]
  await row(page, "latin\\xe9").waitFor()
  const found = await page.locator(".file-cell .file-name").allTextContents()
  assert.sameMembers(found, all)
  assert.strictEqual(await page.locator("img, script:not([type=module])").count(), 0)
  await assertSound(page, "a folder")
  for (const [name, shown] of names) {
    await page.getByRole("link", { name: shown, exact: true }).click()
    await page.locator(".file-text").waitFor()
    const text = (await page.locator(".file-text").textContent())!
    assert.isTrue(text.startsWith("in "), name)
    assert.strictEqual(new URL(page.url()).searchParams.get("path"), `/workspace/${name}`)
    await page.goBack()
  }
  // What the field for a name cannot hold stays, where the name was not touched.
  await answer(page, "Rename latin\\xe9", { Name: "readable" }, "Rename")
  await row(page, "readable").waitFor()
  await shell("mkdir to")
  await answer(page, "Rename line\\nbreak", { "In the folder": "/workspace/to" }, "Rename")
  await row(page, "line\\nbreak").waitFor({ state: "detached" })
  assert.strictEqual(await fileIn(visit, "/workspace/to/line\nbreak"), "in line\nbreak")
  await answer(page, "Remove -rf", {}, "Remove")
  await row(page, "-rf").waitFor({ state: "detached" })
  await untilFound(async () => (await page.evaluate("document.activeElement.className")) === "directory")

  const text = "<script>alert(1)</script>\u202etxt\n"
  await send("PUT", content("/workspace/text"), Buffer.from(text.repeat(20_000)))
  await goTo(page, sandboxId, "/workspace/text")
  await page.getByText("are written out").waitFor()
  const shown = async () => (await page.locator(".file-text").textContent())!
  const whole = text.repeat(20_000).replaceAll("\u202e", "‹U+202E›")
  assert.isTrue(whole.startsWith(await shown()))
  await page.getByText("256 KiB of").waitFor()
  await assertSound(page, "a text")
  await button(page, "Show more").click()
  await page.getByText("512 KiB of").waitFor()
  await button(page, "Show more").click()
  await page.locator(".file-rest").waitFor({ state: "detached" })
  assert.strictEqual(await shown(), whole)

  const picture = await page.screenshot()
  await send("PUT", content("/workspace/picture"), picture)
  await goTo(page, sandboxId, "/workspace/picture")
  await page.locator('canvas[width="1400"][height="900"]').waitFor()
  await send("PUT", content("/workspace/bytes"), Buffer.from([0, 255, 60, 98, 62]))
  await goTo(page, sandboxId, "/workspace/bytes")
  await page.getByText("This is not text, but 5 bytes").waitFor()
  assert.include(await shown(), "00 ff 3c 62 3e")
  await goTo(page, sandboxId, "/etc/passwd")
  await page.getByText("INVALID_PATH").waitFor()
}

/** A folder with 100,000 of them shows all, in order, and stays smooth; none is shown without a machine. */
const many = async ({ page, sandboxId, shell }: ServedVisit) => {
  await shell("mkdir many && cd many && mkdir z && seq -w 1 2500 | xargs touch")
  await goTo(page, sandboxId, "/workspace/many")
  await page.getByText("2,501, as of").waitFor()
  const names = () => page.locator(".file-cell .file-name").allTextContents()
  assert.deepStrictEqual((await names()).slice(0, 3), ["z", "0001", "0002"])

  await page.evaluate(manyEntries)
  await button(page, "Refresh: Files").click()
  await page.getByText("100,000, as of").waitFor()
  await assertSmooth(page)
  await page.getByText("row 099999", { exact: true }).waitFor()
  assert.isBelow(await page.locator(".windowed-body .row").count(), 60)
  await page.evaluate(`document.querySelector(".windowed").scrollTop = 0`)
  await page.getByText("row 000000", { exact: true }).waitFor()
  assert.strictEqual((await names())[0], "row 000000")
  await page.getByLabel("Find here").fill("row 04321")
  await page.getByText("10 of 100,000").waitFor()

  await page.getByRole("button", { name: /^Stop / }).click()
  await page.getByText("Start it to work with its files.").waitFor()
  await page.reload()
  await page.getByText("Start it to work with its files.").waitFor()
  assert.strictEqual(await page.getByRole("alert").count(), 0)
  await button(page, "Start").click()
  await page.getByText("2,501, as of").waitFor()
  await page.getByRole("link", { name: "Previews" }).click()
  await page.getByText("has no network").waitFor()
}

describe.skipIf(skipped(unvisitable))("files in the console", () => {
  layer(served, { excludeTestServices: true, timeout: 240_000 })((it) => {
    it.effect("are made, edited with a guard, uploaded, downloaded, renamed and removed", () =>
      servedVisit(async (visit) => {
        await madeAndEdited(visit)
        await carried(visit)
      })
    )

    it.effect("are shown for what they are, whatever they are called, hold, and however many they are", () =>
      servedVisit(async (visit) => {
        await hostile(visit)
        await many(visit)
      })
    )
  })
})
