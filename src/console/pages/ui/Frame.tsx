/** The frame of pages before sign-in. */
import type { ComponentChildren } from "preact"
import { Brand } from "./Brand.tsx"

export const Frame = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <main class="entrance">
    <Brand />
    <h1>{title}</h1>
    {children}
  </main>
)
