/** A real Chromium that looks at the console of a test's own service, and notes all that its policy refuses. */
import { existsSync } from "node:fs"
import { Effect, type Scope } from "effect"
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"

/** Without windows where there is one: it needs a quarter less of the processors. */
const programs = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser"]
export const chromiumProgram = programs.find((path) => existsSync(path))

/** Null: it can be had. */
export const noChromium: string | null =
  chromiumProgram === undefined ? "Chromium is not installed (Debian package chromium-headless-shell)" : null

/** What no page of the console may do. */
export interface Complaints {
  /** By the Content-Security-Policy, exceptions of scripts, and errors on the browser's console. */
  readonly texts: Array<string>
  /** Requests to anybody but the service. */
  readonly elsewhere: Array<string>
}

export interface Visit {
  readonly page: Page
  readonly context: BrowserContext
  readonly complaints: Complaints
}

const launch = () =>
  chromium.launch({
    executablePath: chromiumProgram!,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
  })

/** One for all tests of a process, for its start takes longer than most of them look at a page. It ends with the process. */
let browser: Promise<Browser> | null = null

const ofProcess = Effect.promise(async () => {
  if (browser !== null && !(await browser).isConnected()) browser = null
  browser ??= launch()
  return await browser
})

/** Of a bench, which is no file of tests. */
const ofScope = Effect.acquireRelease(Effect.promise(launch), (own) => Effect.promise(() => own.close()))

const isTest = process.env["VITEST"] !== undefined
const launched: Effect.Effect<Browser, never, Scope.Scope> = isTest ? ofProcess : ofScope

/** A profile of its own, with an empty page. All of its pages are watched. */
const watched = async (context: BrowserContext, origin: string): Promise<Visit> => {
  context.setDefaultTimeout(90_000)
  const complaints: Complaints = { texts: [], elsewhere: [] }
  context.on("page", (page) => {
    page.on("pageerror", (error) => complaints.texts.push(error.message))
    page.on("console", (message) => {
      // Refused requests are told as errors, too: those are the page's to show.
      if (message.type() === "error" && !/^(?:Failed to load resource|WebSocket connection to)/.test(message.text())) {
        complaints.texts.push(message.text())
      }
    })
    page.on("dialog", (dialog) => {
      complaints.texts.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on("request", (request) => {
      if (!request.url().startsWith(`${origin}/`)) complaints.elsewhere.push(request.url())
    })
  })
  await context.addInitScript(
    `document.addEventListener("securitypolicyviolation", (event) =>
       console.error("policy: " + event.violatedDirective + " " + event.blockedURI))`
  )
  return { page: await context.newPage(), context, complaints }
}

/** Opens profiles of their own, each of which ends with the scope. */
export const testBrowser = Effect.map(launched, (browser) => ({
  open: (origin: string, options: BrowserContextOptions = {}) =>
    Effect.acquireRelease(
      Effect.promise(() => browser.newContext({ baseURL: origin, ...options })),
      (context) => Effect.promise(() => context.close())
    ).pipe(Effect.flatMap((context) => Effect.promise(() => watched(context, origin))))
}))
