/** The lock's chart as a page on which the present state is lit. `node examples/lease/chart.ts` draws it: `lock.svg`. */
import { readFileSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { describe, layOut, svgOf } from "atoll/chart"
import { lockMachine } from "./lock.ts"

const description = describe(lockMachine, { events: [], implementations: new Map() })

const file = join(import.meta.dirname, "lock.svg")

/** Takes a second: it tries many ways of placing. */
export const drawLock = async (): Promise<string> =>
  svgOf({ ...description, drawing: await layOut(description, "detail") })

const page =
  () => `<!doctype html><meta charset="utf-8"><title>lock</title>${readFileSync(file, "utf8")}<pre></pre><script>
new EventSource("/states").onmessage = ({ data }) => {
  const { state, ...rest } = JSON.parse(data)
  for (const group of document.querySelectorAll("[data-state]")) {
    group.querySelector("rect").style.fill = group.dataset.state === state ? "#ffd33d" : ""
  }
  document.querySelector("pre").textContent = JSON.stringify(rest, null, 2)
}
</script>
`

/** @param follow Calls back with the present state and each later one, as JSON; its result ends that. */
export const serveChart = (follow: (tell: (json: string) => void) => () => void): Server =>
  createServer((request, response) => {
    if (request.url !== "/states") {
      response.setHeader("content-type", "text/html").end(page())
      return
    }
    response.setHeader("content-type", "text/event-stream")
    response.flushHeaders()
    response.once(
      "close",
      follow((json) => response.write(`data: ${json}\n\n`))
    )
  })

if (import.meta.main) writeFileSync(file, await drawLock())
