/** What the bundle leaves out of uPlot: a chart looks and answers the same without it. Of XState it is the simulators' test that tells. */
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Plugin } from "esbuild"
import type { Page } from "playwright-core"
import { leftOut } from "../../../../src/console/bundle/leftOut.ts"
import { bundle } from "../../../../src/platform/bundle/bundle.ts"
import { noChromium, testBrowser } from "../../../support/console/pages/TestBrowser.ts"

const folder = fileURLToPath(new URL("../../../../src/console/pages/sandbox/resources/", import.meta.url))

/** Puts a chart into the page, and notes which of its moments is pointed at. */
const entry = `
import { h, render } from "preact"
import { LineChart } from "./LineChart.tsx"
const host = document.querySelector("#host")
globalThis.pointed = []
globalThis.draw = ({ isBytes, ...drawn }) => {
  render(null, host)
  const format = (value) => isBytes ? value / 1024 + " KiB" : String(Math.round(value * 1e6) / 1e6)
  const point = (index) => globalThis.pointed.push(index)
  render(h(LineChart, { ...drawn, title: "Chart", isBinary: isBytes, format, pointed: null, point }), host)
}`

const scriptOf = async (plugins: Array<Plugin>): Promise<string> => {
  const { files } = await bundle({
    stdin: { contents: entry, resolveDir: folder, loader: "ts" },
    bundle: true,
    format: "iife",
    jsx: "automatic",
    jsxImportSource: "preact",
    plugins
  })
  return files[0]!.text
}

const times = (count: number, step: number) => Array.from({ length: count }, (_, index) => 1_764_000_000 + index * step)
const wave = (count: number, height: number) =>
  Array.from({ length: count }, (_, index) => (index % 17 === 3 ? null : height * (1 + Math.sin(index / 5))))
const line = (label: string, column: ReadonlyArray<number | null>) => ({ label, column })

const charts = [
  { times: times(60, 60), lines: [line("CPU", wave(60, 0.4))], isBytes: false },
  { times: times(721, 120), lines: [line("received", wave(721, 5e6)), line("sent", wave(721, 7e4))], isBytes: true },
  { times: times(200, 86_400), lines: [line("volume", wave(200, 3e9))], isBytes: true },
  { times: times(3, 60), lines: [line("alone", [null, 7, null])], isBytes: false },
  { times: times(1, 60), lines: [line("first", [0])], isBytes: false },
  { times: times(5, 60), lines: [line("never measured", Array(5).fill(null))], isBytes: false },
  { times: [], lines: [line("nothing yet", [])], isBytes: false }
]

interface Look {
  readonly picture: string
  /** What stands above the picture: the cursor, and a point of each line. */
  readonly marks: string
  readonly pointed: number | null
}

/** All that a user sees of each chart and its tooltips, as drawn and while a mouse moves over it. */
const seen = async (page: Page, script: string) => {
  await page.setContent(
    '<div id="host" style="width: 640px; --accent: #06c; --taken: #b60; --soft: #666; --line: #ddd">'
  )
  await page.addScriptTag({ content: script })
  const found: Array<Look> = []
  const look = async () => {
    found.push(
      await page.evaluate<Look>(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve({
        picture: document.querySelector("canvas").toDataURL(),
        marks: document.querySelector(".u-wrap").outerHTML,
        pointed: pointed.at(-1)
      }))))`)
    )
  }
  for (const chart of charts) {
    await page.evaluate(`draw(${JSON.stringify(chart)})`)
    await look()
    const { x, y, width, height } = (await page.locator(".u-over").boundingBox())!
    await page.mouse.move(x + width / 3, y + height / 2)
    await look()
    if (chart !== charts[0]) continue
    await page.mouse.down()
    await page.mouse.move(x + width / 2, y + height / 3)
    await look()
    await page.mouse.up()
    await page.mouse.dblclick(x + width / 2, y + height / 3)
    await look()
    await page.mouse.move(x + width + 30, y + height + 90)
    await page.evaluate(`host.style.width = "480px"`)
    await look()
    await page.evaluate(`host.style.width = "640px"`)
  }
  return found
}

it.effect.skipIf(noChromium !== null)("a chart is the same without what the bundle leaves out of uPlot", () =>
  Effect.gen(function* () {
    const { open } = yield* testBrowser
    const { page, complaints } = yield* open("about:blank")
    const [whole, left] = yield* Effect.promise(() => Promise.all([scriptOf([]), scriptOf([leftOut])]))
    assert.isBelow(left.length, 0.85 * whole.length)
    const expected = yield* Effect.promise(() => seen(page, whole))
    const shown = yield* Effect.promise(() => seen(page, left))
    assert.deepStrictEqual(shown, expected)
    assert.isAtLeast(new Set(shown.map(({ picture }) => picture)).size, charts.length)
    assert.includeMembers(
      shown.map(({ pointed }) => pointed),
      [null, 0, 1, 20, 66]
    )
    assert.deepStrictEqual(complaints.texts, [])
  })
)
