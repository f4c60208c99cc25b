/** Files of a Sandbox. A client without an answer looks whether its change is there before it makes it again. */
import { createHash } from "node:crypto"
import { entry, tape } from "../../../files/Tape.ts"
import type { AskStep, Content, Scenario } from "./Scenario.ts"
import { argv, create, make, patch, post, read, remove, running, workspace } from "./steps.ts"

const at = (path: string) => `path=${encodeURIComponent(path)}`

const lookAt = (name: string, path: string): AskStep =>
  read(`${name} is there`, `/sandboxes/{create}/files/stat?${at(path)}`)

const write = (name: string, path: string, text: string): AskStep => ({
  ...post(name, `/sandboxes/{create}/files/content?${at(path)}`),
  method: "PUT",
  bytes: { type: "application/octet-stream", bytes: Buffer.from(text) }
})

/** The file is another one after it: a repetition is refused, and then the client has what it wanted. */
const edit = (name: string, path: string, before: string, oldText: string, newText: string): AskStep => ({
  ...patch(name, `/sandboxes/{create}/files/content?${at(path)}`, {
    expectedSha256: createHash("sha256").update(before).digest("hex"),
    oldText,
    newText
  }),
  otherwise: lookAt(name, path)
})

const archive: Content = {
  type: "application/x-tar",
  bytes: tape(
    entry({ name: "docs/", type: "5" }),
    entry({ name: "docs/a.md" }, "# A\n"),
    entry({ name: "b.md" }, "b\n")
  )
}

const folder: AskStep = {
  ...post("directory", `/sandboxes/{create}/files/directory?${at("/workspace/d")}`),
  first: lookAt("directory", "/workspace/d")
}

export const fileScenarios: ReadonlyArray<Scenario> = [
  {
    name: "files",
    steps: [
      ...running,
      folder,
      write("write", "/workspace/d/a.txt", "one line"),
      edit("edit", "/workspace/d/a.txt", "one line", "one", "another"),
      write("replace", "/workspace/b.txt", "first"),
      write("replace again", "/workspace/b.txt", "second"),
      {
        ...post("rename", `/sandboxes/{create}/files/rename?${at("/workspace/d/a.txt")}`, {
          destination: "/workspace/c.txt"
        }),
        first: lookAt("rename", "/workspace/c.txt")
      },
      remove("remove", `/sandboxes/{create}/files?${at("/workspace/d")}&recursive=true`),
      { ...post("archive", `/sandboxes/{create}/files/archive?${at("/workspace/up")}`), bytes: archive }
    ]
  },
  {
    name: "files of a Sandbox that stops",
    steps: [
      workspace,
      create(),
      write("write", "/workspace/a.txt", "kept"),
      make("sleep", "/sandboxes/{create}/operations", argv("sleep", "1000")),
      post("stop", "/sandboxes/{create}/stop"),
      make("start", "/sandboxes/{create}/start?wait=running", {}),
      edit("edit", "/workspace/a.txt", "kept", "kept", "kept on")
    ]
  }
]
