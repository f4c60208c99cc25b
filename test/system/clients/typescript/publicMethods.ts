import { readdirSync } from "node:fs"
import { join } from "node:path"

/** The methods of the library's classes, without errors, classes that users do not hold, and streams of Node. */
export const publicMethods = async (): Promise<ReadonlyArray<string>> => {
  const sources = join(import.meta.dirname, "../../../../clients/typescript/src")
  const hidden = new Set(["NodeSocket", "Tunnels", "TunnelStream"])
  const found: Array<string> = []
  for (const folder of [sources, join(sources, "node")])
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".ts"))) {
      for (const value of Object.values((await import(join(folder, file))) as Record<string, unknown>)) {
        if (typeof value !== "function" || !/^class\b/.test(String(value)) || hidden.has(value.name)) continue
        if (value.prototype instanceof Error) continue
        for (const key of Reflect.ownKeys(value.prototype)) {
          const { value: method } = Object.getOwnPropertyDescriptor(value.prototype, key)!
          if (key === "constructor" || typeof method !== "function") continue
          found.push(`${value.name}.${typeof key === "symbol" ? key.description!.replace("Symbol.", "") : key}`)
        }
      }
    }
  return [...new Set(found)]
}
