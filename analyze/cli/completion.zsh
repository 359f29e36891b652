#compdef @PROGRAM@
# Completion of @PROGRAM@ in zsh, as `@PROGRAM@ --manual zsh` prints it.

_@PROGRAM@_argument() {
    local kind
    local -a words open
    case $1 in
@CASES@    esac
    case $kind in
    files) _files ;;
    directories) _directories ;;
    nothing) _message argument ;;
    *)
        [[ $kind == list ]] && compset -P '*,'
        open=(${(M)words:#*[:=]})
        words=(${words:#*[:=]})
        compadd -S '' -a open
        compadd -a words
        ;;
    esac
}

_@PROGRAM@_operands() {
    if [[ @OPERANDS@ == command ]]; then
        _normal
    else
        _files -g '*.(@SUFFIXES@)(-.)'
    fi
}

_@PROGRAM@() {
    _arguments -s -S \
@ZSH_OPTIONS@        '@REST@operand:_@PROGRAM@_operands'
}

_@PROGRAM@ "$@"
