#!/usr/bin/perl
# The policy cub-library: CUB's own allocator among the others, on a simulated device and on the libcudart substitute.
# What its rows say, and what is said where it is not: cases/passes.case. It must not test CUB's bins and cache call by call: cases/models.case does.
use strict;
use warnings;
no warnings 'qw';
use File::Copy qw(copy);
require './tests/support/stress_run.pl';
our ($folder, $stress);

$ENV{COLUMNS} = 200;
my $build = $ENV{BUILD} || 'build';
my @csv = qw(--no-timing -q --out csv=-);

sub figures {
    return rows(stress('run', @_, @csv)->{out});
}

# ---- the first table does not wait for it
{
    delete local $ENV{MAKEFLAGS};
    my @made = map { scalar qx{make -n BUILD='$folder/none' $_ 2>&1} } 'build/stress' =~ s/^build/$folder\/none/r, 'run', 'run POLICIES=raw,cub-library';
    is(join(' ', map { scalar(() = /libcub-sim\.so/g) ? 'cub' : 'none' } @made), built_with_cuda() ? 'none none cub' : 'none none none', 'make run builds it where it is asked for');
    ok($made[1] =~ m{^building \S+/stress \.\.$|^.*echo 'building}m && $made[1] !~ /CUDA Toolkit:/, '.. and says in a line that it builds');
}

if (!built_with_cuda() || !-e "$build/libcub-sim.so") {
    skip('libcub-sim.so is not in this build: it needs a C++17 compiler and the CUDA Toolkit');
    done();
}
ok(stress(qw(list policies))->{out} =~ /^  cub-library  +CUB's .*bin_growth 8, min_bin 3, max_bin 7.* bind it$/m,
   'the list has it, with its parameters');

# ---- a library of another build has another machine in mind
{
    mkdir "$folder/$_" for qw(stale alone);
    copy("$build/stress", "$folder/alone/stress") && chmod 0755, "$folder/alone/stress" or die "a copy: $!";
    my $calls = join '', map { "int cub_library_$_(void) { return 0; }\n" } qw(open close alloc free trim measure);
    for my $build_of ('', "const char *cudart_build(void) { return \"0.0.1 8 8 8 8\"; }\n") {
        my $source = spew('stale.c', $calls . "int cudart_attach(void) { return 0; }\n" . $build_of);
        my $compiler = $ENV{CC} || 'cc';
        if (system "$compiler -w -shared -fPIC -o $folder/stale/libcub-sim.so $source 2>/dev/null") {
            skip("$compiler makes no shared library");
            next;
        }
        local $ENV{LD_LIBRARY_PATH} = "$folder/stale";
        local $stress = "$folder/alone/stress";
        my $found = $build_of ? '0\.0\.1 8 8 8 8' : 'one that does not say';
        refused(77, qr/policy 'cub-library': libcub-sim.so is of another build: expected \d\S* \d.*, found $found; make all/,
                qw(run -w uniform:n=100 -p cub-library));
    }
}

# ---- from elsewhere, and with a runtime of its own whatever the process has
my $here = qx{pwd};
chomp $here;
my $path = $stress =~ m{^/} ? $stress : "$here/$stress";
my @few = (qw(run -w uniform:n=200 -p cub-library), @csv);
is(scalar qx{cd / && '$path' @few 2>&1}, stress(@few)->{out}, 'found from any folder');
my $symbols = join '', qx{nm -D '$build/libcub-sim.so' 2>/dev/null};
if ($symbols) {
    is(join(' ', sort grep { !/^_(?:init|fini)$/ } $symbols =~ / [TDBRV] (\S+)$/mg),
       'cub_library_exports cudart_attach cudart_build', 'libcub-sim.so exports these alone');
    is(join(' ', $symbols =~ / U ((?:__)?cuda\S*|sim_\S*)$/mg), '', 'and takes no call of CUDA from elsewhere');
} else {
    skip('nm is not installed');
}

# ---- over CUDA, here on the libcudart substitute: the same library does the same, its calls counted by the device
my $whole = $build =~ m{^/} ? $build : "$here/$build";
my $sim = "$whole/sim";
if (-e "$sim/libcudart.so") {
    my @words = qw(-w uniform:n=500 -p raw,cub-library);
    my ($sim_raw, $sim_cub) = figures(@words);
    my ($poor) = figures(qw(-w uniform:n=2000,max=64 -p cub-library --device sim:1G));
    local $ENV{LD_LIBRARY_PATH} = "$sim:$whole";
    my $cuda = stress('run', @words, @csv, qw(--device cuda:0 --verify full));
    is("$cuda->{code} $cuda->{err}", '0 ', 'on cuda:0, with contents read back');
    my ($cuda_raw, $cuda_cub) = map { $_ // {} } rows($cuda->{out});
    is(join(' ', @$cuda_cub{qw(status digest driver_calls requested_peak_bytes live_peak_bytes)}),
       join(' ', @$sim_cub{qw(status digest driver_calls requested_peak_bytes live_peak_bytes)}), 'the same figures');
    is($cuda_cub->{driver_vns}, '', 'and no virtual time');
    is($cuda_cub->{reserved_peak_bytes}, $sim_cub->{reserved_peak_bytes}, 'it holds as much');
    local $ENV{GPUARENA_SIM} = 'device=1G';
    my ($full) = figures(qw(-w uniform:n=2000,max=64 -p cub-library --device cuda:0));
    is(join(' ', @$full{qw(status oom_op)}), join(' ', 'oom', $poor->{oom_op}), 'out of memory there: a result');
} else {
    skip("$sim/libcudart.so is not in this build");
}

done();
