/** How a transition is written on a diagram: `EVENT [guard] / command`, as UML has it, in one row where it is short. */
import { commandText } from "./edges.ts"
import type { ChartState, DrawnLine } from "./Statechart.ts"

/** What a piece of text is; a drawing gives each its colour. */
export interface Piece {
  readonly role: "event" | "guard" | "command" | "when"
  readonly text: string
}

/** Written in the box that stands for any state. */
export const anyStateText = "any state"

export type Row = ReadonlyArray<Piece>

/** Longer ones are broken before the guard and before the commands. */
const rowMax = 30

/** Columns by which the rows after an event's are moved to the right. */
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

/** What a state does by itself. */
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
