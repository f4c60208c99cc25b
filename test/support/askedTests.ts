/** Tests that a person requests by name (`scripts/asked.mjs`). */
import { spawnSync } from "node:child_process"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")

/**
 * Runs some tests, with more in their environment. Returns their exit code.
 * @param args Of vitest.
 * @param refusal Why they cannot run here, one sentence. `npm run test:all` skips them for it; here it is a failure.
 */
export const runAsked = (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  refusal: string | null = null
): number => {
  if (refusal !== null) {
    console.error(`None of these tests was run: ${refusal}`)
    return 1
  }
  const { status } = spawnSync(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), "run", ...args], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...environment }
  })
  return status ?? 1
}
