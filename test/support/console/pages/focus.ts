/** Where the focus is once something appears: an effect after the paint would take it from who types by then. */
import type { Page } from "playwright-core"

/**
 * Begins to look for what `shown` selects, which nothing is yet.
 * @returns Whether what `focused` selects had the focus in the browser's next task after that; it waits for it.
 */
export const focusOnceShown = async (page: Page, shown: string, focused: string): Promise<() => Promise<boolean>> => {
  await page.evaluate(`globalThis.focusSeen = new Promise((seen) => {
    if (document.querySelector(${JSON.stringify(shown)}) !== null) throw new Error("It is shown already.")
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => seen(document.activeElement.matches(${JSON.stringify(focused)}))
    const watch = new MutationObserver(() => {
      if (document.querySelector(${JSON.stringify(shown)}) === null) return
      watch.disconnect()
      port2.postMessage(null)
    })
    watch.observe(document.body, { subtree: true, childList: true, attributes: true })
  })
  undefined`)
  return () => page.evaluate<boolean>("globalThis.focusSeen")
}
