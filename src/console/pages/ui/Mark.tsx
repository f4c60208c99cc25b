/** The ring of an atoll. */
export const Mark = () => (
  <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
    <circle class="mark-ring" cx="16" cy="16" r="11" transform="rotate(-50 16 16)" />
    <circle class="mark-heart" cx="16" cy="16" r="3.5" />
  </svg>
)
