/** The gateway's own pages. None of them reveals whether a preview ever existed. */

export interface Page {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

const reloadSeconds = 2

const html = (title: string, text: string, head = ""): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>${head}<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:20vh auto;padding:0 1rem}</style></head><body><h1>${title}</h1><p>${text}</p></body></html>\n`

const page = (status: number, title: string, text: string, wantsHtml: boolean, reloads: boolean): Page => ({
  status,
  contentType: wantsHtml ? "text/html; charset=utf-8" : "text/plain; charset=utf-8",
  body: wantsHtml
    ? reloads
      ? html(title, `${text} This page reloads by itself.`, `<meta http-equiv="refresh" content="${reloadSeconds}">`)
      : html(title, text)
    : `${title}. ${text}${reloads ? " Try again soon." : ""}\n`,
  headers: {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    ...(reloads ? { "Retry-After": String(reloadSeconds) } : {})
  }
})

export const previewPages = {
  notFound: (wantsHtml: boolean) =>
    page(404, "No such preview", "It never existed, was closed, or has expired after an hour.", wantsHtml, false),
  malformed: (wantsHtml: boolean) =>
    page(400, "This request cannot be passed on", "Its length, its coding or its host is ambiguous.", wantsHtml, false),
  nothingListens: (port: number, wantsHtml: boolean) =>
    page(502, "Nothing listens yet", `No program in the Sandbox listens on port ${port}.`, wantsHtml, true),
  sandboxSilent: (wantsHtml: boolean) =>
    page(502, "The Sandbox does not answer", "It may be starting.", wantsHtml, true),
  brokeOff: (wantsHtml: boolean) =>
    page(502, "No answer", "The program in the Sandbox closed the connection without an answer.", wantsHtml, false),
  unserved: (wantsHtml: boolean) =>
    page(503, "Not now", "The service cannot reach its database at the moment.", wantsHtml, true),
  tooMany: (wantsHtml: boolean) =>
    page(503, "Too many connections", "This Sandbox has reached its limit of open connections.", wantsHtml, true)
}
