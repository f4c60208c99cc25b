/** Shells in the Sandbox, each with a tab. They are opened with this part of the page, and end with it. */
import { useEffect, useId, useState } from "preact/hooks"
import type { TabProps } from "../TabProps.ts"
import { ShellPane } from "./ShellPane.tsx"
import "./terminal.css"

/** Kept for this browser. */
const aloudKey = "atoll.terminal.readsAloud"

interface Open {
  /** Numbers of the shells, never used twice. */
  readonly shells: ReadonlyArray<number>
  readonly shown: number
}

interface Tabs extends Open {
  readonly show: (shell: number) => void
  readonly close: (shell: number) => void
}

const ShellTabs = ({ shells, shown, show, close }: Tabs) =>
  shells.length < 2 ? null : (
    <nav class="shell-tabs" aria-label="Shells">
      {shells.map((shell) => (
        <span key={shell} class={shell === shown ? "shell-tab shown" : "shell-tab"}>
          <button type="button" aria-pressed={shell === shown} onClick={() => show(shell)}>
            Shell {shell}
          </button>
          <button type="button" aria-label={`Close shell ${shell}`} onClick={() => close(shell)}>
            ×
          </button>
        </span>
      ))}
    </nav>
  )

const useShells = () => {
  const [open, setOpen] = useState<Open>({ shells: [1], shown: 1 })
  return {
    ...open,
    show: (shown: number) => setOpen((before) => ({ ...before, shown })),
    add: () =>
      setOpen(({ shells }) => {
        const shell = Math.max(0, ...shells) + 1
        return { shells: [...shells, shell], shown: shell }
      }),
    close: (shell: number) =>
      setOpen(({ shells, shown }) => {
        const left = shells.filter((one) => one !== shell)
        return { shells: left, shown: left.includes(shown) ? shown : left.at(-1)! }
      })
  }
}

export const Terminal = ({ sandbox }: TabProps) => {
  const { shells, shown, show, add, close } = useShells()
  const [isFull, setFull] = useState(false)
  const [readsAloud, setReadsAloud] = useState(() => localStorage.getItem(aloudKey) === "on")
  const aloud = useId()
  useEffect(() => localStorage.setItem(aloudKey, readsAloud ? "on" : "off"), [readsAloud])
  const actions = (
    <>
      <button type="button" class="button small" onClick={add}>
        New shell
      </button>
      <button type="button" class="button small" aria-pressed={isFull} onClick={() => setFull(!isFull)}>
        {isFull ? "Leave full screen" : "Full screen"}
      </button>
    </>
  )
  return (
    <div class={isFull ? "pane terminal-pane full" : "pane terminal-pane"}>
      <ShellTabs shells={shells} shown={shown} show={show} close={close} />
      {shells.map((shell) => (
        <ShellPane
          key={shell}
          sandbox={sandbox}
          title={shells.length === 1 ? "Terminal" : `Shell ${shell}`}
          isShown={shell === shown}
          readsAloud={readsAloud}
          actions={actions}
        />
      ))}
      <div class="check">
        <input
          id={aloud}
          type="checkbox"
          checked={readsAloud}
          onChange={({ currentTarget }) => setReadsAloud(currentTarget.checked)}
        />
        <label for={aloud}>Screen-reader mode</label>
      </div>
    </div>
  )
}
