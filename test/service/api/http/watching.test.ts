/** Own process: it reads the metrics of the process. */
/**
 * The dashboard and the alert rules use what `/metrics` serves: each name, each label, and each value that is spelt
 * out.
 */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { type Family, united } from "../../../support/Scrape.ts"

const file = (path: string) => readFileSync(join(import.meta.dirname, "../../../../deploy", path), "utf8")

interface Panel {
  readonly title: string
  readonly type: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: ReadonlyArray<{ readonly expr: string; readonly legendFormat: string }>
}

const dashboard = JSON.parse(file("grafana/atoll.json")) as { readonly panels: ReadonlyArray<Panel> }

const rules = file("prometheus/alerts.yml")
  .split(/^ {6}- alert: /m)
  .slice(1)
  .map((text) => ({
    name: text.slice(0, text.indexOf("\n")),
    expression: /^ {8}expr: (?:>-\n)?([\s\S]*?)\n {8}(?:for|labels):/m.exec(text)?.[1] ?? "",
    text
  }))

/** Labels that Prometheus itself adds to every series. */
const own = new Set(["job", "instance"])

const suffixes = /_(?:bucket|sum|count)$/

const labelsOf = (series: string): ReadonlyMap<string, string> =>
  new Map(Array.from(series.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, name, value]) => [name!, value!]))

/** One sentence for each name, label or value of the expression that no series has. */
const faults = (expression: string, known: ReadonlyMap<string, Family>): ReadonlyArray<string> =>
  Array.from(
    expression.matchAll(/\b((?:atoll|process|nodejs|effect_cluster)_[a-z0-9_]+)(?:\{([^}]*)\})?/g),
    ([, name, selector = ""]) => {
      const family = known.get(name!) ?? known.get(name!.replace(suffixes, ""))
      if (family === undefined) return [`there is no ${name}`]
      if (known.has(name!) ? family.type === "histogram" : family.type !== "histogram")
        return [`${name} is a ${family.type}`]
      const series = family.series.filter((one) => one.split("{")[0] === name).map(labelsOf)
      return Array.from(selector.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g), ([, label, operator, value]) => {
        if (own.has(label!)) return []
        if (!series.some((labels) => labels.has(label!))) return [`${name} has no label ${label}`]
        return operator === "=" && !series.some((labels) => labels.get(label!) === value)
          ? [`${name} has no ${label}="${value}"`]
          : []
      }).flat()
    }
  ).flat()

/** Labels of a grouping: `sum by (a, b)`. */
const groupings = (expression: string): ReadonlyArray<string> =>
  Array.from(expression.matchAll(/\bby \(([^)]*)\)/g), ([, names]) =>
    names!.split(",").map((name) => name.trim())
  ).flat()

const isBalanced = (expression: string): boolean =>
  expression.split("(").length === expression.split(")").length &&
  expression.split("{").length === expression.split("}").length

layer(TestApi.layer(), { excludeTestServices: true })("the dashboard and the alert rules", (it) => {
  it.effect("use only metrics, labels and values that exist", () =>
    Effect.gen(function* () {
      const { send, scrapes, newWorkspace, newSandbox } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      // A fleet reports its own hosts.
      if (!isOverAFleet)
        yield* sql`
        insert into hosts (id, label, address_host, address_port, boot, version, driver, kind, vcpus, memory_bytes, disk_bytes, parallel_starts,
          suspends, network_filtered, joined_at, seen_at)
        values ('host_1', 'a host', '127.0.0.1', 1, '', '0', 'simulated', 'namespace', 1, 1, 1, 1, true, true, 0, 0)`
      const scrape = Effect.map(Effect.promise(scrapes), united)
      const workspaceId = yield* Effect.promise(() => newWorkspace())
      const sandboxId = yield* Effect.promise(() => newSandbox(workspaceId))
      const started = yield* Effect.promise(() =>
        send("POST", `/api/v2/sandboxes/${sandboxId}/operations`, {
          body: { argv: ["true"] },
          headers: { "idempotency-key": randomUUID() }
        })
      )
      assert.strictEqual(started.status, 202, started.text)
      const ended = 'atoll_transitions_total{kind="operation",to="completed"}'
      while (!(yield* scrape).get("atoll_transitions_total")?.series.includes(ended)) yield* Effect.sleep("20 millis")
      const known = yield* scrape
      const labels = new Set([
        ...own,
        ...[...known.values()].flatMap(({ series }) => series.flatMap((one) => [...labelsOf(one).keys()]))
      ])

      // The check itself finds a fault.
      assert.deepStrictEqual(
        faults('atoll_sandboxen + atoll_sandboxes{state="running"} + atoll_boot_duration_seconds{outcome="up"}', known),
        [
          "there is no atoll_sandboxen",
          "atoll_sandboxes has no label state",
          "atoll_boot_duration_seconds is a histogram"
        ]
      )
      assert.deepStrictEqual(faults('rate(atoll_boot_duration_seconds_count{outcome="lost"}[5m])', known), [
        'atoll_boot_duration_seconds_count has no outcome="lost"'
      ])

      const asked = [
        ...rules.map(({ name, expression }) => ({ where: `The rule ${name}`, expression })),
        ...dashboard.panels.flatMap(({ title, targets = [] }) =>
          targets.map(({ expr }) => ({ where: `The panel ${title}`, expression: expr }))
        )
      ]
      assert.isAbove(asked.length, 50)
      const wrong = asked.flatMap(({ where, expression }) => [
        ...faults(expression, known).map((fault) => `${where}: ${fault}`),
        ...groupings(expression).flatMap((label) =>
          labels.has(label) ? [] : [`${where}: nothing has the label ${label}`]
        ),
        ...(isBalanced(expression) ? [] : [`${where}: brackets`])
      ])
      assert.deepStrictEqual(wrong, [])
    })
  )

  it.effect("say for each rule the fault, its urgency and the remedy; no two panels overlap", () =>
    Effect.sync(() => {
      assert.isAbove(rules.length, 10)
      assert.strictEqual(new Set(rules.map(({ name }) => name)).size, rules.length)
      for (const { name, expression, text } of rules) {
        assert.isNotEmpty(expression, name)
        assert.match(text, /^ {8}labels: \{ severity: (page|ticket) \}$/m, name)
        assert.match(text, /^ {10}summary: ".+"$/m, name)
        assert.match(text, /^ {10}mend: ".+"$/m, name)
      }
      const places = dashboard.panels.map(({ gridPos }) => gridPos)
      for (const [index, one] of places.entries())
        for (const other of places.slice(index + 1))
          assert.isFalse(
            one.x < other.x + other.w &&
              other.x < one.x + one.w &&
              one.y < other.y + other.h &&
              other.y < one.y + one.h,
            `${JSON.stringify(one)} and ${JSON.stringify(other)}`
          )
    })
  )
})
