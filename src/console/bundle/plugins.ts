/** esbuild plugins for some files of the pages. */
import { readFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import type { Plugin } from "esbuild"
import { drawnOf } from "../../statechart/drawn.ts"
import type { Statechart } from "../../statechart/Statechart.ts"

/** Makes each page's entry file import the modules that most pages share, so that these become one file instead of many small ones. */
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

/** A style sheet that a script imports is bundled into that script, and added to the document when it runs. */
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
 * A machine's `setup` without unused features: actions that send, log and the like. None of our machines uses them, and no bundler
 * can remove them from XState's own code.
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

/** Reduces a machine's file to what the machine itself, which the pages contain, does not provide. */
export const drawings: Plugin = {
  name: "drawings",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[/\\]docs[/\\]machines[/\\][^/\\]+\.json$/ }, async ({ path }) => {
      const chart: Statechart = JSON.parse(await readFile(path, "utf8"))
      return { contents: JSON.stringify(drawnOf(chart)), loader: "json" }
    })
  }
}
