/** Questions to a person. They go to stderr: stdout is for answers. */
import { createInterface } from "node:readline/promises"
import { exitCodes, Refused } from "./failure.ts"

export const isPerson = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true

export const ask = async (question: string, byDefault: string): Promise<string> => {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const ended = new AbortController()
  lines.once("close", () => ended.abort())
  try {
    const typed = await lines.question(`${question} [${byDefault}]: `, { signal: ended.signal })
    return typed.trim() === "" ? byDefault : typed.trim()
  } catch {
    process.stderr.write("\n")
    throw new Refused("Nothing was changed.", exitCodes.interrupted)
  } finally {
    lines.close()
  }
}

const ctrlC = "\x03"
const ctrlD = "\x04"
const ctrlU = "\x15"

/** The typed or pasted text is not shown. */
export const askSecret = async (question: string): Promise<string> => {
  const { stdin } = process
  process.stderr.write(`${question} (not shown): `)
  stdin.setRawMode(true)
  stdin.setEncoding("utf8")
  let typed = ""
  let read = (_: string): void => {}
  try {
    return await new Promise<string>((resolve, reject) => {
      read = (piece) => {
        for (const character of piece) {
          if (character === "\r" || character === "\n") return resolve(typed)
          if (character === ctrlC || (character === ctrlD && typed === "")) {
            return reject(new Refused("Nothing was changed.", exitCodes.interrupted))
          }
          if (character === ctrlU) typed = ""
          else if (character === "\x7f" || character === "\b") typed = typed.slice(0, -1)
          else if (character > "\x1f") typed += character
        }
      }
      stdin.on("data", read)
      stdin.once("close", () => resolve(typed))
      // An earlier question has paused it.
      stdin.resume()
    })
  } finally {
    stdin.off("data", read)
    stdin.setRawMode(false)
    stdin.pause()
    process.stderr.write("\n")
  }
}

const pipedMaxCharacters = 4096

/** The first lines of what was piped in, at most `most` that are not empty. */
export const pipedLines = async (most: number): Promise<ReadonlyArray<string>> => {
  process.stdin.setEncoding("utf8")
  const filled = (text: string) => text.split("\n").filter((line) => line.trim() !== "")
  let text = ""
  for await (const piece of process.stdin) {
    text += piece as string
    if (text.length > pipedMaxCharacters || filled(text.slice(0, text.lastIndexOf("\n") + 1)).length >= most) break
  }
  return filled(text).slice(0, most)
}
