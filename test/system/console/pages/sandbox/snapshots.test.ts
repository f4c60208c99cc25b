/** Snapshots, forks and lineage in the console, in a real Chromium. */
import { assert, layer } from "@effect/vitest"
import type { Page } from "playwright-core"
import { violations } from "../../../../support/console/pages/axe.ts"
import { noChromium } from "../../../../support/console/pages/TestBrowser.ts"
import { asOwner, atRest, goTo, heading, tooWide } from "../../../../support/console/pages/visits.ts"
import { TestApi } from "../../../../support/http/TestApi.ts"
import { untilSeen } from "../../../../support/until.ts"

const settings = { ATOLL_SANDBOXES_PER_ACCOUNT: "3", ATOLL_VOLUME_BYTES: "1048576" }

const assertAccessible = async (page: Page, where: string) => {
  assert.deepStrictEqual(await violations(page), [], where)
  const size = page.viewportSize()!
  await page.setViewportSize({ width: 360, height: 700 })
  assert.isAtMost(await tooWide(page), 0, `${where} is wider than a narrow screen`)
  await page.setViewportSize(size)
}

layer(TestApi.layer(settings), { excludeTestServices: true })("snapshots in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "are taken, listed live, made into Sandboxes and deleted; a fork names what was refused; the lineage shows both",
    () =>
      asOwner(async ({ page }, api) => {
        const source = await api.newSandbox(await api.newWorkspace())
        const path = `/api/v2/sandboxes/${source}`
        await page.goto(`/console/sandboxes/${source}/snapshots`)
        await page.getByText("There are no snapshots of this Sandbox.").waitFor()
        await page.getByText("It comes from no other Sandbox").waitFor()
        await page.getByRole("button", { name: "Take a snapshot" }).click()
        const dialog = page.getByRole("dialog")
        await dialog.getByText("Only a virtual machine's memory can be kept").waitFor()
        await dialog.getByLabel("Name").fill("before")
        await dialog.getByLabel("Delete after").fill("soon")
        await dialog.getByRole("button", { name: "Take" }).click()
        await dialog.getByText("“soon” is not a time").waitFor()
        await dialog.getByLabel("Delete after").fill("7 d")
        await dialog.getByRole("button", { name: "Take" }).click()
        const row = page.locator("[data-snapshot]").filter({ hasText: "before" })
        await row.locator('[data-status="ready"]').waitFor()
        assert.match((await row.textContent()) ?? "", /4 MiB of 4 MiB/)
        await atRest(page)
        await assertAccessible(page, "the part of a Sandbox")

        await page.getByRole("button", { name: "Fork" }).click()
        await dialog.getByLabel("Copies").fill("0")
        await dialog.getByRole("button", { name: "Fork" }).click()
        await dialog.getByText("A number from 1 to 100.").waitFor()
        await dialog.getByLabel("Copies").fill("3")
        await dialog.getByRole("button", { name: "Fork" }).click()
        await dialog.getByText("These copies begin with the files as they were").waitFor()
        assert.strictEqual(await dialog.getByRole("link").count(), 2)
        await dialog.getByText("Copy 3 was refused").waitFor()
        await dialog.getByRole("button", { name: "Close" }).click()
        const lineage = page.getByRole("list", { name: "Lineage" })
        await untilSeen(
          () => lineage.getByRole("listitem").filter({ hasText: "this one" }).getByRole("link").allInnerTexts(),
          (texts) => texts.length === 2 && texts.every((text) => text.startsWith("sbx_"))
        )

        // The machine is simulated; this page takes it for a virtual one.
        await page.route(
          (url) => url.pathname === path,
          async (route) => {
            const answer = await route.fetch()
            const { sandbox } = await answer.json()
            await route.fulfill({ response: answer, json: { sandbox: { ...sandbox, runtime: "vm" } } })
          }
        )
        api.world.keepsMemory = true
        await page.reload()
        await page.getByRole("button", { name: "Take a snapshot" }).click()
        await dialog.getByLabel("Name").fill("awake")
        await dialog.getByLabel("With memory").check()
        await atRest(page)
        await assertAccessible(page, "the dialog of a snapshot with memory")
        await dialog.getByRole("button", { name: "Take" }).click()
        await page.locator("[data-snapshot]").filter({ hasText: "awake" }).locator('[data-status="ready"]').waitFor()
        await page.getByRole("button", { name: "Fork" }).click()
        await dialog.getByLabel("With memory").check()
        await dialog.getByRole("button", { name: "Fork" }).click()
        await dialog.getByText("Copy 1 was refused").waitFor()
        await dialog.getByRole("button", { name: "Close" }).click()
        const { snapshots } = (await api.send("GET", `/api/v2/snapshots?sandboxId=${source}`)).json
        const memories = snapshots.map(({ memory }: { memory: boolean }) => memory)
        assert.deepStrictEqual(memories, [true, true, false, false])
        for (const { id, memory } of snapshots) if (memory) await api.send("DELETE", `/api/v2/snapshots/${id}`)
        api.world.keepsMemory = false
        await page.unrouteAll()

        await page.goto(`/console/sandboxes/${source}/life`)
        const slider = page.getByRole("slider", { name: "Revision" })
        await page.getByText("By the snapshot").waitFor()
        assert.match((await slider.getAttribute("aria-valuetext")) ?? "", /; snapshot before/)
        assert.isAtLeast(await page.locator("datalist option").count(), 2)
        await atRest(page)
        await assertAccessible(page, "the life of a Sandbox with snapshots")
        await page.getByRole("button", { name: "Fork from here" }).click()
        await assertAccessible(page, "the dialog of a fork at a revision")
        await dialog.getByRole("button", { name: "Fork" }).click()
        await dialog.getByText("They begin from revision").waitFor()
        await dialog.getByRole("button", { name: "Close" }).click()
        await page.getByRole("button", { name: "First" }).click()
        await page.getByText("No snapshot that is ready was taken up to here.").waitFor()
        assert.isTrue(await page.getByRole("button", { name: "Fork from here" }).isDisabled())

        await goTo(page, "Snapshots")
        await heading(page, "Snapshots").waitFor()
        await page.getByRole("link", { name: source }).first().waitFor()
        await assertAccessible(page, "all snapshots")
        await page.getByRole("button", { name: "New Sandbox from before" }).click()
        await dialog.getByLabel("Name").fill("restored")
        // Of the three that the account may have, one makes room.
        const [child] = (await api.send("GET", `/api/v2/sandboxes/${source}/lineage`)).json.children
        await api.send("DELETE", `/api/v2/sandboxes/${child.sandboxId}`)
        await dialog.getByRole("button", { name: "Create" }).click()
        await heading(page, "restored").waitFor()
        await page.locator(".page-head .status").getByText("running").waitFor()
        await page.getByRole("link", { name: "Snapshots", exact: true }).last().click()
        await lineage.getByRole("link", { name: source }).waitFor()
        await lineage.getByText("this one").waitFor()

        await goTo(page, "Snapshots")
        await page.getByRole("button", { name: "Delete before" }).click()
        await dialog.getByRole("button", { name: "Delete" }).click()
        await dialog.waitFor({ state: "detached" })
        await row.waitFor({ state: "detached" })
        // One that is taken elsewhere appears by itself.
        const body = { name: "from elsewhere" }
        await api.send("POST", `/api/v2/sandboxes/${source}/snapshots`, { body })
        await page.getByText("from elsewhere").waitFor()
      })
  )
})
