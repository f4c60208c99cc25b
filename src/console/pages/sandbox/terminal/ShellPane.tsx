/** One shell: its state, its screen, and the button that connects it. */
import type { ComponentChildren } from "preact"
import { useId, useRef } from "preact/hooks"
import type { Sandbox } from "../../../../../schemas/Sandbox.ts"
import { isAsleep, isInhabited } from "../../states.ts"
import { Fault } from "../../ui/Fault.tsx"
import { NotRunning } from "../NotRunning.tsx"
import { type Shell, useShell } from "./useShell.ts"

const sentenceOf = (shell: Shell): string => {
  switch (shell.state) {
    case "none":
      return ""
    case "connecting":
      return "Connecting …"
    case "open":
      return shell.isSecond ? "Connected to a new shell: the earlier one ended with its connection." : "Connected"
    case "lost":
      return "The connection was lost, and the shell with it. Connecting again …"
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

interface Shown {
  readonly sandbox: Sandbox
  readonly title: string
  readonly isShown: boolean
  readonly readsAloud: boolean
  /** Further buttons beside its own. */
  readonly actions: ComponentChildren
}

export const ShellPane = ({ sandbox, title, isShown, readsAloud, actions }: Shown) => {
  const { status } = sandbox
  const button = useRef<HTMLButtonElement>(null)
  const label = useId()
  const hint = useId()
  const { shell, host, connect, disconnect } = useShell({ sandbox, readsAloud, hint, next: button })
  // A sleeping one wakes, and a pending one is waited for.
  const isPossible = isInhabited(status)
  const isConnected = shell.state === "open" || shell.state === "connecting" || shell.state === "lost"
  return (
    <section class="shell-pane" aria-labelledby={label} hidden={!isShown}>
      <header class="pane-head">
        <h2 id={label}>{title}</h2>
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
        {actions}
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
    </section>
  )
}
