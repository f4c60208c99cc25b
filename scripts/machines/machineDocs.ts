/** The doc comments of the declarations in a machine's file: its events, guards and actions. */
import { readFileSync } from "node:fs"
import { type Comment, parseSync, Visitor } from "oxc-parser"

const docOf = (comment: Comment | undefined): string =>
  comment?.value.startsWith("*") === true ? comment.value.replace(/^\*|\s*\n\s*\*\s/g, " ").trim() : ""

/**
 * Doc comments by the name of the property or constant that they stand before. A property that stands for an imported constant
 * (`{ isOver }`) has the constant's: so the files that it may come from are read first.
 *
 * @param paths The machine's own file last.
 */
export const implementationDocs = (paths: ReadonlyArray<string>): ReadonlyMap<string, string> => {
  const docs = new Map<string, string>()
  for (const path of paths) {
    const text = readFileSync(path, "utf8")
    const { program, comments } = parseSync(path, text)
    const note = (name: string, start: number) => {
      const doc = docOf(comments.findLast(({ end }) => end <= start && /^\s*$/.test(text.slice(end, start))))
      if (doc !== "") docs.set(name, doc)
    }
    new Visitor({
      Property: ({ key, start }) => {
        if (key.type === "Identifier") note(key.name, start)
      },
      ExportNamedDeclaration: ({ declaration, start }) => {
        if (declaration?.type !== "VariableDeclaration") return
        const { id } = declaration.declarations[0]!
        if (id.type === "Identifier") note(id.name, start)
      }
    }).visit(program)
  }
  return docs
}
