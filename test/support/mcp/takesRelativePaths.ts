/** Every tool that takes a path takes a relative one, which begins at /workspace. */
import { assert } from "vitest"

/** @param call A tool's result, in one Sandbox. */
export const takesRelativePaths = async (
  // biome-ignore lint/suspicious/noExplicitAny: results of every tool
  call: (name: string, given: Readonly<Record<string, unknown>>) => Promise<any>
): Promise<void> => {
  const written = await call("write_file", { path: "notes/today.txt", content: "below" })
  assert.strictEqual(written.sizeBytes, 5)
  assert.strictEqual((await call("read_file", { path: "/workspace/notes/today.txt" })).content, "below")
  await call("edit_file", { path: "./notes/today.txt", oldText: "below", newText: "beneath" })
  assert.strictEqual((await call("read_file", { path: "notes/today.txt" })).content, "beneath")
  for (const path of ["notes", "./notes/", "/workspace/notes"]) {
    const { entries } = await call("list_files", { path })
    assert.deepStrictEqual(
      entries.map(({ name }: { name: string }) => name),
      ["today.txt"],
      path
    )
  }
  const where = await call("run", { command: "pwd", cwd: "notes" })
  assert.strictEqual(where.stdout.text, "/workspace/notes\n")
}
