/** The README's Python, as programs that mypy can read. */

/** What each block may use that was made before it. */
const preamble = `import atoll


client: atoll.Atoll
sandbox: atoll.Sandbox

`

/** Indented blocks, without their indentation. */
export const blocksOf = (readme: string): ReadonlyArray<string> => {
  const blocks: Array<Array<string>> = []
  let isInside = false
  for (const line of readme.split("\n")) {
    const belongs: boolean = line.startsWith("    ") || (isInside && line === "")
    if (belongs && !isInside) blocks.push([])
    isInside = belongs
    if (belongs) blocks.at(-1)!.push(line.slice(4))
  }
  return blocks.map((lines) => `${lines.join("\n").trimEnd()}\n`)
}

/** A block that imports is a program of its own. */
export const programOf = (block: string): string => (block.startsWith("import ") ? block : preamble + block)
