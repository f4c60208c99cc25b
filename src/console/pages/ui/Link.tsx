import type { ComponentChildren } from "preact"
import { hrefOf, navigate, path } from "../router.ts"
import { useValue } from "../useValue.ts"

/** A link within the console: navigates without a load, unless the reader opens another tab. */
export const Link = ({
  to,
  isAround = false,
  children
}: {
  to: string
  isAround?: boolean
  children: ComponentChildren
}) => {
  const here = useValue(path)
  return (
    <a
      href={hrefOf(to)}
      {...(here === to ? { "aria-current": "page" as const } : isAround ? { "aria-current": "true" as const } : {})}
      onClick={(event) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
        event.preventDefault()
        navigate(to)
      }}
    >
      {children}
    </a>
  )
}
