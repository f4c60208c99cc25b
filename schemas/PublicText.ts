/**
 * Text that a customer may see. It is written in the source, and contains only numbers, instants and other public text:
 * the compiler refuses an Error's message, a path or a host name in its place.
 */
import { Schema } from "effect"

export const PublicText = Schema.String.pipe(Schema.brand("PublicText"))
export type PublicText = typeof PublicText.Type

/** A reason, as a customer may see it. */
export interface PublicReason {
  readonly code: string
  readonly message: PublicText
}

/** publicText`The command did not end within ${seconds} s.` */
export const publicText = (
  parts: TemplateStringsArray,
  ...values: ReadonlyArray<number | Date | PublicText>
): PublicText =>
  String.raw({ raw: parts }, ...values.map((it) => (it instanceof Date ? it.toISOString() : it))) as PublicText

/** Text from the Sandbox itself for its own customer. The Sandbox does not know its host. */
export const saidBySandbox = (text: string): PublicText => text as PublicText

/** A reason from a machine's state or a command of it: it was public when its event was sent. */
export const committedReason = ({
  code,
  message
}: {
  readonly code: string
  readonly message: string
}): PublicReason => ({
  code,
  message: message as PublicText
})
