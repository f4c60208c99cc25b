/**
 * V8 looks every 8 s whether it should reduce an idle heap, and never reduces one as small as an idle agent's. For 1,000 agents that look was 1.5 % of a
 * core. After a first full collection V8 looks as before.
 *
 * Not an argument of Node, because V8 then rejects the cached code of Node's own modules: `http2` alone takes 35 ms longer to load.
 */
export const UNREDUCED = "--no-memory-reducer-for-small-heaps"

export const leaveIdleHeap = (): void => process.getBuiltinModule("node:v8").setFlagsFromString(UNREDUCED)
