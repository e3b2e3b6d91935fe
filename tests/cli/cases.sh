# Words for the command lines of cases/*.case, beside those of sh. `stress` is the program.

# Whether this build is with CUDA.
with_cuda() { [ "$WITH_CUDA" = 1 ]; }

# Whether cases run that answer the same in every build: not under sanitizers, without CUDA, or for coverage.
once() { case $BUILT in */asan | */nocuda | */coverage) false;; esac; }

# The program refuses these words: its one line on stderr; said where the exit status is not 2.
refused() { stress "$@"; status=$?; [ $status = 2 ] || echo "exit status $status"; }

# CSV on stdin -> of every row these columns, separated by commas; what is empty is -.
columns() { perl -e '
    my ($names, %at) = shift;
    while (my $line = <STDIN>) {
        next if $line =~ /^# /;
        $line .= <STDIN> while ($line =~ tr/"//) % 2;
        my @cells;
        while ($line =~ /\G(?:"((?:[^"]|"")*)"|([^,\n]*))(,|\n)/g) { push @cells, ($1 // $2) =~ s/""/"/gr; last if $3 eq "\n" }
        if (!%at) { @at{@cells} = 0 .. $#cells; next }
        print join(" ", map { my $cell = $cells[$at{$_} // die "no column $_\n"]; length $cell ? $cell : "-" } split /,/, $names), "\n";
    }' "$1"; }

# These columns of every row of a command, without times.
rows() { names=$1; shift; stress "$@" -q --out csv=.rows; status=$?; columns "$names" <.rows; return $status; }

# .. of `stress run`, where nothing is timed
run() { names=$1; shift; rows "$names" run --no-timing "$@"; }

# What a search finds of each policy: the smallest limit, or the largest value of a workload's option; the peak requested, calls of
# the driver, pages that moved and waits at that; where and why the next value ends. `run` must say the same of both values.
confirm() { key=$1 of=$2 policies=$3 same=requested_peak_bytes,driver_calls,remapped_pages,gpu_waits; shift 3
    case $key in
    limit) rows policy,status,min_limit_bytes,$same,stop_op,stop_reason capacity -w "$of" -p "$policies" "$@";;
    *) rows policy,status,largest,$same,stop_op,stop_reason batch -w "$of" -p "$policies" --vary "$key" "$@";;
    esac >.found
    while read -r policy ended value answer; do
        for at in 0 1; do case $key-$policy in
            limit-raw) run status,$same,oom_op,oom_reason -w "$of" -p "$policy" "$@" --device sim:$((value - at * 2097152));;
            limit-*) run status,$same,oom_op,oom_reason -w "$of" -p "$policy" "$@" --limit $((value - at * 2097152));;
            *) case $of in *:*) next=,;; *) next=:;; esac
               run status,$same,oom_op,oom_reason -w "$of$next$key=$((value + at))" -p "$policy" "$@";;
        esac; done >.said
        echo "$policy $value $answer"
        [ "$ended $answer" = "$(awk '{ head = head $1; if (NR == 1) same = $2 " " $3 " " $4 " " $5 }
            END { print (head == "okoom" ? "ok" : head), same, $6, $7 }' .said)" ] || sed 's/^/run: /' .said
    done <.found; }

# Shrinks a failure, into `small`, and shows: how many operations there were before and after, the exit status, what the line
# `repro:` answers, and of the first two hundred lines that are left those that could be left out: there should be none.
shrunk() { stress shrink "$@" --out trace=small >.said 2>.err; code=$?; grep -E '^(before|after)' .said
    again="$(sed -n 's/^repro: //p' .err) -q --no-timing --out csv=.rows" told=status,oom_requested_bytes,oom_reason
    eval "$again" 2>.err; echo "exit $code, again $? $(columns $told <.rows)"; ended=$(columns $told <.rows)
    for at in $(grep -n '^[^gf#]' small | cut -d: -f1 | head -200); do
        awk -v at="$at" 'NR == at && $1 == "a" { id = $2 } NR != at && !($1 == "f" && $2 == id)' small >.less
        eval "$(echo "$again" | sed s/replay:small/replay:.less/)" 2>.err
        [ "$(columns $told <.rows)" != "$ended" ] || echo "it need not: $(sed -n "${at}p" small)"
    done; }

# A workload without its verification, on a device that is large enough: as text, and its peak requested.
bare() { stress run -w "$1" -p raw --verify off --no-timing -q --device sim:1000G --out trace=.text --out csv=.rows; }
trace() { bare "$1" && cat .text; }
peak() { bare "$1" && columns requested_peak_bytes <.rows; }

# Of each workload: operations, peak requested, and the checksum of its text. What replay reads of that is the same again.
texts() { for spec; do
    bare "$spec" || continue
    mv .text .first
    mv .rows .made
    bare replay:.first && grep -v '^#' .first | cmp - .text; columns ops,requested_peak_bytes,digest <.rows >.again
    columns ops,requested_peak_bytes,digest <.made | cmp -s - .again || grep -q '^# --faults' .first || echo "replay of $spec differs"
    echo "$(columns ops,requested_peak_bytes <.made) $(cksum <.first | cut -d' ' -f1) $spec"
done; }

# Specifications of workloads that are refused.
not_made() { for spec; do refused run -w "$spec" -p raw --verify off; done; }

# Recordings that are refused: texts with printf's escapes, behind this header.
T='gpuarena-trace 1\n' R='Thread,Time,Action,Pointer,Size,Stream\n' I='id,lower,upper,size\n'
not_read() { header=$1; shift; for text; do
    printf "$header$text" >t
    refused run -w replay:t -p raw --verify off
done; }

# .. and that are read: as trace text, of the file as it is, and with a mark and CR LF before that it must be the same.
read_as() { printf "$1" >t; trace replay:t >.as; cat .as
    { printf '\357\273\277'; sed 's/\r*$/\r/' t; } >.edited
    trace replay:.edited | cmp - .as
    trace replay:.as | cmp - .as
}

# A recording, t, of operations that are separated by `;`, with K, M and G in sizes, and L for a second in nanoseconds.
ops() { { echo 'gpuarena-trace 1'; echo "$1" | tr ';' '\n' | sed 's/^ *//; /^$/d; s/\<L\>/1000000000/' | awk '
    $1 == "a" { unit = substr($3, length($3)); $3 = sprintf("%.0f", $3 * (unit == "K" ? 1024 : unit == "M" ? 1048576 : unit == "G" ? 1073741824 : 1)) }
    { print }'; } >t; }

# A policy, words, and options: what it answers, how often it called the driver, and at each `?` live, reserved and free bytes, and
# the longest free piece. Blocks are numbered as they are asked for: 8x16M so many of this size, 1..9 one of each; !8M one that is
# refused; -3, -3.., -3..5, - all; @1 on this stream from now on; use:3 a second of work on this stream, with block 3.
told() { told_to=$1; told_what=$2; shift 2; echo "$told_what" | tr -s ' \n' '\n\n' | awk '
    function bytes(text) { return text ~ /[0-9]$/ ? text : sprintf("%.0f", text * (text ~ /K$/ ? 1024 : text ~ /M$/ ? 1048576 : text ~ /G$/ ? 1073741824 : 1)) }
    function put(line) { print line >"t"; ops++ }
    function take(size) { home[count] = stream + 0; live[count] = 1; put("a " count++ " " size " " stream + 0) }
    function drop(at) { if (live[at]) put("f " at " " stream + 0); live[at] = 0 }
    BEGIN { print "gpuarena-trace 1" >"t"; count = 0 }
    /^\?/ { print ops - 1 >".marks"; next }
    /^@/ { stream = substr($0, 2); next }
    /^use:/ { at = substr($0, 5); put("w " stream + 0 " " home[at]); put("k " stream + 0 " 1000000000 " at); ops -= 2; next }
    /^!/ { take(bytes(substr($0, 2))); drop(count - 1); next }
    /^-/ { split(substr($0, 2), ends, /\.\./); last = /\.\.$/ || $0 == "-" ? count - 1 : /\.\./ ? ends[2] : ends[1]
           for (at = ends[1] + 0; at <= last; at++) drop(at); next }
    /\.\./ { split($0, ends, /\.\./); for (at = ends[1]; at <= ends[2]; at++) take(at); next }
    /x/ { split($0, parts, "x"); for (at = 0; at < parts[1]; at++) take(bytes(parts[2])); next }
    { take(bytes($0)) }'
    stress run -w replay:t -p "$told_to" --no-timing -q --on-oom skip --out series=.series --out csv=.rows "$@" || return
    echo "$told_to $told_what: $(columns status,driver_calls <.rows) $(awk -F, '
    function show(bytes) { return bytes == 0 ? 0 : bytes % 1048576 == 0 ? bytes / 1048576 "M" : bytes % 1024 == 0 ? bytes / 1024 "K" : bytes }
    FNR == NR { marks[count++] = $1; next }
    { for (at = 0; at < count; at++) if ($4 == marks[at]) said[at] = show($7) "/" show($8) "/" show($10) "/" show($11) }
    END { for (at = 0; at < count; at++) printf " %s", said[at] }' .marks .series)"
    rm -f .marks
}

# The importer of PyTorch's snapshots, alone; of many words, a line each, in one process; and small pickles of every kind.
import() { python3 "$SOURCE/stress/import/torch_snapshot.py" "$@"; }
pickles() { python3 "$SOURCE/tests/support/import_pickles.py" "$@"; }
imports() { pickles convert "$SOURCE/stress/import/torch_snapshot.py"; }
with_python() { python3 -c 'import pickle, resource'; }
