/** What the pages' bundle does with some of their files, besides what esbuild does with all. */
import { readFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import type { Plugin } from "esbuild"
import { drawnOf } from "../../statechart/drawn.ts"
import type { Statechart } from "../../statechart/Statechart.ts"

/** Each page's own file begins with what most pages have in common, so that this is one file, and not many of a few lines. */
export const sharing = (common: string): Plugin => ({
  name: "sharing",
  setup: ({ onResolve, onLoad }) => {
    const isPage = { isPage: true }
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) =>
      kind === "dynamic-import" ? { path: resolve(resolveDir, path), pluginData: isPage } : undefined
    )
    onLoad({ filter: /\.tsx$/ }, async ({ path, pluginData }) =>
      pluginData === isPage
        ? {
            contents: `import ${JSON.stringify(common)}\n${await readFile(path, "utf8")}`,
            loader: "tsx",
            resolveDir: dirname(path)
          }
        : undefined
    )
  }
})

/** A style sheet that a script imports comes with that script, and is the document's from then on. */
export const adoptedStyles: Plugin = {
  name: "adopted styles",
  setup: ({ onResolve, onLoad, esbuild, initialOptions: { target, minify, legalComments } }) => {
    onResolve({ filter: /\.css$/ }, ({ kind, path, resolveDir }) =>
      kind === "import-statement" ? { path: resolve(resolveDir, path), namespace: "adopted" } : undefined
    )
    onLoad({ filter: /./, namespace: "adopted" }, async ({ path }) => {
      const { outputFiles } = await esbuild.build({
        entryPoints: [path],
        bundle: true,
        write: false,
        logLevel: "silent",
        ...(target === undefined ? {} : { target }),
        ...(minify === undefined ? {} : { minify }),
        ...(legalComments === undefined ? {} : { legalComments })
      })
      const css = JSON.stringify(outputFiles[0]!.text.trim())
      return {
        contents: `const sheet = new CSSStyleSheet()
sheet.replaceSync(${css})
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]`
      }
    })
  }
}

/**
 * A machine's `setup` without what it could also make: actions that send, log and the like, which no machine of ours has, and which nothing
 * could leave out that looks at XState's own.
 *
 * @source XState 5.33.3, `setup` in src/setup.ts: its `createMachine` is this one
 */
export const bareSetup: Plugin = {
  name: "bare setup",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^xstate$/ }, ({ importer }) =>
      /[/\\]machines[/\\][^/\\]+\.ts$/.test(importer)
        ? { path: "setup", namespace: "bare", pluginData: dirname(importer) }
        : undefined
    )
    onLoad({ filter: /./, namespace: "bare" }, ({ pluginData }) => ({
      contents: `import { createMachine } from "xstate"
export { assign } from "xstate"
export const setup = ({ schemas, ...implementations }) => ({
  createMachine: (config) => createMachine({ ...config, schemas }, implementations)
})`,
      resolveDir: pluginData
    }))
  }
}

/** Of a machine's file: what the machine, which the pages have anyhow, does not say itself. */
export const drawings: Plugin = {
  name: "drawings",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[/\\]docs[/\\]machines[/\\][^/\\]+\.json$/ }, async ({ path }) => {
      const chart: Statechart = JSON.parse(await readFile(path, "utf8"))
      return { contents: JSON.stringify(drawnOf(chart)), loader: "json" }
    })
  }
}
