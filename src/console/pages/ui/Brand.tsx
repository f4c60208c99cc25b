import { Mark } from "./Mark.tsx"

export const Brand = () => (
  <p class="brand">
    <Mark />
    Atoll
  </p>
)
