/** How much of a host's resource is reserved. */
export const Room = ({
  label,
  promised,
  all,
  shown
}: {
  /** The bar's label for screen readers. */
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
