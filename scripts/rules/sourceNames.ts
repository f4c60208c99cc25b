/**
 * The declarations of a source file, and the titles of a test file's tests: by syntax, so that a comment or a string
 * counts as neither.
 */
import { readFileSync } from "node:fs"
import { parseSync } from "oxc-parser"

interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

interface Named {
  readonly name: string
  readonly isDeclared: boolean
  readonly start: number
  readonly end: number
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as SyntaxNode).type === "string"

const visit = (value: unknown, each: (node: SyntaxNode) => void): void => {
  if (Array.isArray(value)) for (const item of value) visit(item, each)
  else if (isNode(value)) {
    each(value)
    for (const field of Object.values(value)) if (typeof field === "object") visit(field, each)
  }
}

const nodesOf = (path: string, each: (node: SyntaxNode) => void): void =>
  visit(parseSync(path, readFileSync(path, "utf8")).program, each)

const declarations = new Set([
  "VariableDeclarator",
  "FunctionDeclaration",
  "ClassDeclaration",
  "TSTypeAliasDeclaration",
  "TSInterfaceDeclaration"
])
const members = new Set(["Property", "PropertyDefinition", "MethodDefinition"])

const nameOf = (node: unknown): string | undefined => {
  if (!isNode(node)) return undefined
  if (node.type === "Identifier") return String(node["name"])
  return node.type === "Literal" ? String(node["value"]) : undefined
}

const namesOf = (path: string): ReadonlyArray<Named> => {
  const names: Array<Named> = []
  nodesOf(path, (node) => {
    const isDeclared = declarations.has(node.type)
    if (!isDeclared && !members.has(node.type)) return
    const name = nameOf(isDeclared ? node["id"] : node["key"])
    if (name !== undefined) names.push({ name, isDeclared, start: node.start, end: node.end })
  })
  return names
}

/** Whether the file declares `a`, and in it `b`, for the symbol `a.b`. */
export const declares = (path: string, symbol: string): boolean => {
  const names = namesOf(path)
  const [first, ...rest] = symbol.split(".")
  let found = names.filter((named) => named.isDeclared && named.name === first)
  for (const part of rest) {
    found = names.filter(
      (named) => named.name === part && found.some(({ start, end }) => start < named.start && named.end <= end)
    )
  }
  return found.length > 0
}

const templateText = ({ quasis }: SyntaxNode): string =>
  (quasis as ReadonlyArray<{ readonly value: { readonly cooked: string } }>).map(({ value }) => value.cooked).join("…")

const suites = new Set(["describe", "it", "test"])

/** `it.each(rows)("title", …)`: `it`. */
const rootOf = (callee: unknown): string | undefined => {
  if (!isNode(callee)) return undefined
  if (callee.type === "MemberExpression") return rootOf(callee["object"])
  return callee.type === "CallExpression" ? rootOf(callee["callee"]) : nameOf(callee)
}

/** A title that contains values has `…` for each: `refuses …`. */
export const testTitles = (path: string): ReadonlySet<string> => {
  const titles = new Set<string>()
  nodesOf(path, (node) => {
    if (node.type !== "CallExpression" || !suites.has(rootOf(node["callee"]) ?? "")) return
    const [title] = node["arguments"] as ReadonlyArray<SyntaxNode>
    if (title?.type === "Literal" && typeof title["value"] === "string") titles.add(title["value"])
    else if (title?.type === "TemplateLiteral") titles.add(templateText(title))
  })
  return titles
}
