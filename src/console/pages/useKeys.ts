/** Idempotency-Keys of what a form makes. */
import { useRef } from "preact/hooks"
import { idempotencyKey } from "./api.ts"

/** What is sent again after a failure has the key that it had. */
export const useKeys = () => {
  const keys = useRef(new Map<string, string>())
  return (path: string, body: object): string => {
    const what = `${path} ${JSON.stringify(body)}`
    const key = keys.current.get(what) ?? idempotencyKey()
    keys.current.set(what, key)
    return key
  }
}
