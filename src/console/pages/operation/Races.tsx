/** All events of an operation in order of time: accepted ones, and those that came too late. */
import type { DeclinedEvent, DeclinedEventList, Transition } from "../../../../schemas/Transition.ts"
import type { Loaded } from "../load.ts"
import type { FollowedLife } from "../machine/useLife.ts"
import { Instant } from "../ui/Instant.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"

type Came =
  | { readonly type: "taken"; readonly transition: Transition }
  | { readonly type: "declined"; readonly declined: DeclinedEvent; readonly winner: Transition | null }

/** The transition to the state in which an event was rejected. */
const winnerOf = (transitions: ReadonlyArray<Transition>, { revision, state }: DeclinedEvent): Transition | null =>
  transitions.findLast((one) => one.revision <= revision && one.to === state && one.from !== state) ?? null

const inOrder = (
  transitions: ReadonlyArray<Transition>,
  declined: ReadonlyArray<DeclinedEvent>
): ReadonlyArray<Came> => {
  const after = (revision: number): ReadonlyArray<Came> =>
    declined
      .filter((one) => one.revision === revision)
      .map((one) => ({ type: "declined", declined: one, winner: winnerOf(transitions, one) }))
  return transitions.flatMap((transition) => [{ type: "taken", transition }, ...after(transition.revision)])
}

const later = (from: string, to: string): string => {
  const ms = Date.parse(to) - Date.parse(from)
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`
}

const Declined = ({ declined, winner }: { declined: DeclinedEvent; winner: Transition | null }) => (
  <>
    <span class="status refused">{declined.code === null ? "changed nothing" : "refused"}</span>
    <span class="block soft">
      {declined.code === null ? (
        `It was answered with the final result: ${declined.state}.`
      ) : (
        <>
          <code>{declined.code}</code>, for it was {declined.state}.
        </>
      )}
      {winner === null ? null : (
        <>
          {" "}
          <code>{winner.event.type}</code> had come {later(winner.at, declined.at)} before.
        </>
      )}
    </span>
  </>
)

const Row = ({ came }: { came: Came }) => {
  const { at, event, cause, requestId } = came.type === "taken" ? came.transition : came.declined
  return (
    <tr data-came={came.type}>
      <td>
        <Instant at={at} />
      </td>
      <td>
        <code class="event">{event.type}</code>
      </td>
      <td>
        {came.type === "taken" ? (
          <>
            <span class="status done">taken</span>
            <span class="block soft">
              {came.transition.from === null ? "" : `${came.transition.from} `}→ {came.transition.to}, revision{" "}
              {came.transition.revision}
            </span>
          </>
        ) : (
          <Declined declined={came.declined} winner={came.winner} />
        )}
      </td>
      <td>{cause}</td>
      <td>{requestId === null ? "–" : <code class="soft break">{requestId}</code>}</td>
    </tr>
  )
}

export const Races = ({ life, loaded }: { life: FollowedLife; loaded: Loaded<DeclinedEventList> }) => (
  <Pane title="Events and their results" loaded={loaded}>
    {({ declined, truncated }) => (
      <>
        <p class="soft">
          {declined.length === 0
            ? "Every event was accepted: nothing lost a race."
            : "An event after the final result changes nothing. The order of arrival decides once which event was first."}
        </p>
        <Table label="Events in order of time" columns={["Time", "Event", "Result", "From", "Request"]} class="races">
          {inOrder(
            life.revisions.map(({ transition }) => transition),
            declined
          ).map((came, index) => (
            <Row key={index} came={came} />
          ))}
        </Table>
        {truncated ? <p class="hint">Only the first {declined.length} rejected events are kept.</p> : null}
      </>
    )}
  </Pane>
)
