# The manual page of gpuarena-stress, from what `gpuarena-stress help` prints: no fact of its own.
# It must not know any option or command: a line of the page is a heading, an item with its text, or a sentence.
# Run: gpuarena-stress help | awk -v version=0.1.0 -f man.awk

function safe(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text ~ /^[.']/ ? "\\&" text : text
}

function heading(kind, text)
{
    print kind " \"" safe(text) "\""
    is_open = 0
}

function sentence(text)
{
    if (!is_open) print ".PP"
    is_open = 1
    print safe(text)
}

# What stands behind two spaces is about what stands before them.
function item(text,    at)
{
    at = match(text, /  +/)
    if (text ~ /^-/ || at) {
        print ".TP"
        print ".B " safe(at ? substr(text, 1, at - 1) : text)
        print at ? safe(substr(text, at + RLENGTH)) : "\\&"
    } else if (index(text, program " ") == 1) {  # a command stays on its line
        print ".PP\n.nf\n.B " safe(text) "\n.fi"
    } else {
        print ".PP\n" safe(text)
    }
    is_open = 0
}

# A block: a heading and its indented lines, or sentences.
function block(    first, i)
{
    first = 1
    if (count > 1 && line[2] ~ /^ / && line[1] !~ /^ /) {
        if (line[2] ~ /^ +-/) {
            if (!has_options++) heading(".SH", "OPTIONS")
            heading(".SS", line[1])
        } else if (match(line[1], / \(/)) {
            heading(".SH", toupper(substr(line[1], 1, RSTART - 1)))
            sentence(substr(line[1], RSTART + 1))
        } else heading(".SH", toupper(line[1]))
        first = 2
    } else if (match(line[1], /^[A-Z][a-z]+: /)) {
        heading(".SH", toupper(substr(line[1], 1, RLENGTH - 2)))
        line[1] = substr(line[1], RLENGTH + 1)
    } else if (has_options && !has_notes++) heading(".SH", "NOTES")
    for (i = first; i <= count; i++) {
        if (line[i] ~ /^ /) {
            sub(/^ +/, "", line[i])
            item(line[i])
        } else sentence(line[i])
    }
}

function name(    i, text)
{
    text = line[1]
    for (i = 2; i <= count; i++) text = text " " line[i]
    sub(/: /, " - ", text)
    program = substr(text, 1, index(text, " ") - 1)
    print ".TH " toupper(safe(program)) " 1 \"\" \"gpuarena " version "\" \"gpuarena\""
    heading(".SH", "NAME")
    print safe(program) " \\- " safe(substr(text, length(program) + 4))
}

function synopsis(    i)
{
    heading(".SH", "SYNOPSIS")
    print ".nf"
    for (i = 1; i <= count; i++) {
        sub(/^(Usage:)? +/, "", line[i])
        sub(/ +$/, "", line[i])
        print (index(line[i], program " ") == 1 ? "" : "    ") safe(line[i])
    }
    print ".fi"
}

function finish()
{
    if (!count) return
    if (!blocks++) name()
    else if (line[1] ~ /^Usage:/) synopsis()
    else block()
    count = 0
}

/^$/ { finish(); next }
{ line[++count] = $0 }
END {
    finish()
    heading(".SH", "SEE ALSO")
    sentence("`" program " help TOPIC` has pages of its own on every topic that stands behind help in the synopsis.")
}
