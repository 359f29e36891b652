# Completion of @PROGRAM@ in fish, as `@PROGRAM@ --manual fish` prints it.

function __@PROGRAM@_snapshots
    set -l found (complete -C "__fish_command_without_completions "(commandline -ct))
    string match -r -- '.*/$|.*\.(?:@SUFFIXES@)$' $found
    or printf '%s\n' $found
end

function __@PROGRAM@_command
    set -l before (commandline -opc)
    set -l at (contains -i -- -- $before)
    and complete -C (string join ' ' -- (string escape -- $before[(math $at + 1)..]) (commandline -ct))
    or echo --
end

complete -c @PROGRAM@ -f -a '(__@PROGRAM@_@OPERANDS@)'
@FISH_OPTIONS@
