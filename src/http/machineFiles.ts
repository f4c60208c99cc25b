/** The machines as they stand in `docs/machines/`, which `npm run check` holds to `machines/*.ts`: doc comments and drawings are no part of a running machine. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

const folder = join(import.meta.dirname, "../../docs/machines")

/** In the order of their names: the chart as JSON text, and as a Mermaid diagram. */
export const readMachineFiles = () =>
  globSync("*.json", { cwd: folder })
    .toSorted()
    .map((file) => {
      const chart: { readonly kind: string; readonly version: number } = JSON.parse(
        readFileSync(join(folder, file), "utf8")
      )
      return { chart, mermaid: readFileSync(join(folder, file.replace(/json$/, "mmd")), "utf8") }
    })
