/**
 * The import rules: the table, no cycles, no barrel files. Types count as much as values.
 *
 * (dependency-cruiser needs the API of TypeScript 6, which TypeScript 7 does not have; oxc's parser gives the imports.)
 */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { parseSync, Visitor } from "oxc-parser"
import { importTable, type Place, standAlone } from "./table.ts"

const roots = ["schemas", "machines", "src", "clients/typescript/src", "examples", "test", "bench", "scripts"]

/** A package as its importers see it, by one name. */
const isPackageEntry = (path: string): boolean =>
  path === "clients/typescript/src/index.ts" || path.startsWith("src/exports/")

interface Module {
  readonly imports: ReadonlyArray<string>
  /** True when it only re-exports. */
  readonly barrel: boolean
}

const read = (path: string): Module => {
  const source = readFileSync(path, "utf8")
  const { module, program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`)
  const imports = [
    ...module.staticImports.map((found) => found.moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest?.value ?? []))
  ]
  new Visitor({
    ImportExpression: ({ source }) => {
      if (source.type === "Literal" && typeof source.value === "string") imports.push(source.value)
    },
    TSImportType: ({ source }) => {
      imports.push(source.value)
    }
  }).visit(program)
  const passesOn = program.body.filter(
    (node) => node.type === "ExportAllDeclaration" || (node.type === "ExportNamedDeclaration" && node.source !== null)
  )
  const rest = program.body.filter((node) => node.type !== "ImportDeclaration" && !passesOn.includes(node))
  return { imports: [...new Set(imports)], barrel: passesOn.length > 0 && rest.length === 0 }
}

type Table = ReadonlyArray<Place>

const placeOf = (table: Table, path: string): Place | undefined =>
  table
    .filter((place) => path === place.path || (place.path.endsWith("/") && path.startsWith(place.path)))
    .toSorted((a, b) => b.path.length - a.path.length)[0]

const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

/** Packages whose modules must be imported by name, and why. */
const wholes: Readonly<Record<string, string>> = {
  "@effect/platform-node": "it loads a client of Redis, 650 unused files"
}

const importFault = (table: Table, path: string, specifier: string): string | null => {
  const from = placeOf(table, path)
  if (from === undefined) return null
  if (specifier.startsWith("node:")) {
    return from.builtins === false ? `${path} may not import ${specifier}: ${from.path} is pure` : null
  }
  if (specifier in wholes) return `${path} imports all of ${specifier}: ${wholes[specifier]}`
  if (!specifier.startsWith(".")) {
    return from.packages === undefined || from.packages.includes(packageOf(specifier))
      ? null
      : `${path} may not import the package ${specifier}`
  }
  const target = join(dirname(path), specifier)
  const to = placeOf(table, target)
  if (to === undefined) return target.endsWith(".json") ? null : `${path} imports ${target}, which belongs to no place`
  return to === from || from.places === "all" || from.places.includes(to.path)
    ? null
    : `${path} may not import ${target}: ${from.path} may import ${from.places.join(", ") || "only itself"}`
}

/** Each strongly connected set of more than one file, or a file that imports itself. */
const cycles = (edges: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> => {
  const found: Array<ReadonlyArray<string>> = []
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: Array<string> = []
  const visit = (node: string): void => {
    index.set(node, index.size)
    low.set(node, index.get(node)!)
    stack.push(node)
    for (const next of edges.get(node) ?? []) {
      if (!index.has(next)) visit(next)
      if (stack.includes(next)) low.set(node, Math.min(low.get(node)!, low.get(next)!))
    }
    if (low.get(node) !== index.get(node)) return
    const component = stack.splice(stack.indexOf(node))
    if (component.length > 1 || (edges.get(node) ?? []).includes(node)) found.push(component)
  }
  for (const node of edges.keys()) if (!index.has(node)) visit(node)
  return found
}

const isIn = (path: string, places: ReadonlyArray<string>): boolean =>
  places.some((place) => path === place || (place.endsWith("/") && path.startsWith(place)))

/** One sentence for each file that `standAlone` reaches and may not, with the way there. */
const reachFaults = (edges: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<string> => {
  const ways = new Map<string, ReadonlyArray<string>>(
    [...edges.keys()].filter((path) => isIn(path, standAlone.entries)).map((path) => [path, [path]])
  )
  const faults: Array<string> = []
  for (const [path, way] of ways) {
    if (!isIn(path, standAlone.reach)) {
      faults.push(`${way.join(" imports ")}, which developers with other machines should not need`)
      continue
    }
    for (const next of edges.get(path) ?? []) if (!ways.has(next)) ways.set(next, [...way, next])
  }
  return faults
}

/**
 * Every breach below a folder, one sentence each.
 *
 * @param folder The repository, or a folder laid out like it.
 */
export const importFaults = (folder: string, table: Table = importTable): ReadonlyArray<string> => {
  const paths = roots.flatMap((root) => globSync(`${root}/**/*.{ts,tsx}`, { cwd: folder })).toSorted()
  const modules = new Map(paths.map((path) => [path, read(join(folder, path))]))
  const edges = new Map(
    [...modules].map(([path, { imports }]) => [
      path,
      imports
        .filter((specifier) => specifier.startsWith("."))
        .map((specifier) => relative(folder, join(folder, dirname(path), specifier)))
        .filter((target) => modules.has(target))
    ])
  )
  return [
    ...paths.flatMap((path) =>
      placeOf(table, path) === undefined ? [`${path} belongs to no place of scripts/imports/table.ts`] : []
    ),
    ...[...modules].flatMap(([path, { imports }]) =>
      imports.flatMap((specifier) => importFault(table, path, specifier) ?? [])
    ),
    ...[...modules].flatMap(([path, { barrel }]) =>
      barrel && !isPackageEntry(path) ? [`${path} is a barrel: it only passes on what other files export`] : []
    ),
    ...reachFaults(edges),
    ...cycles(edges).map((files) => `these import each other in a circle: ${files.join(", ")}`)
  ]
}
