import type { Section } from "../Rule.ts"

export const observe: Section = {
  title: "Logs, analytics, events",
  rules: [
    {
      rule: "Log entries are oldest first, filtered by stream, source and time (`since` inclusive, `until` exclusive).",
      decidedBy: "src/observe/logs/LogChunks.ts#chunksThatMatch",
      heldBy:
        "logs/Logs.test.ts#reads all sources and streams in one order, filtered by each, with since inclusive and until exclusive"
    },
    {
      rule: "With more than `limit` matches the newest are answered, with `truncated`.",
      decidedBy: "src/observe/logs/newestChunks.ts#newestChunks",
      heldBy:
        "logs/following.test.ts#starts with the newest matching entries and whether there are more, then gets each entry as it is stored"
    },
    {
      rule: "A log entry is one stored chunk of at most 64 KiB, never cut inside a character.",
      decidedBy: "src/operation/OutputSplit.ts#OutputSplit",
      heldBy: "logs/Logs.test.ts#cuts chunks at 64 KiB, never inside a character, and skips bytes that it has seen"
    },
    {
      rule: "Logs are kept for the retention time, at most a Sandbox's share.",
      decidedBy: "src/observe/retention/Pruner.ts#parts.largeSandboxes",
      heldBy: "logs/Logs.test.ts#forgets entries older than the retention or beyond the Sandbox's share, oldest first"
    },
    {
      rule: 'In analytics `null` is "not measured" and 0 a measurement.',
      decidedBy: "schemas/Analytics.ts#measured",
      heldBy:
        "analytics/Analytics.test.ts#puts counters into buckets by growth, across boots, and null where nothing was measured"
    },
    {
      rule: "A window of more than 2,000 samples is 400.",
      decidedBy: "schemas/Limits.ts#analyticsSamplesMax",
      heldBy: "analytics/Analytics.test.ts#refuses more than 2,000 samples and an empty window"
    },
    {
      rule: "Analytics requests are limited for each account: 429.",
      decidedBy: "src/observe/analytics/RateWindow.ts#countRequest",
      heldBy:
        "analytics/Analytics.test.ts#limits the requests a minute of a whole account, exactly, even concurrent ones"
    },
    {
      rule: "The default window of analytics is the last 24 h.",
      decidedBy: "src/observe/analytics/Analytics.ts#defaultWindowMs",
      heldBy: "analytics/Analytics.test.ts#reads the last 24 hours by default"
    },
    {
      rule: "No answer names a host or anything of it.",
      decidedBy: "src/sandbox/failureReason.ts#failureReason",
      heldBy: "http/hostFailures.test.ts#shows its customer nothing of the host: …"
    },
    {
      rule: "Analytics has counts and durations of operations and executes.",
      decidedBy: "src/observe/analytics/Analytics.ts#Analytics.layer.operationsIn",
      heldBy:
        "analytics/Analytics.test.ts#gives the median and the 99th percentile of operations and executes together, interpolated"
    },
    {
      rule: "Analytics lists boots, running time and transitions of one generation or of all.",
      decidedBy: "src/observe/analytics/LifecycleFold.ts#foldLifecycle",
      heldBy: "analytics/LifecycleFold.test.ts#separates generations"
    },
    {
      rule: "The event stream sends every transition as its log has it.",
      decidedBy: "src/observe/events/Frame.ts#frameOf",
      heldBy: "http/events.test.ts#carry every transition as the transition log has it, with its resource"
    },
    {
      rule: "A stream resumes from a position without a gap or a double.",
      decidedBy: "src/observe/events/Position.ts#openPosition",
      heldBy: "http/events.test.ts#resume after a position without a gap or a duplicate, given by header or by query"
    },
    {
      rule: "A position older than what is retained is 409 `CURSOR_STALE`.",
      decidedBy: "src/observe/events/Events.ts#stale",
      heldBy: "events/feed.test.ts#calls a position stale once a later transition was removed, and not sooner"
    },
    {
      rule: "A heartbeat comes every 15 s.",
      decidedBy: "schemas/Limits.ts#heartbeatSeconds",
      heldBy: "events/feed.test.ts#sends a heartbeat every 15 s when there is no event"
    },
    {
      rule: "`GET /machines` describes every state machine without a key.",
      decidedBy: "src/api/http/SystemHandlers.ts#SystemHandlers",
      heldBy: "http/machines.test.ts#has all machines with every state, without a key"
    }
  ]
}
