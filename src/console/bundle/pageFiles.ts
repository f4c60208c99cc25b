/**
 * The console's files for the browser: bundled, compressed in advance, and named by a digest of their content, so that they can be
 * cached for ever. The HTML page, which names them, is made last.
 */
import { createHash } from "node:crypto"
import { readdirSync } from "node:fs"
import { basename, extname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { bundle } from "../../platform/bundle/bundle.ts"
import { kept } from "../../platform/bundle/kept.ts"
import { leftOut } from "./leftOut.ts"
import { adoptedStyles, bareSetup, drawings, sharing } from "./plugins.ts"

export interface PageFile {
  readonly contentType: string
  readonly etag: string
  readonly plain: Uint8Array
  readonly gzip: Uint8Array
  readonly br: Uint8Array
}

export interface PageFiles {
  /** By file name, without a folder. */
  readonly assets: ReadonlyMap<string, PageFile>
  /** The response to every path of the console. */
  readonly page: PageFile
}

/** URL prefix of assets. */
export const assetsPath = "/console/assets/"

const pages = fileURLToPath(new URL("../pages/", import.meta.url))

const contentTypes: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml"
}

/** The best compression takes half a second for the terminal's file, and makes it a tenth smaller. */
const largeBytes = 256 * 1024

const compress = { gzip: promisify(gzip), brotli: promisify(brotliCompress) }

export const pageFile = async (contentType: string, plain: Uint8Array): Promise<PageFile> => ({
  contentType,
  etag: `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`,
  plain,
  gzip: await compress.gzip(plain, { level: constants.Z_BEST_COMPRESSION }),
  br: await compress.brotli(plain, {
    params: {
      [constants.BROTLI_PARAM_SIZE_HINT]: plain.byteLength,
      [constants.BROTLI_PARAM_QUALITY]: plain.byteLength > largeBytes ? 9 : constants.BROTLI_MAX_QUALITY
    }
  })
})

/** Without inline scripts and styles: the content security policy allows none. */
const pageOf = ({ script, style, icon }: { script: string; style: string; icon: string }) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Atoll</title>
<link rel="icon" href="${assetsPath}${icon}">
<link rel="stylesheet" href="${assetsPath}${style}">
<script type="module" src="${assetsPath}${script}"></script>
</head>
<body>
<div id="console"></div>
<noscript>The console needs JavaScript. Everything in it can also be done with the API: <a href="/docs">its reference</a></noscript>
</body>
</html>
`

const make = async (): Promise<{ readonly value: PageFiles; readonly sources: ReadonlyArray<string> }> => {
  const { files, sources } = await bundle({
    entryPoints: { main: `${pages}main.tsx`, style: `${pages}console.css`, icon: `${pages}icon.svg` },
    bundle: true,
    outdir: "assets",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ".svg": "copy" },
    format: "esm",
    splitting: true,
    platform: "browser",
    target: ["chrome120", "firefox121", "safari17.2"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    legalComments: "none",
    // The core library, without the hooks that make every component observe signals: `useValue` does that.
    alias: { "@preact/signals": "@preact/signals-core" },
    plugins: [sharing(`${pages}shared.ts`), adoptedStyles, bareSetup, leftOut, drawings]
  })
  const named = files.map(({ path, contents }) => [basename(path), contents] as const)
  const nameOf = (start: string): string => {
    const found = named.find(([name]) => name.startsWith(`${start}-`))
    if (found === undefined) throw new Error(`The console's bundle has no ${start}`)
    return found[0]
  }
  const html = pageOf({ script: nameOf("main"), style: nameOf("style"), icon: nameOf("icon") })
  const assets = await Promise.all(
    named.map(async ([name, contents]) => [name, await pageFile(contentTypes[extname(name)]!, contents)] as const)
  )
  const page = await pageFile("text/html; charset=utf-8", Buffer.from(html))
  return { value: { assets: new Map(assets), page }, sources }
}

/** The sources of this bundler and its imports. */
const makers = [".", "../../platform/bundle", "../../statechart"].flatMap((folder) => {
  const path = join(import.meta.dirname, folder)
  return readdirSync(path).map((name) => join(path, name))
})

/** A new build takes a few tenths of a second. */
export const pageFiles = (): Promise<PageFiles> => kept("console", makers, make)
