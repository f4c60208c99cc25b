/**
 * Removes unused code of two libraries from the pages: half of XState, and two fifths of uPlot. No bundler can find it unused
 * from the library's own code, because its use depends on the machine or chart.
 *
 * A removed part throws if it is reached. `machines.test.ts` sends every event in every state to the machines of the
 * bundle, and to the complete XState.
 *
 * @source XState 5.33.3 and uPlot 1.6.32, as distributed; a version without one of these parts fails the bundle
 */
import { readFile } from "node:fs/promises"
import type { Plugin } from "esbuild"

/**
 * Keys: the beginning of a part's first line, up to the needed parameters, or up to the part of a condition that is never true; the part's last
 * line has the same indentation. Values: the replacement for the one case that occurs; null: none occurs.
 * A key that ends in a bracket is a table, which becomes empty.
 */
type Parts = Readonly<Record<string, string | null>>

const never = (...heads: ReadonlyArray<string>): Parts => Object.fromEntries(heads.map((head) => [head, null]))

/** Children, delays, raised events, nested states, histories, and storing and inspecting machines: none of our machines uses them. */
const machines: Parts = {
  ...never(
    "class Mailbox",
    "class Actor",
    "function createActor(",
    "function createSystem(",
    "function resolveReferencedActor(",
    "function spawnChild(",
    "function stopChild(",
    "function raise(",
    "function cancel(",
    "function and(",
    "function getPersistedSnapshot(",
    "function resolveStateValue(",
    "function resolveHistoryDefaultTransition(",
    "function transitionCompoundNode(",
    "function transitionParallelNode(",
    "const machineSnapshotMatches = function matches(",
    "const machineSnapshotHasTag = function hasTag(",
    "const machineSnapshotToJSON = function toJSON(",
    "const machineSnapshotGetMeta = function getMeta("
  ),
  "function removeConflictingTransitions(enabledTransitions":
    "if (enabledTransitions.length < 2) return enabledTransitions",
  "function selectEventlessTransitions(nextState":
    "if (nextState._nodes.every(({ always }) => always === undefined)) return []",
  "function formatRouteTransitions(rootStateNode":
    "if (Object.values(rootStateNode.states).every(({ config }) => config.route === undefined)) return",
  "function stopChildren(nextState": "if (Object.keys(nextState.children).length === 0) return nextState",
  "function getDelayedTransitions(stateNode": "if (stateNode.config.after === undefined) return []",
  "function matchesEventDescriptor(eventType, descriptor":
    "if (!descriptor.endsWith('*')) return descriptor === eventType"
}

const stateMachine: Parts = {
  ...never(
    "  get definition(",
    "  get on(",
    "  get ownEvents(",
    "  toJSON(",
    "  provide(",
    "  resolveState(",
    "  microstep(",
    "  start(",
    "  getStateNodeById(",
    "  getPersistedSnapshot(",
    "  restoreSnapshot("
  ),
  "  get invoke(": "if (this.config.invoke === undefined) return []",
  // Of the root machine, which asks for them when it is created.
  "  get events(": "if (this.parent === undefined) return []"
}

/** A machine that would spawn actors in its context finds no `spawn`. */
const assign: Parts = { "function createSpawner(": "return" }

/** Legends, zooming, bands, synchronized charts, other scales and curves, and dates in words: Chart.tsx shows the values. */
const plots: Parts = {
  ...never(
    "function rangeLog(",
    "function rangeAsinh(",
    "function rangeNum(",
    "function join(",
    "function fmtDate(",
    "function tzDate(",
    "function legendStroke(",
    "function legendFill(",
    "function logAxisSplits(",
    "function asinhAxisSplits(",
    "function log10AxisValsFilt(",
    "function log2AxisValsFilt(",
    "function clipBandLine(",
    "function stepped(",
    "function bars(",
    "function monotoneCubic(",
    "function setDefaults2(",
    "\tfunction initLegendRow(",
    "\tfunction addSeries(",
    "\tfunction delSeries(",
    "\tfunction toggleDOM(",
    "\tfunction setSeries(",
    "\tfunction setBand(",
    "\tfunction addBand(",
    "\tfunction delBand(",
    "\tfunction setAlpha(",
    "\tfunction setFocus(",
    "\tfunction setSelH(",
    "\tfunction setSelV(",
    "\tfunction syncLegend(",
    "\tfunction setLegendValues(",
    "\tfunction pub(",
    // Conditions in called functions.
    "\tif (showLegend",
    "\t\tif (showLegend",
    "\t\t\tif (scaleOpts.from != null",
    "\t\tif (select.show && dragging",
    "\t\t\tif (cursorOnePt",
    "\t\t\t\t\t\tif (cursorOnePt",
    "\t\t\tif (cursorFocus"
  ),
  // Defaults that each of our axes replaces, and that only a legend would use.
  "function timeAxisStamps(": "return",
  "function timeAxisVals(": "return",
  "function timeSeriesStamp(": "return",
  "function timeSeriesVal(": "return",
  // Without selection there is no zoom, and no other chart to synchronize.
  "\tfunction setSelect(": "return",
  "\tfunction mouseDown(": "return",
  "\tfunction mouseUp(": "return",
  "\tfunction dblClick(": "return",
  "\tfunction pubSync(": "return",
  "function bandFillClipDirs(": "return [0, 0]",
  // Of dates in words.
  ...never("const months = [", "const days = [", "const engNames = {", "const subs = {", "\tconst _timeAxisStamps = [")
}

/** Expressions that have one value in all our uses, in place of which they get it: the bundler then drops what depends on them. */
type Constants = ReadonlyArray<readonly [expression: RegExp, value: string]>

/** Of charts over time, with a horizontal first axis, linear scales from low to high, axes without labels, and no legend. */
const plotted: Constants = [
  [/\bmode == 1\b/g, "true"],
  [/\bmode == 2\b/g, "false"],
  [/\b(?:(?:\w+\.)?distr|xScaleDistr) == (?:2|3|4|100)\b/g, "false"],
  [/\bscaleX\.ori == 0\b/g, "true"],
  [/\bscaleX\.ori == 1\b/g, "false"],
  [/\b(?:\w+\.)?dir == -1\b/g, "false"],
  [/\b(?:\w+\.)?dir == 1\b/g, "true"],
  [/\baxis\.label != null\b/g, "false"],
  [/\bsyncKey != null\b/g, "false"],
  [/\b(?:flags|band\w+Dir) != 0\b/g, "false"],
  [/\bbandFillDir == -?1\b/g, "false"],
  [/\bif \(bandClip\)/g, "if (false)"],
  [/\bif \(_?dragging\)/g, "if (false)"],
  [/\bdragging && e\b/g, "false && e"],
  [/\blegend\.live\b(?! =)/g, "false"],
  [/\b(?:showLegend|multiValLegend|cursorOnePt|cursorFocus)\b(?! =)/g, "false"],
  // What it offers to other code.
  [/^uPlot\.assign = [\s\S]*(?=^export )/m, ""]
]

const libraries: ReadonlyArray<readonly [file: RegExp, parts: Parts, constants?: Constants]> = [
  [/[/\\]xstate[/\\]dist[/\\]raise-[^/\\]+\.esm\.js$/, machines],
  [/[/\\]xstate[/\\]dist[/\\]StateMachine-[^/\\]+\.esm\.js$/, stateMachine],
  [/[/\\]xstate[/\\]dist[/\\]assign-[^/\\]+\.esm\.js$/, assign],
  [/[/\\]uplot[/\\]dist[/\\]uPlot\.esm\.js$/, plots, plotted]
]

const escaped = (text: string): string => text.replace(/[().[{]/g, "\\$&")

const without = (path: string, source: string, parts: Parts): string =>
  Object.entries(parts).reduce((text, [head, does]) => {
    const [indent] = /^\s*/.exec(head)!
    const end = { "[": "]", "{": "}" }[head.at(-1)!]
    const whole =
      end === undefined
        ? new RegExp(`^${escaped(head)}.*\\{$[^]*?^${indent}\\}(?=;?$)`, "gm")
        : new RegExp(`^${escaped(head)}$[^]*?^${indent}${end}(?=;$)`, "gm")
    const instead =
      end !== undefined
        ? head + end
        : head.startsWith("class ")
          ? `${head} {}`
          : `${head}) {\n${does ?? ""}\nthrow Error("left out")\n${indent}}`
    const left = text.replace(whole, instead)
    if (left === text) throw new Error(`${path} has no ${head.trim()}`)
    return left
  }, source)

const folded = (path: string, source: string, constants: Constants): string =>
  constants.reduce((text, [expression, value]) => {
    const left = text.replace(expression, value)
    if (left === text) throw new Error(`${path} has no ${expression.source}`)
    return left
  }, source)

export const leftOut: Plugin = {
  name: "left out",
  setup: ({ onLoad }) => {
    for (const [filter, parts, constants = []] of libraries) {
      onLoad({ filter }, async ({ path }) => ({
        contents: folded(path, without(path, await readFile(path, "utf8"), parts), constants),
        loader: "js"
      }))
    }
  }
}
