/** A user's program with the TypeScript library: `node transfer.ts SANDBOX up|down SIZE…`. Prints its peak of memory after each file, in bytes. */
import { Atoll } from "../../../clients/typescript/src/index.ts"

const [id = "", direction, ...sizes] = process.argv.slice(2)
const pieceBytes = 1_000_000

async function* pieces(count: number) {
  for (let at = 0; at < count; at++) yield new Uint8Array(pieceBytes)
}

const sandbox = await new Atoll().sandboxes.get(id)
const peaks: Array<number> = []
for (const size of sizes.map(Number)) {
  if (direction === "up") {
    await sandbox.files.write(`${size}`, pieces(size / pieceBytes), { size })
  } else {
    let bytes = 0
    for await (const chunk of sandbox.files.readStream(`${size}`)) bytes += chunk.length
    if (bytes !== size) throw new Error(`${bytes} came.`)
  }
  peaks.push(process.resourceUsage().maxRSS * 1024)
}
console.log(JSON.stringify(peaks))
