# Completion for bash: commands, options, topics, workloads, policies, outputs. All names come from the program itself:
# its help and its lists. It must not hold a name of its own.

# `NAME  text` of a page, indented by two: the names.
_gpuarena_stress_names() { sed -n 's/^  \([a-z][A-Za-z0-9-]*\)\( .*\)*$/\1/p'; }

# Words of the synopsis behind `PROGRAM COMMAND [`, to the bracket that closes it.
_gpuarena_stress_topics() {
    "$1" help 2>/dev/null | tr -d '\n' | sed -n "s/.* $2 \[\([a-z| ]*\)\].*/\1/p" | tr -s '| ' '\n'
}

_gpuarena_stress_commands() {
    "$1" help 2>/dev/null | awk -v name="${1##*/}" 'sub(/^Usage:/, "") { on = 1 } on && !NF { exit } on && $1 == name { print $2 }' |
        sort -u
}

# Options, or what the option's argument may be, where it is one of some words: a|b|c.
_gpuarena_stress_options() { "$1" help 2>/dev/null | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p'; }
_gpuarena_stress_choices() {
    "$1" help 2>/dev/null | sed -n "s/^  \(-., \|    \)$2 \([a-z]*\(|[a-z]*\)\{1,\}\)  .*/\2/p" | tr '|' '\n'
}

_gpuarena_stress_recordings() { "$1" help workloads 2>/dev/null | sed -n 's/^  \(replay:[^ ]*\)$/\1/p'; }

_gpuarena_stress() {
    local program=$1 line=${COMP_LINE:0:COMP_POINT} word before last lead command=${COMP_WORDS[1]}
    word=${line##*[[:space:]]}                   # whole, though bash parts words at : and =
    before=${line%"$word"}
    read -r -a last <<<"$before"
    last=${last[${#last[@]} - 1]}
    lead=${word%"${word##*[,+]}"}                # of a list the items before the last
    local names='' stem=${word#"$lead"} files=''
    case $last in
        -w|--workload)
            case $stem in
                replay:*) names=$(_gpuarena_stress_recordings "$program"); files=replay: ;;
                *) names=$("$program" list workloads 2>/dev/null | _gpuarena_stress_names) ;;
            esac ;;
        -p|--policy) names=$("$program" list policies 2>/dev/null | _gpuarena_stress_names) ;;
        --out)
            case $word in
                *=*) lead='' stem=$word files=${word%%=*}= ;;
                *) names=$("$program" help outputs 2>/dev/null | _gpuarena_stress_names | sed 's/$/=/') ;;
            esac ;;
        help|list) names=$(_gpuarena_stress_topics "$program" "$last") lead='' stem=$word ;;
        *)
            lead='' stem=$word
            case $last in --*) names=$(_gpuarena_stress_choices "$program" "$last") ;; esac
            if [ -z "$names" ]; then
                case $word in
                    -*) names=$(_gpuarena_stress_options "$program") ;;
                    *) if [ "${#COMP_WORDS[@]}" -le 2 ]; then names=$(_gpuarena_stress_commands "$program"); else files=.; fi ;;
                esac
            fi ;;
    esac
    _gpuarena_stress_reply "$word" "$lead" "$stem" "$names" "$files"
}

# Replaces what bash takes for the word: what stands behind the last : or = of it.
_gpuarena_stress_reply() {
    local word=$1 lead=$2 stem=$3 names=$4 files=$5 path prefix found
    local -a all=()
    [ "$files" = . ] && files='' path=$stem || path=${stem#"$files"}
    for found in $names; do [[ $found == "$stem"* ]] && all+=("$lead$found"); done
    if [ -n "$5" ]; then
        compopt -o filenames 2>/dev/null         # a slash behind folders, quotes where they are needed
        while IFS= read -r found; do all+=("$lead$files$found"); done < <(compgen -f -- "$path")
    fi
    prefix=${word%"${word##*[:=]}"}
    COMPREPLY=()
    for found in "${all[@]}"; do COMPREPLY+=("${found#"$prefix"}"); done
    [[ ${#all[@]} -eq 1 && ${all[0]} == *[:=] ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -F _gpuarena_stress gpuarena-stress
