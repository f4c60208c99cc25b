import { useLayoutEffect, useRef } from "preact/hooks"
import { Link } from "../../ui/Link.tsx"
import { addressOf, nameOf, wayTo } from "./address.ts"
import { FileName } from "./FileName.tsx"

/** Breadcrumbs: the folders above, and the present one, which screen readers announce after a navigation. */
export const Way = ({ sandboxId, path }: { sandboxId: string; path: string }) => {
  const here = useRef<HTMLElement>(null)
  const before = useRef(path)
  useLayoutEffect(() => {
    if (before.current !== path) here.current?.focus({ preventScroll: true })
    before.current = path
  }, [path])
  const way = wayTo(path)
  return (
    <nav aria-label="Folders" class="way">
      <ol>
        {way.map((step) => (
          <li key={step}>
            {step === path ? (
              <span ref={here} tabIndex={-1} aria-current="location">
                <FileName name={nameOf(step)} />
              </span>
            ) : (
              <Link to={addressOf(sandboxId, { path: step, isEdited: false })}>
                <FileName name={nameOf(step)} />
              </Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  )
}
