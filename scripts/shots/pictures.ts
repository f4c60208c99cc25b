/** The pictures of the console: the place of each, and what must be visible before it is taken. */
import type { Page } from "playwright-core"
import type { Life } from "./life.ts"

export interface Picture {
  /** Of its file in `docs/console/`. */
  readonly name: string
  /** Below /console. */
  readonly path: string
  readonly colorScheme?: "dark"
  /** Pixels; by default 1280 by 860. */
  readonly width?: number
  readonly height?: number
  /** Once the page's panes are loaded. */
  readonly ready?: (page: Page) => Promise<unknown>
}

const text = (words: string) => (page: Page) => page.getByText(words).first().waitFor()

const withBuildOutput = async (page: Page) => {
  await page.locator('[data-image] [data-status="ready"]').nth(1).waitFor()
  await page.getByRole("button", { name: "Output of web server" }).click()
  await text("compiling server")(page)
  await page.locator('[data-output="whole"]').waitFor()
}

/** As the operator sees them. */
export const operatorPictures: ReadonlyArray<Picture> = [
  {
    name: "operator",
    path: "/operator",
    ready: async (page) => {
      await page.getByRole("button", { name: "Details of Analytical Engines" }).click()
      await text("Credit runs out")(page)
    }
  },
  {
    name: "backups",
    path: "/operator",
    ready: async (page) => {
      await page.getByRole("button", { name: "Backups" }).click()
      await page.getByRole("button", { name: "Back up now" }).click()
      await page.getByRole("button", { name: "Start the backup" }).click()
      await page.getByRole("button", { name: "Close" }).click()
      await text("and was verified")(page)
    }
  }
]

/** As a signed-in user sees it. */
export const picturesOf = ({ sandboxId, operations }: Life): ReadonlyArray<Picture> => {
  const sandbox = `/sandboxes/${sandboxId}`
  const life = async (page: Page) => {
    await text("equals what the service stores")(page)
    await page.locator(".state.current").waitFor()
  }
  return [
    { name: "sandboxes", path: "/", ready: text("training run") },
    { name: "sandbox", path: sandbox, height: 1400, ready: life },
    { name: "sandbox-dark", path: sandbox, colorScheme: "dark", height: 1400, ready: life },
    {
      name: "timeline",
      path: sandbox,
      ready: async (page) => {
        await life(page)
        await text("What happened when")(page)
        const timeline = page.locator(".timeline")
        await timeline.evaluate((shown) => (shown as unknown as { scrollIntoView: () => void }).scrollIntoView())
      }
    },
    {
      name: "change",
      path: sandbox,
      height: 1000,
      ready: async (page) => {
        await life(page)
        await page.getByRole("button", { name: "Change this Sandbox" }).click()
        await text("A name alone keeps its value")(page)
      }
    },
    { name: "sandbox-narrow", path: sandbox, width: 390, height: 844, ready: life },
    { name: "commands", path: `${sandbox}/commands`, height: 1180, ready: text("python3 train.py") },
    { name: "logs", path: `${sandbox}/logs`, height: 1180, ready: text("saved weights.bin") },
    { name: "files", path: `${sandbox}/files`, height: 1000, ready: text("train.py") },
    {
      name: "file",
      path: `${sandbox}/files?path=/workspace/train.py&edit=1`,
      height: 1060,
      ready: (page) => page.getByRole("textbox").first().waitFor()
    },
    {
      name: "terminal",
      path: `${sandbox}/terminal`,
      height: 1000,
      colorScheme: "dark",
      ready: async (page) => {
        const shows = (words: string) => page.locator(".xterm-rows > div").filter({ hasText: words }).first().waitFor()
        await shows("$")
        await page.getByLabel("Terminal input").focus()
        for (const [line, answer] of [
          ["ls -l --color", "weights.bin"],
          ["tail -n 3 data.csv", "39,1521"],
          ["python3 -c 'print(6 * 7)'", "42"]
        ] as const) {
          await page.keyboard.type(`${line}\n`)
          await shows(answer)
        }
      }
    },
    {
      name: "preview",
      path: `${sandbox}/previews`,
      height: 1000,
      // Beside the preview that the life opened.
      ready: async (page) => {
        await page.getByLabel("Port in the Sandbox").fill("3000")
        await page.getByRole("button", { name: "Open a preview" }).click()
        await text("Keep this address like a password")(page)
      }
    },
    { name: "snapshots", path: `${sandbox}/snapshots`, ready: text("before the second run") },
    {
      name: "resources",
      path: `${sandbox}/resources`,
      height: 1180,
      ready: async (page) => {
        await page.getByLabel("Window").selectOption("all")
        await text("Ran")(page)
        await page.locator("canvas").first().waitFor()
      }
    },
    { name: "cost", path: `${sandbox}/cost`, height: 1180, ready: text("Cost") },
    {
      name: "operation",
      path: `${sandbox}/operations/${operations.completed}`,
      height: 1900,
      ready: async (page) => {
        await text("saved weights.bin")(page)
        await life(page)
      }
    },
    { name: "all-snapshots", path: "/snapshots", ready: text("before the second run") },
    { name: "images", path: "/images", height: 1060, ready: withBuildOutput },
    { name: "workspaces", path: "/workspaces", ready: text("research") },
    {
      name: "machines",
      path: "/machines/operation",
      height: 1180,
      ready: (page) => page.locator(".state.current").waitFor()
    },
    { name: "keys", path: "/keys", ready: text("laptop") },
    { name: "usage", path: "/usage", height: 1180, ready: text("Credit runs out") },
    { name: "audit", path: "/audit", ready: text("startOperation") },
    { name: "account", path: "/account", ready: text("Sessions") }
  ]
}
