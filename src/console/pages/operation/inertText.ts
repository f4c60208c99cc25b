/**
 * Output of programs as inert text. Of escape sequences only plain colours are kept, as class names; other control
 * characters, and direction marks, are shown and have no effect.
 *
 * @source ECMA-48 sections 5.4 (control sequences), 5.6 (control strings), 8.3.117 (SGR)
 */
import { characterPicture, oneLine, specials } from "../characterPicture.ts"

export interface Run {
  readonly text: string
  /** Class names; empty: plain. */
  readonly look: string
}

const esc = "\x1b"

/** A longer sequence is invalid, and probably an attempt to hide text. */
const sequenceMaxCharacters = 4096

/** Control sequences (`ESC [`), operating system commands (`ESC ]`), other control strings, and all shorter sequences. */
const sequences: ReadonlyArray<RegExp> = [
  /\x1b\[[0-?]*[ -/]*[@-~]/y,
  /\x1b\][^\x07\x1b\x9c]*(?:[\x07\x9c]|\x1b\\)/y,
  /\x1b[PX^_][^\x1b\x9c]*(?:\x9c|\x1b\\)/y,
  /\x1b[ -/]*[0-OQ-WYZ\\`-~]/y
]

/** The end of a text that may be the beginning of a sequence. */
const beginning = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b\x9c]*\x1b?|[PX^_][^\x1b\x9c]*\x1b?|[ -/]*)$/y

const matchAt = (pattern: RegExp, text: string, at: number): string | null => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? null
}

const sequenceAt = (text: string, at: number): string | null => {
  for (const pattern of sequences) {
    const found = matchAt(pattern, text, at)
    if (found !== null && found.length <= sequenceMaxCharacters) return found
  }
  return null
}

/** Empty: the sequence sets no colours. A sequence without codes resets them. */
const codesOf = (sequence: string): ReadonlyArray<string> =>
  /^\x1b\[([\d;]{0,96})m$/.exec(sequence)?.[1]?.split(";") ?? []

/** By the last digit of a colour's code; black and white use the page's colours. */
const tints: Readonly<Record<string, string>> = {
  "1": "tint-bad",
  "2": "tint-good",
  "3": "tint-warn",
  "4": "tint-accent",
  "5": "tint-taken",
  "6": "tint-accent"
}

class Look {
  #tint = ""
  #isBold = false
  #isFaint = false
  #isUnderlined = false

  get classes(): string {
    return [this.#tint, this.#isBold ? "bold" : "", this.#isFaint ? "soft" : "", this.#isUnderlined ? "underlined" : ""]
      .filter(Boolean)
      .join(" ")
  }

  /** @param codes From one SGR sequence. */
  take(codes: ReadonlyArray<string>): void {
    for (let at = 0; at < codes.length; at++) {
      const code = codes[at]!
      if (code === "38" || code === "48") {
        // One of 256 colours, or an RGB colour: the page has none of them.
        at += codes[at + 1] === "5" ? 2 : codes[at + 1] === "2" ? 4 : 0
        if (code === "38") this.#tint = ""
      } else this.#one(code)
    }
  }

  #one(code: string) {
    if (/^[39][0-7]$/.test(code)) this.#tint = code === "90" ? "soft" : (tints[code[1]!] ?? "")
    else if (code === "39") this.#tint = ""
    else if (code === "1") this.#isBold = true
    else if (code === "2") this.#isFaint = true
    else if (code === "22") this.#isBold = this.#isFaint = false
    else if (code === "4") this.#isUnderlined = true
    else if (code === "24") this.#isUnderlined = false
    else if (code === "" || code === "0") {
      this.#tint = ""
      this.#isBold = this.#isFaint = this.#isUnderlined = false
    }
  }
}

interface Step {
  /** Number of characters consumed. */
  readonly length: number
  readonly shown: string
  /** Codes of a sequence that changes the look. */
  readonly codes: ReadonlyArray<string>
}

const step = (length: number, shown: string, codes: ReadonlyArray<string> = []): Step => ({ length, shown, codes })

/** Handles a special character; null: more input is needed. */
const stepAt = (text: string, at: number): Step | null => {
  const character = text[at]!
  if (character === "\r") {
    if (at === text.length - 1) return null
    // An overwritten line stays visible; the overwriting text is on the next line.
    return step(1, text[at + 1] === "\n" ? "" : "␍\n")
  }
  if (character === esc) {
    const sequence = sequenceAt(text, at)
    if (sequence !== null) return step(sequence.length, "", codesOf(sequence))
    if (text.length - at <= sequenceMaxCharacters && matchAt(beginning, text, at) !== null) return null
  }
  return step(1, characterPicture(character))
}

/** Reads one stream, in pieces of any size. */
export class InertText {
  readonly #look = new Look()
  /** An incomplete sequence at the end of the last piece. */
  #open = ""

  read(piece: string): ReadonlyArray<Run> {
    const text = this.#open + piece
    this.#open = ""
    const runs: Array<Run> = []
    let shown = ""
    const giveRun = () => {
      if (shown !== "") runs.push({ text: shown, look: this.#look.classes })
      shown = ""
    }
    for (let at = 0; ; ) {
      specials.lastIndex = at
      const found = specials.exec(text)
      shown += text.slice(at, found?.index)
      if (found === null) break
      const taken = stepAt(text, found.index)
      if (taken === null) {
        this.#open = text.slice(found.index)
        break
      }
      if (taken.codes.length > 0) {
        giveRun()
        this.#look.take(taken.codes)
      }
      shown += taken.shown
      at = found.index + taken.length
    }
    giveRun()
    return runs
  }

  /** Call it at the end of the stream. */
  end(): ReadonlyArray<Run> {
    const text = this.#open
    this.#open = ""
    return text === "" ? [] : [{ text: oneLine(text), look: this.#look.classes }]
  }
}
