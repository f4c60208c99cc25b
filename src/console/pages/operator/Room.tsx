/** How much of something of a host is promised to Sandboxes. */
export const Room = ({
  label,
  promised,
  all,
  shown
}: {
  /** What a screen reader says of the bar. */
  label: string
  promised: number
  all: number
  shown: (amount: number) => string
}) => (
  <span class="room">
    <meter
      min={0}
      max={Math.max(all, 1)}
      value={promised}
      aria-label={`${label}: ${shown(promised)} of ${shown(all)}`}
    />
    <span class="block">
      {shown(promised)} of {shown(all)}
    </span>
  </span>
)
