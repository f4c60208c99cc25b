/** What the last run of `npm run prove` explored of a machine, and which invariants held in all of it. */
import proved from "../../../../docs/proved.json" with { type: "json" }
import { Scrolls } from "../ui/Scrolls.tsx"

const count = (value: number) => value.toLocaleString("en-US")

/** The products that a machine is part of; of their invariants each once. */
const exploredOf = (kind: string) => {
  const products = proved.products.filter(({ machines }) => (machines as ReadonlyArray<string>).includes(kind))
  const places = new Set(products.flatMap(({ invariants }) => invariants as ReadonlyArray<number>))
  return { products, invariants: proved.invariants.filter((_, place) => places.has(place)) }
}

export const Explored = ({ kind }: { kind: string }) => {
  const { products, invariants } = exploredOf(kind)
  return (
    <>
      <p class="soft">
        Every path with other machines, up to a depth, on {proved.date}: answers late or lost, crashes, deadlines.
      </p>
      <Scrolls label="Table of explored products">
        <table>
          <thead>
            <tr>
              <th>Explored together</th>
              <th class="number">States</th>
              <th class="number">Edges</th>
              <th class="number">Steps</th>
            </tr>
          </thead>
          <tbody>
            {products.map(({ name, sentence, states, edges, depth, isAll }) => (
              <tr key={name}>
                <td>{sentence}</td>
                <td class="number">{count(states)}</td>
                <td class="number">{count(edges)}</td>
                <td class="number">{isAll ? `${depth}, all states` : depth}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
      <details>
        <summary>{invariants.length} invariants held in all of it</summary>
        <ul>
          {invariants.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      </details>
    </>
  )
}
