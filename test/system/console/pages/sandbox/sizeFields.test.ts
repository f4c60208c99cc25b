/** The sizes of a Sandbox, as a person changes them in a real Chromium. */
import { assert, layer } from "@effect/vitest"
import { noChromium } from "../../../../support/console/pages/TestBrowser.ts"
import { asOwner } from "../../../../support/console/pages/visits.ts"
import { TestApi } from "../../../../support/http/TestApi.ts"

const MiB = 1024 ** 2

const settings = {
  ATOLL_SANDBOX_VCPUS: "1",
  ATOLL_SANDBOX_VCPUS_MAX: "2",
  ATOLL_SANDBOX_MEMORY_BYTES: String(512 * MiB),
  ATOLL_SANDBOX_MEMORY_BYTES_MAX: String(1024 * MiB),
  ATOLL_VOLUME_BYTES: String(1024 * MiB),
  ATOLL_VOLUME_BYTES_MAX: String(2048 * MiB)
}

layer(TestApi.layer(settings), { excludeTestServices: true })("sizes in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "are changed with the rest of a Sandbox, alone where they differ; each refusal stands at its field",
    () =>
      asOwner(async ({ page }, api) => {
        const id = await api.newSandbox(await api.newWorkspace())
        const profile = async () => (await api.send("GET", `/api/v2/sandboxes/${id}`)).json.sandbox.profile
        await page.goto(`/console/sandboxes/${id}`)
        await page.getByRole("button", { name: "Change this Sandbox" }).click()
        const dialog = page.getByRole("dialog")
        const [vcpus, memory, disk] = ["vCPUs", "Memory, MiB", "Disk, MiB"].map((name) => dialog.getByLabel(name))
        const save = dialog.getByRole("button", { name: "Save" })
        const mistakes = () => dialog.locator(".mistake").allInnerTexts()
        assert.deepStrictEqual(
          [await vcpus!.inputValue(), await memory!.inputValue(), await disk!.inputValue()],
          ["1", "512", "1024"]
        )
        await vcpus!.fill("half")
        await disk!.fill("512")
        await save.click()
        await dialog.getByText("write a number such as 0.5").waitFor()
        await vcpus!.fill("")
        await save.click()
        await dialog.getByText("A volume never shrinks: this one has 1024 MiB.").waitFor()
        // The service knows the bounds.
        await vcpus!.fill("3")
        await memory!.fill("2048")
        await disk!.fill("1024")
        await save.click()
        await dialog.getByText("Must be from 0.1 to 2 on this server.").waitFor()
        assert.strictEqual((await mistakes()).length, 2)
        assert.match((await mistakes())[1]!, /to 1024 MiB\) on this server/)
        assert.deepStrictEqual(await profile(), { vcpus: 1, memoryBytes: 512 * MiB, diskBytes: 1024 * MiB })
        await vcpus!.fill("1.5")
        await memory!.fill("")
        await disk!.fill("1536")
        // Another person changes the memory meanwhile: an empty field keeps it.
        await api.send("PATCH", `/api/v2/sandboxes/${id}`, { body: { profile: { memoryBytes: 768 * MiB } } })
        await save.click()
        await dialog.waitFor({ state: "detached" })
        assert.deepStrictEqual(await profile(), { vcpus: 1.5, memoryBytes: 768 * MiB, diskBytes: 1536 * MiB })
        await page.getByText("1.5 vCPU").waitFor()
      })
  )
})
