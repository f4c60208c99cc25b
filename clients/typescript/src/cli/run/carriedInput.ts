/**
 * Input that goes on while its command runs. An operation takes its input when it is started, 128 KiB at most; so
 * longer input, or input without an end yet, is sent in pieces: files of a folder in the Sandbox, which a shell there
 * passes to the command one after the other and removes. A piece may be written twice after a lost connection: it is
 * the same, or the shell no longer looks for it.
 */
import { AtollError, ConnectionError } from "../../errors.ts"
import type { Files } from "../../Files.ts"
import { randomKey } from "../../http/randomKey.ts"
import { sleep } from "../../http/sleep.ts"
import type { Input } from "../Input.ts"

/** Pieces that the command has not read yet: above this no more are sent. */
const aheadPieces = 8
const lookEveryMs = 100
const pauseMs = 500

/**
 * Its first argument is the folder, the others are the command. When the command has ended the folder is moved away,
 * which ends the shell that passes the pieces on. The shell's own messages are dropped; the command's are not.
 */
const shell = `
d=$1; shift; exec 3>&2 2>/dev/null
feed() {
  n=0
  while [ -d "$d" ]; do
    if [ -e "$d/$n" ]; then
      [ -s "$d/$n" ] || return
      cat "$d/$n" || return
      rm -f "$d/$n"
      n=$((n+1))
    else sleep 0.05; fi
  done
}
feed | (
  ( exec "$@" 2>&3 3>&- )
  code=$?
  mv "$d" "$d-over"; rm -rf "$d-over"
  exit $code
)`

/** The command line that is started instead. */
export const carriedArgv = (folder: string, argv: ReadonlyArray<string>): ReadonlyArray<string> => [
  "sh",
  "-c",
  shell,
  "atoll-run",
  folder,
  ...argv
]

const isGone = (thrown: unknown): boolean => thrown instanceof AtollError && thrown.is("NOT_FOUND")

const mayBeRepeated = (thrown: unknown): boolean =>
  thrown instanceof ConnectionError || (thrown instanceof AtollError && thrown.status >= 500)

/** Writes the same content to the same place until it is there. False: the folder is gone. */
const put = async (
  files: Files,
  path: string,
  piece: Uint8Array,
  patienceSeconds: number,
  signal: AbortSignal
): Promise<boolean> => {
  for (const until = Date.now() + patienceSeconds * 1000; ; ) {
    try {
      await files.write(path, piece, { signal })
      return true
    } catch (thrown) {
      if (isGone(thrown)) return false
      if (!mayBeRepeated(thrown) || Date.now() > until) throw thrown
      await sleep(pauseMs, signal)
    }
  }
}

export const inputFolder = (): string => `/workspace/.atoll-input-${randomKey().slice(0, 8)}`

/** Until the input has ended, or the command. An aborted signal ends it. */
export const carryInput = async (
  files: Files,
  folder: string,
  input: Input,
  patienceSeconds: number,
  signal: AbortSignal
): Promise<void> => {
  let sent = 0
  let waiting = 0
  for (let piece = await input.take(); !signal.aborted; piece = await input.take()) {
    if (!(await put(files, `${folder}/${sent++}`, piece ?? new Uint8Array(), patienceSeconds, signal))) return
    if (piece === null) return
    for (waiting++; waiting >= aheadPieces; ) {
      waiting = 0
      try {
        for await (const _ of files.list(folder, { signal })) waiting++
      } catch (thrown) {
        if (isGone(thrown)) return
        throw thrown
      }
      if (waiting >= aheadPieces) await sleep(lookEveryMs, signal)
    }
  }
}
