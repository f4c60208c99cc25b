import { Scrolls } from "../ui/Scrolls.tsx"
import { sameJson } from "./sameJson.ts"

type Context = Readonly<Record<string, unknown>>

const text = (value: unknown): string => (value === undefined ? "–" : JSON.stringify(value))

/** Day and time on separate lines, for narrow columns. */
const Iso = ({ at }: { at: number }) => {
  const [day, time] = new Date(at).toISOString().split("T")
  return (
    <span class="block soft">
      {day}T<wbr />
      {time}
    </span>
  )
}

/** 13-digit numbers are present-day epoch milliseconds, and are shown as instants, too. */
const Value = ({ name, value }: { name: string; value: unknown }) => (
  <>
    <code class="break">{text(value)}</code>
    {typeof value === "number" && name.endsWith("At") && value > 1e12 && value < 8.64e15 ? <Iso at={value} /> : null}
  </>
)

/** A context before and after a step. `before` null: there was none. */
export const Changes = ({ before, after }: { before: Context | null; after: Context }) => {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after)])]
  const isChanged = (name: string) => before === null || !sameJson(before[name], after[name])
  const changed = names.filter(isChanged)
  const kept = names.filter((name) => !isChanged(name))
  return (
    <div class="changes">
      {changed.length === 0 ? (
        <p class="soft">The context does not change.</p>
      ) : (
        <Scrolls label={before === null ? "Initial context" : "Changes in the context"} isHigh>
          <table>
            <caption>{before === null ? "Initial context" : "Changes in the context"}</caption>
            <thead>
              <tr>
                <th scope="col">Field</th>
                {before === null ? null : <th scope="col">Before</th>}
                <th scope="col">{before === null ? "Value" : "After"}</th>
              </tr>
            </thead>
            <tbody>
              {changed.map((name) => (
                <tr key={name}>
                  <th scope="row" class="break">
                    {name}
                  </th>
                  {before === null ? null : (
                    <td class="before">
                      <Value name={name} value={before[name]} />
                    </td>
                  )}
                  <td class={before === null ? undefined : "after"}>
                    <Value name={name} value={after[name]} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolls>
      )}
      {kept.length === 0 ? null : (
        <details>
          <summary>{kept.length === 1 ? "1 field" : `${kept.length} fields`} unchanged</summary>
          <dl class="facts">
            {kept.map((name) => (
              <div key={name} class="fact">
                <dt>{name}</dt>
                <dd>
                  <Value name={name} value={after[name]} />
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </div>
  )
}
