/**
 * `npm run shots`: pictures of the console's pages, written to `docs/console/`. Starts a separate Atoll (embedded
 * Postgres, namespace runtime) on a new folder, runs a small life in it (`shots/life.ts`), and views it with Chromium.
 * Some six minutes. `npm run shots -- images keys` takes only these, and leaves the others as they are.
 */
import { execFile } from "node:child_process"
import { mkdirSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core"
import { chromiumProgram, noChromium } from "../test/support/console/pages/TestBrowser.ts"
import { ServiceProcess } from "../test/support/crash/ServiceProcess.ts"
import { live } from "./shots/life.ts"
import { operatorPictures, type Picture, picturesOf } from "./shots/pictures.ts"

const root = join(import.meta.dirname, "..")
const folder = join(root, "docs/console")
const person = {
  email: "ada@example.org",
  accountName: "Analytical Engines",
  passphrase: "weaves algebraical patterns"
}

const environment = {
  ATOLL_SANDBOX_MEMORY_BYTES: String(256 * 2 ** 20),
  ATOLL_TELEMETRY_INTERVAL_MS: "5000"
}

/** Of none: all. */
const asked = new Set(process.argv.slice(2))
const isAsked = (name: string): boolean => asked.size === 0 || asked.has(name)

const taken = new Set<string>()

const shoot = async (page: Page, name: string) => {
  if (!isAsked(name)) return
  // A text cursor blinks, and a hovered element is highlighted.
  await page.mouse.move(0, 0)
  await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled", caret: "hide" })
  taken.add(`${name}.png`)
}

const atRest = async (page: Page) => {
  await page.getByRole("heading", { level: 1 }).waitFor()
  await page.waitForFunction(() => {
    const { document } = globalThis as unknown as { document: { querySelector: (selector: string) => unknown } }
    return document.querySelector('[aria-busy="true"], .waiting') === null
  })
}

/** An invitation becomes an account and a key, in the page. Returns the key's secret. */
const enter = async (page: Page, code: string): Promise<string> => {
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.goto(`/console/#invitation=${code}`)
  await page.getByLabel("E-mail").fill(person.email)
  await page.getByLabel("Account name").fill(person.accountName)
  await page.getByLabel("Passphrase").fill(person.passphrase)
  await shoot(page, "registration")
  await page.getByRole("button", { name: "Create account" }).click()
  await page.getByRole("link", { name: "Keys" }).click()
  await page.getByRole("button", { name: "Create" }).click()
  await page.getByLabel("Name", { exact: true }).fill("laptop")
  await page.getByRole("button", { name: "Create the key" }).click()
  const secret = (await page.locator(".secret").textContent())!
  await atRest(page)
  await shoot(page, "secret")
  await page.getByRole("button", { name: "I have saved it" }).click()
  return secret
}

const take = async (page: Page, { name, path, colorScheme, width = 1280, height = 860, ready }: Picture) => {
  await page.setViewportSize({ width, height })
  await page.emulateMedia({ colorScheme: colorScheme ?? "light" })
  await page.goto(`/console${path}`)
  await atRest(page)
  await ready?.(page)
  await atRest(page)
  await shoot(page, name)
  console.log(`docs/console/${name}.png`)
}

/** Fails for a part of the page that has no picture yet. */
const assertComplete = async (page: Page, sandboxId: string, pictures: ReadonlyArray<Picture>) => {
  await page.goto(`/console/sandboxes/${sandboxId}`)
  await atRest(page)
  const links = await page.getByRole("navigation").getByRole("link").all()
  const paths = await Promise.all(
    links.map(async (link) => (await link.getAttribute("href"))!.slice("/console".length))
  )
  const missing = paths.filter((path) => !pictures.some((picture) => picture.path.startsWith(path)))
  if (missing.length > 0) throw new Error(`scripts/shots/pictures.ts has no picture of ${missing.join(", ")}`)
}

const opened = async (browser: Browser, port: number): Promise<BrowserContext> => {
  const context = await browser.newContext({
    baseURL: `http://127.0.0.1:${port}`,
    reducedMotion: "reduce",
    locale: "en-US",
    timezoneId: "UTC"
  })
  context.setDefaultTimeout(30_000)
  return context
}

if (noChromium !== null) throw new Error(`No pictures can be taken: ${noChromium}.`)

const service = await ServiceProcess.make(environment)
/** Null: there is no account yet. */
let secret: string | null = null

/** After a failure, too: a Sandbox outlives its service. */
const empty = async () => {
  if (secret === null) return
  for (const { id } of (await service.ask("GET", "/sandboxes", undefined, undefined, secret)).body.sandboxes) {
    await service.ask("DELETE", `/sandboxes/${id}`, undefined, undefined, secret)
  }
}

/** The document that the command line prints. */
const atoll = async (...words: ReadonlyArray<string>) => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, "src/cli/main.ts"), ...words, "--json"], {
    env: { PATH: process.env["PATH"], ATOLL_DATA_DIR: service.dataDir }
  })
  return JSON.parse(stdout)
}

/** Other accounts, and the operator's page beside them. */
const operate = async (page: Page) => {
  await atoll("accounts", "create", "--name", "Difference Engines", "--billing", "prepaid", "--credit-usd", "250")
  await atoll("accounts", "create", "--name", "Jacquard & Sons", "--email", "looms@example.org")
  await atoll("accounts", "suspend", "Jacquard & Sons")
  const { link } = await atoll("operator", "link")
  await page.goto(new URL(link).pathname + new URL(link).hash)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { level: 1, name: "Accounts" }).waitFor()
  for (const picture of operatorPictures.filter(({ name }) => isAsked(name))) await take(page, picture)
}

const browser = await chromium.launch({
  executablePath: chromiumProgram!,
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--font-render-hinting=none"]
})
try {
  mkdirSync(folder, { recursive: true })
  await service.start()
  const { link } = await atoll("invitations", "create")
  const context = await opened(browser, service.port)
  const page = await context.newPage()
  secret = await enter(page, link.slice(link.indexOf("=") + 1))
  const life = await live(service, secret, isAsked("resources"))
  const pictures = picturesOf(life)
  for (const picture of pictures.filter(({ name }) => isAsked(name))) await take(page, picture)
  await assertComplete(page, life.sandboxId, pictures)
  if (operatorPictures.some(({ name }) => isAsked(name))) await operate(page)
  const missing = [...asked].filter((name) => !taken.has(`${name}.png`))
  if (missing.length > 0) throw new Error(`There is no picture ${missing.join(", ")}`)
  if (asked.size === 0) for (const name of readdirSync(folder)) if (!taken.has(name)) rmSync(join(folder, name))
} finally {
  await browser.close()
  await empty()
  await service.stop()
  service.remove()
}
