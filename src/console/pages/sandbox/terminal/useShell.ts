/** One shell and its screen. A shell whose connection is lost, as by a restart of the service, is followed by another by itself. */
import type { RefObject } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import type { Sandbox } from "../../../../../schemas/Sandbox.ts"
import { ApiFault } from "../../api.ts"
import { isUp } from "../../states.ts"
import { Connection, type Ended } from "./Connection.ts"
import { Screen } from "./Screen.ts"

export type Shell =
  | { readonly state: "none" }
  | { readonly state: "connecting" }
  /** `isSecond`: an earlier shell was lost with its connection. */
  | { readonly state: "open"; readonly isSecond: boolean }
  /** The connection was lost; it is tried again. */
  | { readonly state: "lost" }
  | { readonly state: "ended"; readonly how: Ended }

const pauseFirstMs = 500
const pauseMaxMs = 10_000

/** The service is stopping. @source RFC 6455 section 7.4.1 */
const goingAway = 1001

/** The service went away or cannot be reached: the Sandbox did not refuse. */
const isLost = (how: Ended): boolean => {
  switch (how.how) {
    case "exited":
      return false
    case "closed":
      return how.code === goingAway || how.reason === ""
    case "refused": {
      const status = how.fault instanceof ApiFault ? how.fault.status : null
      return how.fault instanceof ApiFault && how.fault.code !== "NO_WEBSOCKET" && (status === null || status === 503)
    }
  }
}

/** Leaves what a program may have switched on, and tells that this is another shell. @source ECMA-48; xterm, DECSTR */
const newShell = new TextEncoder().encode(
  "\x1b[?47l\x1b[!p\r\n\x1b[2m── The connection was lost, and the shell with it. This is a new shell. ──\x1b[0m\r\n"
)

interface Wanted {
  readonly sandbox: Sandbox
  readonly readsAloud: boolean
  /** Id of the element that explains how to leave. */
  readonly hint: string
  /** The element that has the focus after the terminal. */
  readonly next: RefObject<HTMLElement | null>
}

interface Shown extends Omit<Wanted, "sandbox"> {
  readonly host: RefObject<HTMLDivElement | null>
  readonly connection: RefObject<Connection | null>
}

/** The screen of whichever connection there is; it ends the connection with itself. */
const useScreen = ({ host, connection, readsAloud, hint, next }: Shown) => {
  const screen = useRef<Screen | null>(null)
  useLayoutEffect(() => {
    const shown = new Screen(host.current!, {
      typed: (bytes) => connection.current?.send(bytes),
      resized: (size) => connection.current?.resize(size),
      left: () => next.current?.focus(),
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
  useEffect(() => {
    screen.current!.readsAloud = readsAloud
  }, [readsAloud])
  return screen
}

export const useShell = ({ sandbox: { id, status }, readsAloud, hint, next }: Wanted) => {
  const [shell, setShell] = useState<Shell>({ state: "none" })
  const host = useRef<HTMLDivElement>(null)
  const connection = useRef<Connection | null>(null)
  const retry = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)

  const screen = useScreen({ host, connection, readsAloud, hint, next })
  useEffect(() => () => clearTimeout(retry.current), [])

  /** @param pauseMs Before the next attempt, where one of a lost shell fails; null: this is no such attempt. */
  const open = (pauseMs: number | null) => {
    const shown = screen.current!
    const isSecond = pauseMs !== null
    let wasOpen = false
    const opening = new Connection(`/api/v2/sandboxes/${id}/terminal`, {
      opened: () => {
        wasOpen = true
        if (isSecond) shown.write(newShell, () => {})
        // The size may have changed meanwhile.
        opening.resize(shown.size)
        shown.isLive = true
        setShell({ state: "open", isSecond })
      },
      output: (bytes, then) => shown.write(bytes, then),
      ended: (how) => {
        shown.isLive = false
        if (!isLost(how) || !(wasOpen || isSecond)) {
          setShell({ state: "ended", how })
          return
        }
        setShell({ state: "lost" })
        const pause = wasOpen || pauseMs === null ? pauseFirstMs : pauseMs
        retry.current = setTimeout(() => open(Math.min(2 * pause, pauseMaxMs)), pause)
      }
    })
    connection.current = opening
    void opening.open(shown.size)
  }

  const connect = (takesFocus: boolean) => {
    const shown = screen.current!
    clearTimeout(retry.current)
    connection.current?.close()
    shown.reset()
    shown.isLive = false
    setShell({ state: "connecting" })
    if (takesFocus) shown.focus()
    open(null)
  }

  const disconnect = () => {
    clearTimeout(retry.current)
    connection.current?.close()
    connection.current = null
    screen.current!.isLive = false
    setShell({ state: "none" })
  }

  // Once, and only what runs: looking at the page wakes nothing.
  useEffect(() => {
    if (isUp(status)) connect(false)
  }, [])
  return { shell, host, connect, disconnect }
}
