/** The screen and keyboard of a terminal: xterm.js, in the page's font and colours, in the available size. */
import { FitAddon } from "@xterm/addon-fit"
import { Terminal } from "@xterm/xterm"
import type { Size } from "./Connection.ts"
import { spansWithoutStyleAttributes, withoutStyleElements } from "./styling.ts"
import { pageTheme } from "./theme.ts"

/** The service's limits. */
const columnsMax = 1000
const rowsMax = 1000
const scrollbackRows = 5000
const fontSizePx = 14
/** The contrast that the page requires of text. */
const contrastMin = 4.5

export interface Hands {
  readonly typed: (bytes: Uint8Array) => void
  readonly resized: (size: Size) => void
  /** The user leaves the terminal by keyboard. */
  readonly left: () => void
  /** Id of the element that explains how to leave. */
  readonly hint: string
}

const utf8 = new TextEncoder()
/** @source ECMA-48 section 8.3.125, DEC private mode 25 */
const showCursor = "\x1b[?25h"
const hideCursor = "\x1b[?25l"

export class Screen {
  readonly #terminal: Terminal
  readonly #undo: Array<() => void> = []
  #isLive = false

  /** @param host An empty element of the page that only this class changes. */
  constructor(host: HTMLElement, { typed, resized, left, hint }: Hands) {
    const terminal = new Terminal({
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
      fontSize: fontSizePx,
      theme: pageTheme(),
      minimumContrastRatio: contrastMin,
      scrollback: scrollbackRows,
      // Links are disabled: programs in the Sandbox choose their targets.
      linkHandler: { activate: () => {} }
    })
    const fit = new FitAddon()
    terminal.loadAddon(fit)
    spansWithoutStyleAttributes()
    withoutStyleElements(() => terminal.open(host))
    terminal.textarea?.setAttribute("aria-describedby", hint)
    terminal.onData((text) => typed(utf8.encode(text)))
    terminal.onBinary((text) => typed(Uint8Array.from(text, (character) => character.charCodeAt(0))))
    terminal.onResize(({ cols, rows }) => resized({ columns: cols, rows }))
    terminal.attachCustomKeyEventHandler((event) => {
      if (!this.#isLive) return false
      if (event.type !== "keydown" || !event.ctrlKey) return true
      if (event.key === "F6") {
        event.preventDefault()
        left()
        return false
      }
      // With a selection Ctrl+C copies, as elsewhere; the next one interrupts.
      if (event.key.toLowerCase() !== "c" || !terminal.hasSelection()) return true
      setTimeout(() => terminal.clearSelection())
      return false
    })
    this.#terminal = terminal

    const fill = () => {
      const room = fit.proposeDimensions()
      if (room === undefined || Number.isNaN(room.cols) || Number.isNaN(room.rows)) return
      terminal.resize(Math.min(room.cols, columnsMax), Math.min(room.rows, rowsMax))
    }
    const room = new ResizeObserver(fill)
    room.observe(host)
    const scheme = matchMedia("(prefers-color-scheme: dark)")
    const recolour = () => {
      terminal.options.theme = pageTheme()
    }
    scheme.addEventListener("change", recolour)
    this.#undo.push(
      () => room.disconnect(),
      () => scheme.removeEventListener("change", recolour),
      () => terminal.dispose()
    )
    fill()
  }

  get size(): Size {
    return { columns: this.#terminal.cols, rows: this.#terminal.rows }
  }

  /** Calls `then` once it is shown. */
  write(bytes: Uint8Array, then: () => void): void {
    this.#terminal.write(bytes, then)
  }

  /** Resets the state that the previous shell left. */
  reset(): void {
    this.#terminal.reset()
  }

  focus(): void {
    this.#terminal.focus()
  }

  /** Whether keys go to a shell, or to the page. */
  set isLive(isLive: boolean) {
    this.#isLive = isLive
    this.#terminal.options.disableStdin = !isLive
    this.#terminal.write(isLive ? showCursor : hideCursor)
  }

  /** Screen reader mode: a live region announces output, and rows can be read one by one. */
  set readsAloud(readsAloud: boolean) {
    this.#terminal.options.screenReaderMode = readsAloud
  }

  dispose(): void {
    for (const undo of this.#undo.toReversed()) undo()
  }
}
