/** What must hold in every dialog of the console. */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { violations } from "./axe.ts"

const pages = join(import.meta.dirname, "../../../../src/console/pages")

/** How many places of the pages open one: of the operator's, or of all others. */
export const dialogsInSource = async (whose: "operator" | "others"): Promise<number> => {
  const isOperators = (file: string) => file.startsWith("operator/")
  const files = (await readdir(pages, { recursive: true })).filter(
    (file) => file.endsWith(".tsx") && isOperators(file) === (whose === "operator")
  )
  const texts = await Promise.all(files.map((file) => readFile(join(pages, file), "utf8")))
  return texts.reduce((sum, text) => sum + text.split("<Dialog ").length - 1, 0)
}

/** What axe-core finds in the one that is open, dark and narrow, light and wide, and where it is too wide. It is left light and wide. */
export const dialogFaults = async (page: Page): Promise<ReadonlyArray<string>> => {
  const dialog = page.getByRole("dialog")
  await dialog.waitFor()
  const found: Array<string> = []
  for (const [colorScheme, width] of [
    ["dark", 360],
    ["light", 1280]
  ] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    await page.setViewportSize({ width, height: 800 })
    found.push(...(await violations(page, { within: "dialog" })).map((text) => `${colorScheme}: ${text}`))
    const over = await dialog.evaluate((shown) => {
      const { scrollWidth, clientWidth } = shown as unknown as { scrollWidth: number; clientWidth: number }
      return scrollWidth - clientWidth
    })
    if (over > 0) found.push(`${over} px wider than ${width} px`)
  }
  return found
}
