/** Idempotency-Keys for forms. */
import { useRef } from "preact/hooks"
import { idempotencyKey } from "./api.ts"

/** A retry after a failure has the same key. */
export const useKeys = () => {
  const keys = useRef(new Map<string, string>())
  return (path: string, body: object): string => {
    const what = `${path} ${JSON.stringify(body)}`
    const key = keys.current.get(what) ?? idempotencyKey()
    keys.current.set(what, key)
    return key
  }
}
