/** The user's browser, if there is one. */
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"

const onPath = (program: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => folder !== "" && existsSync(join(folder, program)))

/** Null: there is none, or no screen for it. */
const opener = (): string | null => {
  if (process.platform === "darwin") return "open"
  const hasScreen = Boolean(process.env["DISPLAY"] || process.env["WAYLAND_DISPLAY"])
  return hasScreen && onPath("xdg-open") ? "xdg-open" : null
}

const attribute = (text: string): string => text.replace(/[&"<>]/g, (character) => `&#${character.charCodeAt(0)};`)

/**
 * Opens a page that redirects to the URL. Anyone who knows a preview's URL may use it, and every user of the machine
 * can read a program's arguments, but only the owner can read a file of mode 0600.
 */
export const openInBrowser = (url: string): void => {
  const program = opener()
  if (program === null) return
  const page = join(mkdtempSync(join(tmpdir(), "atoll-")), "preview.html")
  writeFileSync(
    page,
    `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=${attribute(url)}">\n`,
    {
      mode: 0o600
    }
  )
  spawn(program, [page], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref()
}
