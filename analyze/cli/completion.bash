# Completion of @PROGRAM@ in bash, as `@PROGRAM@ --manual bash` prints it.

_@PROGRAM@()
{
    local word= before= ended= kind=@OPERANDS@ typed head= last=${COMP_WORDS[COMP_CWORD]} piece stem i
    local -a words=() fitting=()
    COMPREPLY=()
    for ((i = 1; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if [[ $i -gt 1 && -z $ended && ($piece == [=:]* || ${COMP_WORDS[i - 1]} == *[=:]) ]]; then
            word+=$piece # readline has broken it there
            continue
        fi
        [[ $word == -- && -z $ended ]] && ended=$i
        before=$word word=$piece
    done
    if [[ $ended ]]; then
        before=
    elif [[ $word == --*=* ]]; then
        before=${word%%=*} word=${word#*=}
    elif [[ $word == -* ]]; then
        kind=words words=(@OPTIONS@ )
    elif [[ $kind == command ]]; then
        kind=words words=(--)
    fi
    case $before in
@CASES@    esac
    typed=${word//\\/}
    typed=${typed#[\"\']}
    [[ $last == [=:] ]] && last=
    stem=${word%"$last"}
    case $kind in
    command)
        if declare -F _command_offset >/dev/null; then
            _command_offset "$ended"
            return
        fi
        [[ $COMP_CWORD == "$ended" ]] && i=-c || i=-f
        mapfile -t COMPREPLY < <(compgen "$i" -- "$typed")
        ;;
    words | list)
        [[ $kind == list && $typed == *,* ]] && head=${typed%,*},
        for i in "${words[@]}"; do
            i=$head$i
            [[ ${i,,} == "${typed,,}"* ]] && COMPREPLY+=("$i")
            [[ $i == *' '* ]] && compopt -o filenames 2>/dev/null # which quotes them
        done
        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace 2>/dev/null
        ;;
    directories)
        mapfile -t COMPREPLY < <(compgen -d -- "$typed")
        compopt -o filenames 2>/dev/null
        ;;
    files | snapshots)
        mapfile -t COMPREPLY < <(compgen -f -- "$typed")
        for i in "${COMPREPLY[@]}"; do
            [[ -d ${i/#\~\//$HOME/} || $i =~ \.(@SUFFIXES@)$ ]] && fitting+=("$i")
        done
        [[ $kind == snapshots && ${#fitting[@]} -gt 0 ]] && COMPREPLY=("${fitting[@]}")
        compopt -o filenames 2>/dev/null
        ;;
    esac
    COMPREPLY=("${COMPREPLY[@]#"$stem"}")
}
complete -F _@PROGRAM@ @PROGRAM@
