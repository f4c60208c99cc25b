/** `atoll completion` */
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { writeLine } from "../standardStreams.ts"
import { oneOf } from "../values.ts"
import { scripts, shells } from "./scripts.ts"

export const completion = command({
  name: "completion",
  summary: "Print what makes a shell complete commands, options, Sandboxes and paths",
  usage: "bash | zsh | fish",
  details: [
    'bash:  eval "$(atoll completion bash)"       in ~/.bashrc',
    "zsh:   source <(atoll completion zsh)        in ~/.zshrc, behind compinit",
    "fish:  atoll completion fish | source        in ~/.config/fish/config.fish"
  ].join("\n"),
  options: {},
  words: { least: 1, most: 1, completes: [shells] },
  examples: [["completion bash > /etc/bash_completion.d/atoll", "For everybody on a machine"]],
  run: async (given) => {
    await writeLine(scripts[oneOf("completion", given.words[0]!, shells)])
    return exitCodes.done
  }
})
