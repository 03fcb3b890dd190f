# Completion of refit for fish: refit completion fish | source, or this text as
# ~/.config/fish/completions/refit.fish. The command itself says what may follow.
function __refit_words
    set -l words (commandline -opc) (commandline -ct)
    set -l found (command $words[1] completion words -- $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c refit -f -a '(__refit_words)'
