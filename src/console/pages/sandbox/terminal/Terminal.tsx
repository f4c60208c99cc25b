/** A shell in the Sandbox. It is opened with this part of the page, and ends with it. */

import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks"
import { isAsleep, isInhabited, isUp } from "../../states.ts"
import { Fault } from "../../ui/Fault.tsx"
import { NotRunning } from "../NotRunning.tsx"
import type { TabProps } from "../TabProps.ts"
import { Connection, type Ended } from "./Connection.ts"
import { Screen } from "./Screen.ts"
import "./terminal.css"

type Shell =
  | { readonly state: "none" }
  | { readonly state: "connecting" }
  | { readonly state: "open" }
  | { readonly state: "ended"; readonly how: Ended }

/** Kept for this browser. */
const aloudKey = "atoll.terminal.readsAloud"

const sentenceOf = (shell: Shell): string => {
  switch (shell.state) {
    case "none":
      return ""
    case "connecting":
      return "Connecting …"
    case "open":
      return "Connected"
    case "ended":
      switch (shell.how.how) {
        case "exited":
          return shell.how.signal === null
            ? `The shell ended with exit code ${shell.how.exitCode}.`
            : `The shell was ended by ${shell.how.signal}.`
        case "closed":
          return shell.how.reason === ""
            ? `The connection was lost (${shell.how.code}), and the shell with it.`
            : shell.how.reason
        case "refused":
          return ""
      }
  }
}

export const Terminal = ({ sandbox }: TabProps) => {
  const { id, status } = sandbox
  const [shell, setShell] = useState<Shell>({ state: "none" })
  const [readsAloud, setReadsAloud] = useState(() => localStorage.getItem(aloudKey) === "on")
  const host = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const screen = useRef<Screen | null>(null)
  const connection = useRef<Connection | null>(null)
  const label = useId()
  const hint = useId()
  const aloud = useId()

  useLayoutEffect(() => {
    const shown = new Screen(host.current!, {
      typed: (bytes) => connection.current?.send(bytes),
      resized: (size) => connection.current?.resize(size),
      left: () => button.current?.focus(),
      hint
    })
    screen.current = shown
    return () => {
      connection.current?.close()
      connection.current = null
      screen.current = null
      shown.dispose()
    }
  }, [])

  const connect = (takesFocus: boolean) => {
    const shown = screen.current!
    connection.current?.close()
    shown.reset()
    shown.isLive = false
    setShell({ state: "connecting" })
    const opening = new Connection(`/api/v2/sandboxes/${id}/terminal`, {
      opened: () => {
        // The size may have changed meanwhile.
        opening.resize(shown.size)
        shown.isLive = true
        setShell({ state: "open" })
      },
      output: (bytes, then) => shown.write(bytes, then),
      ended: (how) => {
        shown.isLive = false
        setShell({ state: "ended", how })
      }
    })
    connection.current = opening
    if (takesFocus) shown.focus()
    void opening.open(shown.size)
  }

  const disconnect = () => {
    connection.current?.close()
    connection.current = null
    screen.current!.isLive = false
    setShell({ state: "none" })
  }

  // A sleeping one wakes, and a pending one is waited for.
  const isPossible = isInhabited(status)
  // Once, and only what runs: nothing is woken by who only looks.
  useEffect(() => {
    if (isUp(status)) connect(false)
  }, [])
  useEffect(() => {
    screen.current!.readsAloud = readsAloud
    localStorage.setItem(aloudKey, readsAloud ? "on" : "off")
  }, [readsAloud])

  const isConnected = shell.state === "open" || shell.state === "connecting"
  return (
    <section class="pane" aria-labelledby={label}>
      <header class="pane-head">
        <h2 id={label}>Terminal</h2>
        <span role="status" class="as-of" data-shell={shell.state}>
          {shell.state === "none" && isAsleep(status) ? "The Sandbox sleeps; to connect wakes it." : sentenceOf(shell)}
        </span>
        <button
          type="button"
          class="button small"
          ref={button}
          aria-disabled={!isConnected && !isPossible}
          onClick={() => {
            if (isConnected) disconnect()
            else if (isPossible) connect(true)
          }}
        >
          {isConnected ? "Disconnect" : shell.state === "none" ? "Connect" : "Reconnect"}
        </button>
      </header>
      {isConnected || isPossible ? null : <NotRunning sandbox={sandbox} to="open a terminal" />}
      <Fault fault={shell.state === "ended" && shell.how.how === "refused" ? shell.how.fault : null} />
      <div class="terminal-screen">
        <div ref={host} />
      </div>
      <p class="hint" id={hint}>
        Every key goes to the shell, Tab too; <kbd>Ctrl</kbd>+<kbd>F6</kbd> leaves it. The shell ends when you leave
        this part of the page.
      </p>
      <div class="check">
        <input
          id={aloud}
          type="checkbox"
          checked={readsAloud}
          onChange={({ currentTarget }) => setReadsAloud(currentTarget.checked)}
        />
        <label for={aloud}>Screen-reader mode</label>
      </div>
    </section>
  )
}
