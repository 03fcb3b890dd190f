#compdef refit
# Completion of refit for zsh: eval "$(refit completion zsh)" after compinit, or this text as a
# file _refit in a folder of $fpath. The command itself says what may follow.
_refit() {
  local line
  local -a found
  for line in ${(f)"$(${words[1]} completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
    found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( ${#found} )); then
    _describe refit found
  else
    _files
  fi
}
if [[ ${funcstack[1]} == _refit ]]; then
  _refit "$@"
else
  compdef _refit refit
fi
