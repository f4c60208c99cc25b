/**
 * What `npm start` sets for the service alone, for all else that starts it: glibc gives memory back to the system sooner, and threads share
 * theirs (docs/architecture/speed.md, Memory of the service).
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** @type {(sources: string) => Readonly<Record<string, string>>} */
export const startEnvironment = (sources) => {
  const { scripts } = JSON.parse(readFileSync(join(sources, "package.json"), "utf8"))
  return Object.fromEntries([...scripts.start.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]))
}
