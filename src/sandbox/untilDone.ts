/** Retries without end: what a host cannot end or remove now it can later. */
import { Schedule } from "effect"

export const untilDone = Schedule.min([Schedule.exponential(200), Schedule.spaced(10_000)])
