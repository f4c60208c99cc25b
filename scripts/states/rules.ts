/**
 * Only the machine that has a state, and the contract (`schemas/`), may name the state. Other code asks for a tag, or
 * calls a decision that a machine exports.
 * What counts: a string literal that is the name of a state of any machine, where a value is compared with it (`===`,
 * `!==`, a `case`), where it is in a list of only such names, where a collection is asked for it (`includes`, `has`,
 * `indexOf`), and in quotes in a template (SQL).
 */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseSync, Visitor } from "oxc-parser"
import { connectionGrantMachine } from "../../machines/connectionGrant.ts"
import { hostMachine } from "../../machines/host.ts"
import { imageMachine } from "../../machines/image.ts"
import { operationMachine } from "../../machines/operation.ts"
import { previewMachine } from "../../machines/preview.ts"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { serviceAccessMachine } from "../../machines/serviceAccess.ts"
import { snapshotMachine } from "../../machines/snapshot.ts"
import { walletMachine } from "../../machines/wallet.ts"
import { homonyms, otherFiles, otherRooms } from "./exceptions.ts"

const machines = [
  connectionGrantMachine,
  hostMachine,
  imageMachine,
  operationMachine,
  previewMachine,
  sandboxMachine,
  serviceAccessMachine,
  snapshotMachine,
  walletMachine
]
const names: ReadonlySet<string> = new Set(machines.flatMap((machine) => Object.keys(machine.states)))
const quoted = new RegExp(`'(?:${[...names].join("|")})'`, "g")

const equalities: ReadonlySet<string> = new Set(["===", "!==", "==", "!="])
const questions: ReadonlySet<string> = new Set(["includes", "has", "indexOf"])

export interface Comparison {
  readonly path: string
  readonly line: number
  readonly name: string
  /** The compared expression, as the source has it; null: a list, or SQL. */
  readonly compared: string | null
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** Null: it is none. */
const nameIn = (node: Node): string | null =>
  node.type === "Literal" && "value" in node && typeof node.value === "string" && names.has(node.value)
    ? node.value
    : null

/** All of one file, exceptions included. */
const comparisonsIn = (path: string, source: string): ReadonlyArray<Comparison> => {
  const { program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`)
  const found: Array<Comparison> = []
  const note = (start: number, name: string | null, compared: Node | null) => {
    if (name === null) return
    const line = source.slice(0, start).split("\n").length
    found.push({ path, line, name, compared: compared === null ? null : source.slice(compared.start, compared.end) })
  }
  new Visitor({
    BinaryExpression: ({ left, right, operator }) => {
      if (!equalities.has(operator)) return
      note(right.start, nameIn(right), left)
      note(left.start, nameIn(left), right)
    },
    SwitchStatement: ({ discriminant, cases }) => {
      for (const { test } of cases) if (test !== null) note(test.start, nameIn(test), discriminant)
    },
    ArrayExpression: ({ elements }) => {
      const listed = elements.filter((element) => element !== null && element.type !== "SpreadElement")
      if (listed.some((element) => nameIn(element) === null)) return
      for (const element of listed) note(element.start, nameIn(element), null)
    },
    CallExpression: ({ callee, arguments: given }) => {
      if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return
      if (!questions.has(callee.property.name)) return
      for (const argument of given) note(argument.start, nameIn(argument), callee.object)
    },
    TemplateElement: ({ start, value }) => {
      for (const match of value.raw.matchAll(quoted)) note(start + match.index, match[0].slice(1, -1), null)
    }
  }).visit(program)
  return found.toSorted((a, b) => a.line - b.line)
}

const endsWith = (compared: string | null, homonym: string): boolean =>
  `.${compared?.replaceAll("?.", ".")}`.endsWith(`.${homonym}`)

/** The exception that allows a comparison; null: none does. */
const exceptionFor = ({ path, compared }: Comparison): string | null =>
  Object.keys(otherRooms).find((room) => path.startsWith(room)) ??
  Object.keys(otherFiles).find((file) => path === file) ??
  Object.keys(homonyms).find((homonym) => endsWith(compared, homonym)) ??
  null

/** Those that no exception allows, and the unused exceptions. */
export const stateComparisons = (
  folder: string
): { readonly comparisons: ReadonlyArray<Comparison>; readonly unused: ReadonlyArray<string> } => {
  const all = globSync("src/**/*.{ts,tsx}", { cwd: folder })
    .toSorted()
    .flatMap((path) => comparisonsIn(path, readFileSync(join(folder, path), "utf8")))
  const used = new Set(all.map(exceptionFor))
  return {
    comparisons: all.filter((comparison) => exceptionFor(comparison) === null),
    unused: [...Object.keys(otherRooms), ...Object.keys(otherFiles), ...Object.keys(homonyms)].filter(
      (exception) => !used.has(exception)
    )
  }
}

/** Every breach below a folder, one sentence each. */
export const stateFaults = (folder: string): ReadonlyArray<string> => {
  const { comparisons, unused } = stateComparisons(folder)
  return [
    ...comparisons.map(
      ({ path, line, name }) =>
        `${path}:${line} asks for the state "${name}" by its name: ask for a tag, or move the decision to the machine`
    ),
    ...unused.map((exception) => `scripts/states/exceptions.ts excepts ${exception}, which excepts nothing`)
  ]
}
