import type { Section } from "../Rule.ts"

export const access: Section = {
  title: "Previews, TCP access and SSH",
  rules: [
    {
      rule: "A preview needs a running Sandbox with network: 503 `PREVIEW_TRANSPORT_UNAVAILABLE`, 400 `NETWORK_DISABLED`.",
      decidedBy: "src/access/preview/createPreview.ts#createPreview.create",
      heldBy: "preview/expiry.test.ts#concurrent creates make one preview per Sandbox"
    },
    {
      rule: "A Sandbox has one open preview: 409 `PREVIEW_EXISTS`.",
      decidedBy: "src/access/preview/createPreview.ts#obstacleTo",
      heldBy: "preview/expiry.test.ts#concurrent creates make one preview per Sandbox"
    },
    {
      rule: "With `alongside`, previews of different ports are open together, at most 16: else 409 `PREVIEW_EXISTS`.",
      decidedBy: "src/access/preview/createPreview.ts#obstacleTo",
      heldBy: "http/ways.test.ts#previews of several ports are open together where that is asked for"
    },
    {
      rule: "`POST …/previews/lookup` returns the address of an open preview to each key of the account with `sandbox:execute`.",
      decidedBy: "src/access/preview/lookUpPreview.ts#lookUpPreview.lookUp",
      heldBy: "http/ways.test.ts#the account gets the address of an open preview again, and no other account does"
    },
    {
      rule: "A closed preview lists no end in the future: `expiresAt` is then `endedAt`.",
      decidedBy: "src/access/preview/previewRows.ts#listed",
      heldBy: "http/ways.test.ts#a closed preview lists no end in the future"
    },
    {
      rule: "A preview ends one hour after its creation, to the millisecond.",
      decidedBy: "machines/expiry.ts#lastsAt",
      heldBy:
        "preview/expiry.test.ts#expire at their instant and not a millisecond before, with the service restarted in between",
      question: "When does a preview expire?"
    },
    {
      rule: "A preview's id is random; its SHA-256 is stored, and the id sealed with a key of the server.",
      decidedBy: "src/access/preview/createPreview.ts#createPreview.create.previewSha256",
      heldBy:
        "serviceAccess/secrets.test.ts#holds no API key, no capability, no preview name, and no environment or input of a command that has ended"
    },
    {
      rule: "Close disables the URL before it answers; 503 `CLEANUP_PENDING` while the guest has not confirmed.",
      decidedBy: "src/access/preview/closePreviews.ts#closePreviews.end",
      heldBy:
        "preview/expiry.test.ts#DELETE of a preview answers CLEANUP_PENDING while the guest does not confirm, and its name is dead"
    },
    {
      rule: "Closing a closed preview is 204.",
      decidedBy: "src/access/preview/closePreviews.ts#closePreviews.close",
      heldBy: "http/ways.test.ts#a preview is opened once, closed, and closed again"
    },
    {
      rule: "The list has no id and no URL; `DELETE …/previews` closes what is open.",
      decidedBy: "src/access/preview/PreviewsLive.ts#make.list",
      heldBy: "http/ways.test.ts#previews are listed without their capability, and closed without an id"
    },
    {
      rule: "A preview carries HTTP and WebSocket of one port.",
      decidedBy: "src/access/preview/PreviewGateway.ts#make.upgrade",
      heldBy: "preview/gateway.test.ts#carries WebSockets: subprotocol, binary, ping, close code and reason"
    },
    {
      rule: "TCP access: `requested_at` is within 60 s of the server's clock.",
      decidedBy: "src/access/serviceAccess/ServiceAccessesLive.ts#toleranceMs",
      heldBy: "http/ways.test.ts#a service access is made once for its key, looked up and revoked"
    },
    {
      rule: "TCP access: 1 to 8 unique ports in ascending order.",
      decidedBy: "schemas/ServiceAccess.ts#isAscending",
      heldBy: "http/ways.test.ts#a service access is made once for its key, looked up and revoked"
    },
    {
      rule: "TCP access expires exactly 3600 s after `requested_at`.",
      decidedBy: "machines/expiry.ts#expiry",
      heldBy:
        "preview/expiry.test.ts#expire at their instant and not a millisecond before, with the service restarted in between"
    },
    {
      rule: "TCP access: the same key answers the same envelope; another body is 400.",
      decidedBy: "src/access/serviceAccess/ServiceAccessesLive.ts#isSame",
      heldBy: "http/ways.test.ts#a service access is made once for its key, looked up and revoked"
    },
    {
      rule: "TCP access: the capability is sealed and stored nowhere.",
      decidedBy: "src/access/serviceAccess/Capability.ts#Capability",
      heldBy: "serviceAccess/tunnel.test.ts#stores neither a capability nor a key that opens one"
    },
    {
      rule: "TCP access: a newer client cuts the connections of the older one.",
      decidedBy: "machines/serviceAccess.ts#serviceAccessMachine.active.ATTACH",
      heldBy:
        "serviceAccess/tunnel.test.ts#retains one client: its connections live together, and a newer client cuts them"
    },
    {
      rule: "TCP access: revocation and the Sandbox's end cut the connections.",
      decidedBy: "machines/serviceAccess.ts#serviceAccessMachine.revoking",
      heldBy:
        "serviceAccess/tunnel.test.ts#cuts live connections at revocation and when the Sandbox ends, and leaves none inside"
    },
    {
      rule: "A capability opens `GET /tunnel?port=N`, as bearer token or as WebSocket subprotocol.",
      decidedBy: "src/api/http/TunnelRequest.ts#capabilityOf",
      heldBy: "serviceAccess/tunnel.test.ts#carries bytes unchanged both ways, half-closed connections included"
    },
    {
      rule: "A terminal is opened with a key or a ticket, and has the size that was asked for.",
      decidedBy: "src/api/http/TerminalGateway.ts#sizeOf",
      heldBy:
        "terminal/terminal.test.ts#opens with a key, or once with a ticket, and is in the audit log with its source"
    },
    {
      rule: "TCP access is off unless it is switched on.",
      decidedBy: "src/access/serviceAccess/ServiceAccessesLive.ts#make.findSandbox",
      heldBy: "serviceAccess/tunnel.test.ts#is UNSUPPORTED_BY_RUNTIME unless it is switched on"
    },
    {
      rule: "SSH: 1 to 4 public keys; an RSA key has at least 3072 bits.",
      decidedBy: "src/access/ssh/publicKeys.ts#canonicalKey",
      heldBy: "access/ssh/publicKeys.test.ts#a public key is taken by its type and strength: %s"
    },
    {
      rule: "SSH: the same keys recover the original envelope, other keys are 400; revoke is always `unconfirmed`.",
      decidedBy: "src/access/ssh/ConnectionGrantsLive.ts#make.recover",
      heldBy:
        "http/ways.test.ts#an SSH grant is recovered with the same keys and revoked, and its cleanup is never confirmed"
    },
    {
      rule: "SSH: a connection opens only with a granted key and within 30 s.",
      decidedBy: "machines/connectionGrant.ts#connectionGrantMachine.granted.CONNECT",
      heldBy:
        "access/ssh/openssh.test.ts#accept only a granted key, only in time, and end with revocation and with the Sandbox"
    }
  ]
}
