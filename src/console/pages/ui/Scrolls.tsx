import type { ComponentChildren } from "preact"

/** Content that may be wider than the page, scrollable also by keyboard. */
export const Scrolls = ({ label, children }: { label: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
  // biome-ignore lint/a11y/useSemanticElements: it is no part of a form, and no landmark
  <div class="scrolls" role="group" tabIndex={0} aria-label={label}>
    {children}
  </div>
)
