/**
 * The scripts with which a shell asks `atoll __complete` for words. Each line of the answer is a word, a tab, and its
 * description; `:file` stands for the shell's own files.
 */

const bash = `# Completion of atoll for bash: eval "$(atoll completion bash)"
_atoll() {
  local line=\${COMP_LINE:0:COMP_POINT} cur head words candidate files=
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  cur=\${words[\${#words[@]}-1]}
  # Readline replaces what stands behind the last of its own breaks.
  head=
  [[ $cur == *[:=]* ]] && head=\${cur%"\${cur##*[:=]}"}
  COMPREPLY=()
  while IFS=$'\\t' read -r candidate _; do
    if [[ $candidate == :file ]]; then files=1
    elif [[ $candidate == "$cur"* ]]; then COMPREPLY+=("\${candidate#"$head"}"); fi
  done < <("$1" __complete "\${words[@]:1}" 2>/dev/null)
  if [[ $files ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "\${cur#"$head"}")
  fi
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *[/:=] ]]; then compopt -o nospace 2>/dev/null; fi
  return 0
}
complete -F _atoll atoll`

const zsh = `#compdef atoll
# Completion of atoll for zsh: source <(atoll completion zsh)
_atoll() {
  local -a lines candidates
  local line files=
  lines=("\${(@f)$("$words[1]" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    if [[ $line == :file ]]; then files=1
    else candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}"); fi
  done
  if (( $#candidates )); then _describe -V atoll candidates; fi
  if [[ -n $files ]]; then _files; fi
}
if [[ $funcstack[1] == _atoll ]]; then _atoll; else compdef _atoll atoll; fi`

const fish = `# Completion of atoll for fish: atoll completion fish | source
function __atoll_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (command $words[1] __complete $words[2..-1] 2>/dev/null)
    if test "$line" = ":file"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c atoll -f -a '(__atoll_complete)'`

export const scripts = { bash, zsh, fish } as const

export const shells = Object.keys(scripts) as ReadonlyArray<keyof typeof scripts>
