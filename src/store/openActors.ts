/**
 * The actors that still have something to do, in SQL: with a pending command or a deadline. `actor` is the name of the row in the statement.
 */

export const isOpen = (actor: string): string => `(${actor}.pending <> '[]'::jsonb or ${actor}.due_at is not null)`

/**
 * `… = SANDBOX`: they belong to that Sandbox. Only the index `actors_open` serves this expression: by the plain column a planner without
 * statistics reads all that the Sandbox ever had, which grows with each operation.
 */
export const openIn = (actor: string): string =>
  `${isOpen(actor)} and (case when ${isOpen(actor)} then ${actor}.sandbox_id end)`
