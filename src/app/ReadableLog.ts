/**
 * The log for a person at a terminal: a line has the time, the level unless it is the usual one, and the message.
 * It has no fiber's number.
 *
 *     09:14:03 Atoll serves http://127.0.0.1:8080
 *     09:14:09 WARN The database does not serve: …
 */
import { inspect, styleText } from "node:util"
import { Cause, Logger, References } from "effect"

const colours = { Fatal: "red", Error: "red", Warn: "yellow" } as const

const isColoured = (level: string): level is keyof typeof colours => level in colours

const wordsOf = (message: unknown): string =>
  (Array.isArray(message) ? message : [message])
    .map((part) => (typeof part === "string" ? part : Cause.isCause(part) ? Cause.pretty(part) : inspect(part)))
    .join(" ")

/** One word, or quoted: a caller chooses the request id, and could forge other fields with it. */
const shown = (value: unknown): string => {
  if (typeof value !== "string") return inspect(value)
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
}

const two = (value: number): string => String(value).padStart(2, "0")

/** The local time of day. */
const timeOf = (date: Date): string => [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":")

export const readableLog = Logger.make(({ date, logLevel, message, cause, fiber }): string => {
  const named = logLevel.toUpperCase()
  const level = logLevel === "Info" ? [] : [isColoured(logLevel) ? styleText(colours[logLevel], named) : named]
  const annotations = Object.entries(fiber.getRef(References.CurrentLogAnnotations)).map(
    ([name, value]) => `${name}=${shown(value)}`
  )
  const line = [timeOf(date), ...level, wordsOf(message), ...annotations].join(" ")
  return cause.reasons.length === 0 ? line : `${line}\n${Cause.pretty(cause)}`
})
