/** A table with named columns. */
import type { ComponentChildren } from "preact"
import { Scrolls } from "./Scrolls.tsx"

/** A column's name; columns of numbers are right-aligned. */
export type Column = string | { readonly number: string }

export interface TableProps {
  /** The label for screen readers. */
  readonly label: string
  readonly columns: ReadonlyArray<Column>
  readonly caption?: string
  readonly class?: string
  /** A long table scrolls in a frame as high as the screen. */
  readonly isHigh?: boolean
  /** The rows. */
  readonly children: ComponentChildren
}

export const Table = ({ label, columns, caption, class: name, isHigh = false, children }: TableProps) => (
  <Scrolls label={label} isHigh={isHigh}>
    <table class={name}>
      {caption === undefined ? null : <caption>{caption}</caption>}
      <thead>
        <tr>
          {columns.map((column) =>
            typeof column === "string" ? (
              <th key={column} scope="col">
                {column}
              </th>
            ) : (
              <th key={column.number} scope="col" class="number">
                {column.number}
              </th>
            )
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </Scrolls>
)
