/**
 * The length rules: a function of at most 80 lines, a file of at most 400. Longer ones are listed in `remaining.ts`,
 * which only shrinks.
 * Not measured: functions of tests (a `describe` is a list of tests), generated files, and migrations (a released step
 * never changes).
 */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type Node, parseSync } from "oxc-parser"

export const functionLinesMax = 80
export const fileLinesMax = 400

const roots = ["schemas", "machines", "src", "clients/typescript/src", "examples", "bench", "scripts", "test"]
const unmeasured = ["clients/typescript/src/generated/", "src/store/migrations/"]

/** Lines by place: "PATH" for a file, "PATH NAME" for the function that NAME is bound to, with the names around it. */
export type Lengths = Readonly<Record<string, number>>

const functionTypes: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression"
])

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value

/** The name that a node binds: `id` of a variable, function or class, `key` of a property or method. */
const nameOf = (node: Node): string | null => {
  const bound = ("id" in node && node.id) || ("key" in node && node.key)
  return isNode(bound) && bound.type === "Identifier" ? bound.name : null
}

const functionsOf = (path: string, source: string): ReadonlyMap<string, number> => {
  const { program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`)
  const found = new Map<string, number>()
  const visit = (node: Node, names: ReadonlyArray<string>): void => {
    const name = nameOf(node)
    const inside = name === null ? names : [...names, name]
    if (functionTypes.has(node.type)) {
      const place = `${path} ${inside.join(".") || "(unnamed)"}`
      // A function that only wraps another has the same name: the longer one counts.
      const lines = source.slice(node.start, node.end).split("\n").length
      found.set(place, Math.max(lines, found.get(place) ?? 0))
    }
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child, inside)
  }
  visit(program, [])
  return found
}

/** Everything that is too long. @param folder The repository, or a folder laid out like it. */
export const tooLong = (folder: string): Lengths => {
  const paths = roots.flatMap((root) => globSync(`${root}/**/*.{ts,tsx,mjs}`, { cwd: folder })).toSorted()
  return Object.fromEntries(
    paths
      .filter((path) => !unmeasured.some((folder) => path.startsWith(folder)))
      .flatMap((path) => {
        const source = readFileSync(join(folder, path), "utf8")
        const lines = source.split("\n").length - 1
        const functions = path.startsWith("test/") ? [] : [...functionsOf(path, source)]
        return [
          ...(lines > fileLinesMax ? [[path, lines] as const] : []),
          ...functions.filter(([, lines]) => lines > functionLinesMax)
        ]
      })
  )
}

/** One sentence for each place that is too long and not listed, longer than listed, or listed without need. */
export const lengthFaults = (folder: string, remaining: Lengths): ReadonlyArray<string> => {
  const found = tooLong(folder)
  return [
    ...Object.entries(found).flatMap(([place, lines]) => {
      const allowed = remaining[place] ?? (place.includes(" ") ? functionLinesMax : fileLinesMax)
      return lines > allowed ? [`${place} has ${lines} lines, and may have ${allowed}: make it pieces with names`] : []
    }),
    ...Object.keys(remaining).flatMap((place) =>
      place in found ? [] : [`${place} is short enough, or gone: take it out of scripts/lengths/remaining.ts`]
    )
  ]
}
