/** Runs code that a model might have written, and shows the chart that it draws: `node chart.ts [chart.svg]`. */
import { writeFile } from "node:fs/promises"
import { Atoll } from "@atoll/client"

const code = `
import math

points = [(x, 100 - 80 * math.sin(x / 30)) for x in range(0, 400, 4)]
line = " ".join(f"{x},{y:.1f}" for x, y in points)
with open("chart.svg", "w") as chart:
    chart.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200">')
    chart.write(f'<polyline points="{line}" fill="none" stroke="teal" stroke-width="3"/></svg>')
print(f"{len(points)} points")
`

await using sandbox = await new Atoll().sandboxes.create()
const { exitCode, stdout, stderr } = await sandbox.run(["python3", "-"], { stdin: code, timeoutSeconds: 60 })
if (exitCode !== 0) throw new Error(stderr)

const file = process.argv[2] ?? "chart.svg"
await writeFile(file, await sandbox.files.readBytes("chart.svg"))
console.log(`${stdout.trim()}: open ${file}`)
