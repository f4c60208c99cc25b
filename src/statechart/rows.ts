/** A transition as text on a diagram: `EVENT [guard] / command`, as in UML, in one row if it is short. */
import { commandText } from "./edges.ts"
import type { ChartState, DrawnLine } from "./Statechart.ts"

/** The role of a piece of text, which determines its colour. */
export interface Piece {
  readonly role: "event" | "guard" | "command" | "when"
  readonly text: string
}

/** Text of the box for any state. */
export const anyStateText = "any state"

export type Row = ReadonlyArray<Piece>

/** Longer rows are broken before the guard and before the commands. */
const rowMax = 30

/** Indent of the rows after an event's first row. */
const indent = "  "

export const rowText = (row: Row): string => row.map(({ text }) => text).join(" ")

export const rowsOf = ({ event, guard, commands }: DrawnLine): ReadonlyArray<Row> => {
  const pieces: ReadonlyArray<Piece> = [
    { role: "event", text: event },
    ...(guard === null ? [] : [{ role: "guard", text: `[${guard}]` } as const]),
    ...commands.map(
      (command, index) =>
        ({
          role: "command",
          text: (index === 0 ? "/ " : indent) + command + (index < commands.length - 1 ? "," : "")
        }) as const
    )
  ]
  const rows: Array<Array<Piece>> = []
  for (const piece of pieces) {
    const last = rows.at(-1)
    if (last !== undefined && rowText([...last, piece]).length <= rowMax) last.push(piece)
    else rows.push([rows.length === 0 ? piece : { ...piece, text: indent + piece.text }])
  }
  return rows
}

/** Entry and exit commands of a state. */
export const stateRows = ({ entry, exit }: ChartState): ReadonlyArray<Row> => [
  ...entry.map(
    (command): Row => [
      { role: "when", text: "entry /" },
      { role: "command", text: commandText(command) }
    ]
  ),
  ...exit.map(
    (command): Row => [
      { role: "when", text: "exit  /" },
      { role: "command", text: commandText(command) }
    ]
  )
]
