/**
 * Answers with a file of a page, of the console or of the reference, as the browser wants it: compressed, or not at all if it has it.
 *
 * Pages load nothing from other hosts; no other site may frame them or receive them as a referrer.
 *
 * @source W3C Content Security Policy Level 3; RFC 9110 section 12.5.3 (Accept-Encoding), 13.1.2 (If-None-Match)
 */
import type { IncomingMessage } from "node:http"
import { HttpServerResponse } from "effect/http"
import type { PageFile } from "../../console/bundle/pageFiles.ts"

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

const always = {
  vary: "accept-encoding",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin"
}

export const ofPage = {
  ...always,
  "cache-control": "no-cache",
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY"
}

export const ofAsset = { ...always, "cache-control": "public, max-age=31536000, immutable" }

/** The best encoding that the browser accepts; `q=0` excludes one. */
const encodingFor = ({ headers }: IncomingMessage): "br" | "gzip" | null => {
  const accepted = String(headers["accept-encoding"] ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => !/;\s*q=0(?:\.0*)?$/.test(word))
    .map((word) => word.split(";", 1)[0])
  return accepted.includes("br") ? "br" : accepted.includes("gzip") ? "gzip" : null
}

export const answerFile = (request: IncomingMessage, file: PageFile, headers: Readonly<Record<string, string>>) => {
  if (request.headers["if-none-match"] === file.etag) {
    return HttpServerResponse.empty({ status: 304, headers: { ...headers, etag: file.etag } })
  }
  const encoding = encodingFor(request)
  return HttpServerResponse.uint8Array(encoding === null ? file.plain : file[encoding], {
    contentType: file.contentType,
    headers: { ...headers, etag: file.etag, ...(encoding === null ? {} : { "content-encoding": encoding }) }
  })
}
