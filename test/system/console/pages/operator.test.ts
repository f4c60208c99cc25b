/** The operator's page in a real Chromium, over a fleet of simulated hosts: what is shown and asked there is what happens to the hosts. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Page } from "playwright-core"
import type { Host } from "../../../../schemas/console/Hosts.ts"
import { PublicPort } from "../../../../src/access/gateway/PublicPort.ts"
import { OperatorSessions } from "../../../../src/console/server/OperatorSessions.ts"
import { violations } from "../../../support/console/pages/axe.ts"
import { dialogFaults, dialogsInSource } from "../../../support/console/pages/dialogs.ts"
import { focusOnceShown } from "../../../support/console/pages/focus.ts"
import { names } from "../../../support/console/pages/litStates.ts"
import { noChromium, testBrowser } from "../../../support/console/pages/TestBrowser.ts"
import { atRest, clean, heading, signInByLink, tooWide } from "../../../support/console/pages/visits.ts"
import { Browser, newLink } from "../../../support/console/server/Browser.ts"
import { untilHost, WorldHost } from "../../../support/fleet/SupervisedWorlds.ts"
import { newAccount } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { createIn, untilStatus } from "../../../support/TestSandboxes.ts"
import { untilFound } from "../../../support/until.ts"
import { fleetApi } from "../../fleet/FleetApi.ts"

/** No host is lost because the machine that tests was busy. */
const patient = {
  ATOLL_HOST_LEASE_MS: "60000",
  ATOLL_HOST_LOST_AFTER_MS: "600000",
  ATOLL_RECONCILE_INTERVAL_MS: "1000"
}

/** A label is what the host says of itself. */
const hostile = `<img src=x onerror=alert(1)>\u202eevil`
const inert = "<img src=x onerror=alert(1)>‹U+202E›evil"

const opened = Effect.gen(function* () {
  const port = (yield* PublicPort).current()
  const visit = yield* (yield* testBrowser).open(`http://127.0.0.1:${port}`, {
    viewport: { width: 1400, height: 900 },
    reducedMotion: "reduce"
  })
  const asked: Array<string> = []
  visit.page.on("request", (request) => asked.push(new URL(request.url()).pathname))
  return { ...visit, port, asked }
})

/** Of the operator's page. */
const part = async (page: Page, name: string) => {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("button", { name, exact: true }).click()
  await heading(page, name).waitFor()
}

const signIn = async (page: Page, code: string) => {
  await page.goto(`/console/operator#link=${code}`)
  await page.getByRole("button", { name: "Sign in" }).click()
  await part(page, "Hosts")
}

const askIn = async (page: Page, name: string, of: string) => {
  await page.getByRole("button", { name: `${name} ${of}`, exact: true }).click()
  return page.getByRole("dialog")
}

const rowOf = (page: Page, id: string) => page.locator(`tr[data-host="${id}"]`)

layer(TestDatabase.layer, { excludeTestServices: true })("the operator's page in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "shows how each host stands, cordons, drains and removes, and nobody else's browser asks for it",
    () =>
      Effect.gen(function* () {
        const [one, other] = yield* Effect.forEach(["host_0a", "host_0b"], WorldHost.make)
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const sessions = yield* OperatorSessions
          yield* Effect.forkScoped(one!.live)
          yield* untilHost(one!.id, "ready")
          const account = yield* newAccount
          const { id: sandboxId } = (yield* createIn(account)).sandbox
          yield* untilStatus(account.accountId, sandboxId, "running")
          yield* Effect.forkScoped(other!.live)
          yield* untilHost(other!.id, "ready")
          yield* sql`update hosts set label = ${hostile} where id = ${one!.id}`

          const { code: link } = yield* newLink
          const visit = yield* opened
          const { page, asked } = visit
          const { code } = yield* sessions.createLink
          yield* Effect.promise(async () => {
            // Somebody of an account, who has nothing of it, and then is the operator in the same browser.
            await signInByLink(page, link)
            assert.deepStrictEqual(
              asked.filter((path) => /operator/i.test(path)),
              []
            )
            await page.goto("/console/operator")
            await page.getByText("npm run --silent atoll -- operator link").waitFor()
            assert.deepStrictEqual(
              asked.filter((path) => path.startsWith("/console/api/operator")),
              ["/console/api/operator/session"]
            )
            await signIn(page, code)
            const row = rowOf(page, one!.id)
            await row.getByText("1 up of 1").waitFor()
            await part(page, "Health")
            await page.getByText(/^All \d+ background workers run\.$/).waitFor()
            await part(page, "Accounts")
            await page.getByRole("button", { name: "Create an account" }).click()
            assert.deepStrictEqual(await dialogFaults(page), [])
            await page.keyboard.press("Escape")
            await part(page, "Hosts")
            assert.include(await row.textContent(), inert)
            const focus = await focusOnceShown(page, ".host-life", ".host-life")
            await page.getByRole("button", { name: `Machine of ${inert}` }).click()
            assert.isTrue(await focus(), "the machine has the focus as it is shown")
            await page.locator(".state.current[data-state=ready]").waitFor()
            const cordon = await askIn(page, "Cordon", inert)
            await cordon.getByText(one!.id).waitFor()
            await cordon.getByRole("button", { name: "Cordon" }).click()
            await page.locator(".state.current[data-state=cordoned]").waitFor()
            assert.deepStrictEqual(await names(page, ".edge.taken[data-line]", "data-line"), ["ready>cordoned"])
            await page.getByRole("row", { name: /CORDON ready → cordoned operator$/ }).waitFor()
            await row.locator(".status.cordoned").waitFor()
            assert.deepStrictEqual(await violations(page), [])
            assert.isAtMost(await tooWide(page), 0)
          })
          yield* untilHost(one!.id, "cordoned")

          yield* Effect.promise(async () => {
            const drain = await askIn(page, "Drain", inert)
            await drain.getByText("those that run there (1 Sandbox) are stopped").waitFor()
            await drain.getByRole("button", { name: "Drain" }).click()
            await rowOf(page, one!.id).getByText("0 up of 1").waitFor()
          })
          yield* untilStatus(account.accountId, sandboxId, "stopped")

          yield* Effect.promise(async () => {
            const label = `the folder of ${other!.id}`
            const removal = await askIn(page, "Remove", label)
            await removal.getByText("No Sandbox lives there.").waitFor()
            await removal.getByRole("button", { name: "Remove" }).click()
            await removal.getByText(`${label} is ready: drain it first`).waitFor()
            assert.deepStrictEqual(await dialogFaults(page), [])
            assert.strictEqual(await dialogsInSource("operator"), 2, "every dialog of the operator was looked at")
            await removal.getByLabel("By force").check()
            await removal.getByRole("button", { name: "Remove" }).click()
            await rowOf(page, other!.id).waitFor({ state: "detached" })
            const lost = await askIn(page, "Remove", inert)
            await lost.getByText("the volumes of 1 Sandbox").waitFor()
            // It is drained: nothing has to be forced.
            assert.strictEqual(await lost.getByLabel("By force").count(), 0)
            await lost.getByRole("button", { name: "Remove" }).click()
            await rowOf(page, one!.id).waitFor({ state: "detached" })
            await page.locator(".state.current[data-state=gone]").waitFor()
            await page.getByText("All hosts were removed.").waitFor()
            await page.getByRole("combobox", { name: "State" }).selectOption("gone")
            await rowOf(page, one!.id).waitFor()
            await rowOf(page, other!.id).waitFor()
          })
          yield* untilHost(one!.id, "gone")
          yield* untilHost(other!.id, "gone")
          const audited = yield* sql<{ readonly said: string }>`
            select action || ' ' || target_id as said from audit_events where account_id is null order by at, id`
          assert.deepStrictEqual(
            audited.map(({ said }) => said),
            [`cordonHost ${one!.id}`, `drainHost ${one!.id}`, `removeHost ${other!.id}`, `removeHost ${one!.id}`]
          )
          yield* sessions.endAll
          yield* Effect.promise(async () => {
            await page.getByText("Your session has ended.").waitFor()
            clean(visit)
          })
        }).pipe(Effect.scoped, Effect.provide([fleetApi([one!, other!], patient), OperatorSessions.layer]))
      })
  )

  it.effect.skipIf(noChromium !== null)(
    "turns the pages of a thousand hosts, finds one, asks while it is seen, and says when nobody answers",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`
        insert into hosts (id, label, address_host, address_port, boot, version, driver, kind, vcpus, memory_bytes, disk_bytes, parallel_starts,
          suspends, network_filtered, joined_at, seen_at)
        select 'host_many_' || n, 'machine ' || lpad(n::text, 4, '0'), '127.0.0.1', 1, '', '1.2.3', 'simulated', 'namespace', 8, 17179869184,
          1099511627776, 4, false, true, 1, 1 from generate_series(1, 1000) n`
        const { code: apiCode } = yield* (yield* OperatorSessions).createLink
        const { code } = yield* (yield* OperatorSessions).createLink
        const visit = yield* opened
        const { page, asked, port } = visit
        yield* Effect.promise(async () => {
          const api = new Browser(port)
          await api.console("POST", "/operator/sign-in", { code: apiCode })
          const get = async (query: string) => (await api.console("GET", `/operator/hosts${query}`)).json
          const seen: Array<string> = []
          for (let cursor = ""; ; ) {
            const { hosts, nextCursor, matching } = await get(`?find=MACHINE&limit=100${cursor}`)
            assert.strictEqual(matching, 1000)
            seen.push(...hosts.map(({ label }: Host) => label))
            if (nextCursor === null) break
            cursor = `&cursor=${nextCursor}`
          }
          assert.strictEqual(new Set(seen).size, 1000)
          assert.deepStrictEqual(seen, seen.toSorted())
          assert.strictEqual((await api.console("GET", "/operator/hosts?limit=101")).status, 400)
          assert.strictEqual((await api.console("GET", "/operator/hosts/host_nobody")).status, 404)

          await page.clock.install()
          await signIn(page, code)
          const rows = page.locator("tr[data-host]")
          const shows = (first: string, count: number) =>
            untilFound(
              async () => (await rows.count()) === count && ((await rows.first().textContent()) ?? "").includes(first)
            )
          await page.getByRole("combobox", { name: "State" }).selectOption("joining")
          await shows("machine 0001", 50)
          await page.getByRole("button", { name: "Next" }).click()
          await shows("machine 0051", 50)
          await page.getByText("51 to 100 of 1,000").waitFor()
          await page.getByRole("button", { name: "Previous" }).click()
          await shows("machine 0001", 50)
          await page.getByRole("searchbox", { name: "Find" }).fill("machine 0777")
          await shows("machine 0777", 1)
          await page.getByText("1 host", { exact: true }).waitFor()
          await page.getByRole("searchbox", { name: "Find" }).fill("none such")
          await page.getByText("No host matches.").waitFor()
          await page.getByRole("searchbox", { name: "Find" }).fill("")
          await shows("machine 0001", 50)

          const polls = () => asked.filter((path) => path === "/console/api/operator/hosts").length
          const looks = (state: string) =>
            page.evaluate(
              `Object.defineProperty(document, "visibilityState", { configurable: true, value: "${state}" })`
            )
          await looks("hidden")
          await atRest(page)
          const before = polls()
          await page.clock.runFor(5_000)
          assert.strictEqual(polls(), before)
          await looks("visible")
          await untilFound(async () => polls() > before)

          await page.route("**/console/api/operator/hosts?*", (route) => route.abort())
          await page.getByText("Not live").waitFor()
          await page.getByRole("alert").getByText("The service does not answer.").waitFor()
          assert.strictEqual(await rows.count(), 50)
          await page.unroute("**/console/api/operator/hosts?*")
          await page.getByText("Live", { exact: true }).waitFor()
          clean(visit)
        })
      }).pipe(Effect.scoped, Effect.provide([fleetApi([], patient), OperatorSessions.layer]))
  )
})
