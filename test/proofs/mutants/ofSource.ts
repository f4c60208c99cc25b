/** Mutants of the expressions of a machine's file: operators, numbers, branches of conditions. The file is read, changed in memory, and loaded from there. */
import { readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { type Node, parseSync } from "oxc-parser"
import type { AnyStateMachine } from "xstate"
import type { Mutant } from "./Mutant.ts"

const folder = join(import.meta.dirname, "../../../machines")

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

const operators: Readonly<Record<string, ReadonlyArray<string>>> = {
  "===": ["!=="],
  "!==": ["==="],
  "<": ["<=", ">="],
  ">": [">=", "<="],
  "<=": ["<"],
  ">=": [">"],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "**": ["*"]
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value

/** `"boot" in event`, `event.type === "REMOVE"`: for the compiler only. A state takes such an action or guard for no other event. */
const isNarrowing = (text: string): boolean => /^(?:"\w+" in event|event\.type === "\w+")$/.test(text)

/** A side is taken away, unless that is only for the compiler. */
const ofLogical = (operator: string, left: string, right: string): ReadonlyArray<string> => {
  const sides = [...(isNarrowing(right) ? [] : [left]), ...(isNarrowing(left) ? [] : [right])]
  if (operator === "??" || isNarrowing(left) || isNarrowing(right)) return sides
  return operator === "&&" ? [...sides, `(${left}) || (${right})`] : [`(${left}) && (${right})`]
}

const editsOf = (node: Node, textOf: (node: Node) => string): ReadonlyArray<Edit> => {
  const instead = (text: string): Edit => ({ start: node.start, end: node.end, text: `(${text})` })
  switch (node.type) {
    case "LogicalExpression":
      return ofLogical(node.operator, textOf(node.left), textOf(node.right)).map(instead)
    case "BinaryExpression": {
      const [left, right] = [textOf(node.left), textOf(node.right)]
      return (operators[node.operator] ?? []).map((operator) => instead(`(${left}) ${operator} (${right})`))
    }
    case "ConditionalExpression": {
      const alternate = instead(textOf(node.alternate))
      return isNarrowing(textOf(node.test)) ? [alternate] : [instead(textOf(node.consequent)), alternate]
    }
    case "UnaryExpression":
      return node.operator === "!" ? [instead(textOf(node.argument))] : []
    case "CallExpression":
      return textOf(node.callee) === "Math.ceil" ? [instead(textOf(node.arguments[0]!))] : []
    case "Literal":
      return typeof node.value === "number" ? [instead(`${node.value} + 1`)] : []
    default:
      return []
  }
}

/** Places of which a machine itself is made; the rest of its file is for other code, and other tests. */
const partsOf = (text: string, body: ReadonlyArray<Node>): ReadonlyArray<Node> => {
  const named = body.flatMap((node) => {
    const declared = node.type === "ExportNamedDeclaration" ? node.declaration : node
    if (declared?.type !== "VariableDeclaration") return []
    const { id } = declared.declarations[0]!
    return id.type === "Identifier" ? [{ name: id.name, node: declared as Node }] : []
  })
  const wanted = new Set(named.filter(({ name }) => name.endsWith("Machine")))
  // A set goes on to those that are added while it is read.
  for (const { node } of wanted) {
    for (const one of named) if (new RegExp(`\\b${one.name}\\b`).test(text.slice(node.start, node.end))) wanted.add(one)
  }
  return [...wanted].map(({ node }) => node)
}

const loaded = async (path: string, text: string): Promise<AnyStateMachine> => {
  const plain = stripTypeScriptTypes(text).replace(/from "([^"]+)"/g, (_, name: string) => {
    const url = name.startsWith(".") ? new URL(name, pathToFileURL(path)).href : import.meta.resolve(name)
    return `from "${url}"`
  })
  const module: Record<string, unknown> = await import(`data:text/javascript,${encodeURIComponent(plain)}`)
  return Object.entries(module).find(([name]) => name.endsWith("Machine"))![1] as AnyStateMachine
}

const shownMax = 100
const shown = (text: string) => {
  const line = text.replace(/\s+/g, " ")
  return line.length > shownMax ? `${line.slice(0, shownMax)}…` : line
}

export const mutantsOfSource = (name: string): ReadonlyArray<Mutant> => {
  const path = join(folder, `${name}.ts`)
  const text = readFileSync(path, "utf8")
  const { program } = parseSync(path, text)
  const textOf = ({ start, end }: Node) => text.slice(start, end)
  const edits: Array<Edit> = []
  const visit = (node: Node): void => {
    edits.push(...editsOf(node, textOf))
    for (const [key, child] of Object.entries(node)) {
      if (key === "typeAnnotation" || key === "typeParameters" || key === "typeArguments") continue
      for (const one of [child].flat()) if (isNode(one) && !one.type.startsWith("TS")) visit(one)
      for (const one of [child].flat()) if (isNode(one) && one.type === "TSAsExpression") visit(one.expression)
    }
  }
  for (const part of partsOf(text, program.body as ReadonlyArray<Node>)) visit(part)
  const seen = new Map<string, number>()
  return edits.map(({ start, end, text: other }) => {
    const change = `${shown(text.slice(start, end))} becomes ${shown(other.slice(1, -1))}`
    const times = (seen.get(change) ?? 0) + 1
    seen.set(change, times)
    return {
      state: null,
      event: null,
      id: `${name} source: ${change}${times > 1 ? ` (${times}.)` : ""}`,
      make: () => loaded(path, text.slice(0, start) + other + text.slice(end))
    }
  })
}
