/** The machines from `docs/machines/`, which `npm run check` keeps equal to `machines/*.ts`: a running machine has no doc comments and drawings. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

const folder = join(import.meta.dirname, "../../../docs/machines")

/** By name: the chart as JSON text, and as a Mermaid diagram. */
export const readMachineFiles = () =>
  globSync("*.json", { cwd: folder })
    .toSorted()
    .map((file) => {
      const chart: { readonly kind: string; readonly version: number } = JSON.parse(
        readFileSync(join(folder, file), "utf8")
      )
      return { chart, mermaid: readFileSync(join(folder, file.replace(/json$/, "mmd")), "utf8") }
    })
