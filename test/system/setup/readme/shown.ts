/** Every command that the README and the pages of docs/ show. */
import { type Page, pages } from "../../../support/setup/readme/pages.ts"

export interface Shown {
  /** The page, from the root of the repository. */
  readonly path: string
  readonly line: number
  /** The heading above it, of any depth. */
  readonly section: string
  /** block: in a block of them. table: in a table. prose: named in a sentence. */
  readonly place: "block" | "table" | "prose"
  /** The text to type, without the remark behind it. */
  readonly command: string
}

/** The first words of commands. Text in prose that begins with none of them is no command. */
const programs =
  "apt-get|atoll|curl|docker|git|kubectl|modprobe|node|npm|npx|openssl|rm|ssh|sudo|sysctl|systemctl|tar|websocat"
const begins = new RegExp(`^(?:\\w+=\\S+ )*(?:${programs}) `)
/** In sentences it is the name of the program; its tables say what it stands for. */
const isName = /^atoll /

const block = /^```sh$/

const commandsOf = ({ path, text: whole }: Page): ReadonlyArray<Shown> => {
  const all: Array<Shown> = []
  let section = ""
  let fence: string | null = null
  let begun = ""
  for (const [at, text] of whole.split("\n").entries()) {
    const line = at + 1
    if (text.startsWith("```")) {
      fence = fence === null ? text : null
    } else if (fence !== null) {
      if (!block.test(fence)) continue
      begun += text.replace(/ +# .*$/, "")
      if (begun.endsWith("\\")) begun = begun.slice(0, -1)
      else {
        if (begun.trim() !== "") all.push({ path, line, section, place: "block", command: begun.trim() })
        begun = ""
      }
    } else if (/^#+ /.test(text)) {
      section = text.replace(/^#+ /, "")
    } else {
      const place = text.startsWith("|") ? "table" : "prose"
      for (const [, span] of text.matchAll(/(?<!`)`([^`]+)`(?!`)/g)) {
        const command = place === "table" ? span!.replaceAll("\\|", "|") : span!
        if (begins.test(command) && !(place === "prose" && isName.test(command)))
          all.push({ path, line, section, place, command })
      }
    }
  }
  return all
}

/** In the order of the pages. */
export const shown: ReadonlyArray<Shown> = pages.flatMap(commandsOf)
