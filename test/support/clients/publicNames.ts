/** The public names of both libraries, as their sources have them: exports, and members of the classes that users get. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseSync } from "oxc-parser"

const typescript = join(import.meta.dirname, "../../../clients/typescript/src")
const python = join(import.meta.dirname, "../../../clients/python/src/atoll")

/** What a README calls an object of each class, with the file that has the class. */
const typescriptClasses = [
  ["Atoll.ts", "Atoll", "atoll."],
  ["Sandboxes.ts", "Sandboxes", "atoll.sandboxes."],
  ["Images.ts", "Images", "atoll.images."],
  ["Images.ts", "Image", "image."],
  ["Snapshots.ts", "Snapshots", "atoll.snapshots."],
  ["Snapshots.ts", "Snapshot", "snapshot."],
  ["Workspaces.ts", "Workspaces", "atoll.workspaces."],
  ["Usage.ts", "Usage", "atoll.usage."],
  ["Sandbox.ts", "Sandbox", "sandbox."],
  ["Files.ts", "Files", "sandbox.files."],
  ["Previews.ts", "Previews", "sandbox.previews."],
  ["Previews.ts", "Preview", "preview."],
  ["Operation.ts", "Operation", "operation."],
  ["Terminal.ts", "Terminal", "terminal."],
  ["node/Forward.ts", "Forward", "forward."],
  ["errors.ts", "AtollError", "error."]
] as const

const pythonClasses = [
  ["client.py", "Atoll", "client."],
  ["sandboxes.py", "Sandboxes", "client.sandboxes."],
  ["images.py", "Images", "client.images."],
  ["images.py", "Image", "image."],
  ["snapshots.py", "Snapshots", "client.snapshots."],
  ["snapshots.py", "Snapshot", "snapshot."],
  ["workspaces.py", "Workspaces", "client.workspaces."],
  ["usage.py", "Usage", "client.usage."],
  ["sandbox.py", "Sandbox", "sandbox."],
  ["files.py", "Files", "sandbox.files."],
  ["previews.py", "Previews", "sandbox.previews."],
  ["previews.py", "Preview", "preview."],
  ["operation.py", "Operation", "operation."],
  ["terminal.py", "Terminal", "terminal."],
  ["tunnel.py", "Tunnel", "tunnel."],
  ["forward.py", "Forward", "forward."],
  ["../errors.py", "AtollError", "error."]
] as const

const programOf = (path: string) => parseSync(path, readFileSync(path, "utf8")).program.body

/** Instance members that a program may use: neither private nor static, nor of the language itself. */
const membersOf = (file: string, name: string): ReadonlyArray<string> => {
  for (const statement of programOf(join(typescript, file))) {
    const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : null
    if (declared?.type !== "ClassDeclaration" || declared.id?.name !== name) continue
    const members = declared.body.body.flatMap((member) => {
      if (member.type !== "MethodDefinition" && member.type !== "PropertyDefinition") return []
      const isPublic = !member.static && !member.override && !member.computed && member.key.type === "Identifier"
      return isPublic && member.key.type === "Identifier" && member.key.name !== "constructor" ? [member.key.name] : []
    })
    return [...new Set(members)]
  }
  throw new Error(`${file} has no class ${name}`)
}

/** What index.ts exports by name; the types of the description are one line there and in the README. */
const exportsOf = (): ReadonlyArray<string> =>
  programOf(join(typescript, "index.ts")).flatMap((statement) =>
    statement.type === "ExportNamedDeclaration"
      ? statement.specifiers.flatMap(({ exported }) => (exported.type === "Identifier" ? [exported.name] : []))
      : []
  )

/** The lines of a class of Python, without texts and without what is called on the class itself. */
const pythonClass = (file: string, name: string): string => {
  const source = readFileSync(join(python, "_sync", file), "utf8")
  const [, body] = new RegExp(`^class ${name}\\b.*:\\n((?:    .*\\n|\\n)*)`, "m").exec(source) ?? []
  if (body === undefined) throw new Error(`${file} has no class ${name}`)
  return body.replace(/"""[\s\S]*?"""/g, "").replace(/ {4}@classmethod\n {4}def \w+/g, "")
}

const pythonMembers = (file: string, name: string): ReadonlyArray<string> => {
  const body = pythonClass(file, name)
  const found = [...body.matchAll(/^ {4}(?:def (\w+)\(|(\w+): )/gm)].map(([, method, field]) => (method ?? field)!)
  return [...new Set(found)].filter((member) => !member.startsWith("_"))
}

export const typescriptNames = (): ReadonlyArray<string> => [
  ...exportsOf(),
  ...typescriptClasses.flatMap(([file, name, prefix]) => membersOf(file, name).map((member) => prefix + member))
]

/** A class for each code of the service is one line of the README. */
export const pythonNames = (): ReadonlyArray<string> => {
  const source = readFileSync(join(python, "__init__.py"), "utf8")
  const [, list] = /__all__ = \[([^\]]*)\]/.exec(source)!
  // Each class of an asynchronous client has the names of the other one.
  const exported = [...list!.matchAll(/"(\w+)"/g)]
    .map(([, name]) => name!)
    .filter((name) => !/^Async(?!Atoll$)/.test(name))
  return [
    ...exported,
    ...pythonClasses.flatMap(([file, name, prefix]) => pythonMembers(file, name).map((member) => prefix + member))
  ]
}

/** The first cells of the tables below the heading "Everything public", without arguments. */
export const listedNames = (readme: string): ReadonlyArray<string> => {
  const from = readme.indexOf("\n## Everything public\n")
  if (from < 0) throw new Error("The README has no section Everything public")
  const [section] = readme.slice(from + 1).split(/\n## (?!Everything)/)
  return [...section!.matchAll(/^\| `([\w.]+)[^`]*` \|/gm)].map(([, name]) => name!)
}
