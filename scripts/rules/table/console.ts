import type { Section } from "../Rule.ts"

export const console: Section = {
  title: "Console, registration and operator",
  rules: [
    {
      rule: "An invitation works once; only its SHA-256 is stored.",
      decidedBy: "src/console/server/Invitations.ts#Invitations.layer.use",
      heldBy:
        "console/server/registration.test.ts#makes one account of an invitation that several processes redeem concurrently"
    },
    {
      rule: "A passphrase is stored as argon2id.",
      decidedBy: "src/console/server/Passphrases.ts#derive",
      heldBy:
        "console/server/registration.test.ts#leaves no code, token or passphrase in the database or the log, whatever was done with it"
    },
    {
      rule: "A session cookie is HttpOnly, SameSite=Strict, and Secure over HTTPS.",
      decidedBy: "src/api/http/SessionCookie.ts#SessionCookie",
      heldBy:
        "console/server/sessions.test.ts#is a cookie that no script reads and no other site sends, and a new one at each sign-in"
    },
    {
      rule: "A session ends after 30 days or 12 idle hours.",
      decidedBy: "src/console/server/Sessions.ts#endOf",
      heldBy:
        "console/server/sessions.test.ts#is over 12 hours after its last use and 30 days after it was opened, and use moves the first alone"
    },
    {
      rule: "Every change from the console has a CSRF header.",
      decidedBy: "src/api/http/SessionCookie.ts#isFromItsPage",
      heldBy:
        "console/server/sessions.test.ts#is worth nothing without the page's header, and from another origin, in GETs too"
    },
    {
      rule: "Sign-in is limited for each account and address.",
      decidedBy: "src/console/server/Attempts.ts#Attempts.layer.take",
      heldBy:
        "console/server/bruteForce.test.ts#is refused after ten tries, however many processes are asked at once; the right one too, until it may again"
    },
    {
      rule: "`accounts suspend` makes keys answer 403 and stops the Sandboxes.",
      decidedBy: "machines/wallet.ts#stopSuspended",
      heldBy: "wallet/wallet.test.ts#of a suspended account stops every Sandbox, gives the reason, and loses nothing"
    },
    {
      rule: "`accounts limits` sets an account's own limits.",
      decidedBy: "src/account/AccountLimits.ts#accountLimits",
      heldBy:
        "account/limits.test.ts#default to the settings, before they are set and after they are removed; each is independent"
    },
    {
      rule: "`keys create` prints the secret alone on stdout.",
      decidedBy: "src/cli/keys.ts#create",
      heldBy:
        "account/cli.test.ts#creates a key and prints only its secret, which the service accepts until the key is revoked"
    },
    {
      rule: "The operator's page does what the command line does; a new key's secret is in one answer, and in no log.",
      decidedBy: "src/console/server/operating/keyActs.ts#createKey",
      heldBy:
        "console/server/operatorKeys.test.ts#creates a key of any account, shows its secret once, and revokes it; the command line sees the same"
    },
    {
      rule: "The operator's audit has the events of all accounts, and changes that belong to none.",
      decidedBy: "src/account/AuditRows.ts#selectEvents",
      heldBy:
        "console/server/operatorAudit.test.ts#has one audit log of all accounts and of what belongs to none, by account, action, way and time, a page at a time"
    },
    {
      rule: "The operator's page opens for the operator's session only.",
      decidedBy: "src/api/http/OperatorGuard.ts#operating",
      heldBy: "console/server/operating.test.ts#is nothing that an account's session opens"
    },
    {
      rule: "`credit grant` takes exact decimals.",
      decidedBy: "src/wallet/Money.ts#parseUsd",
      heldBy: "account/cliCredit.test.ts#takes amounts exactly as they are written, or says how to write them"
    },
    {
      rule: "`rates set` takes rates from now on only.",
      decidedBy: "src/cli/rates.ts#set",
      heldBy:
        "wallet/Ledger.test.ts#accepts rates only from now on, and writes an outbox row for each account that burns"
    },
    {
      rule: "`hosts cordon`, `drain`, `uncordon` and `remove` ask the host's machine.",
      decidedBy: "src/fleet/askHost.ts#removeHost",
      heldBy: "fleet/operatorCommands.test.ts#take effect within seconds over a connection for notifications that is …"
    }
  ]
}
