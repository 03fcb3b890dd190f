# Completion of refit for bash: eval "$(refit completion bash)", or this text as
# ~/.local/share/bash-completion/completions/refit. The command itself says what may follow.
_refit() {
  local word
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    COMPREPLY+=("$word")
  done < <("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _refit refit
