#!/usr/bin/perl
# Sixteen shards as the array of a real Slurm, on loopback, merged: byte for byte the output of one run. Slurm's
# daemons and munge's are started in a folder of their own, as the user who runs this, and ended with it; where they
# are not installed, or do not start, the test says so. It must not test merging itself: cases/shard.case does.
# Runs once: it is about Slurm, and takes a minute.
use strict;
use warnings;
use Cwd qw(abs_path);
use POSIX qw(:sys_wait_h);
require './tests/support/stress_run.pl';
our ($folder, $stress);

$ENV{PATH} .= ':/usr/sbin:/sbin';
my @daemons;                                     # process ids, in the order in which they were started

END {
    my $status = $?;
    kill 'TERM', $_ for reverse @daemons;
    for my $daemon (@daemons) {
        for (1 .. 50) { last if waitpid($daemon, WNOHANG) == $daemon; select undef, undef, undef, 0.1; }
        kill 'KILL', $daemon;
    }
    $? = $status;
}

sub leave {
    my ($why) = @_;
    skip("no Slurm array: $why");
    done();
    exit 0;
}

sub found {
    my ($program) = @_;
    return grep { -x "$_/$program" } split /:/, $ENV{PATH};
}

# Starts a daemon in its foreground mode, as our child.
sub start {
    my ($name, @words) = @_;
    my $child = fork // die "fork: $!";
    if (!$child) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$folder/$name.out";
        open STDERR, '>&', \*STDOUT;
        exec $name, @words or POSIX::_exit(126);
    }
    push @daemons, $child;
}

# Waits until a condition holds. 0: a daemon ended, or the time is up.
sub wait_for {
    my ($seconds, $what) = @_;
    for (1 .. 5 * $seconds) {
        return 1 if $what->();
        return 0 if grep { waitpid($_, WNOHANG) == $_ } @daemons;
        select undef, undef, undef, 0.2;
    }
    return 0;
}

sub last_line {
    my @lines = grep { /\S/ } map { split /\n/, slurp("$folder/$_") } @_;
    return $lines[-1] // 'no word of why';
}

my @missing = grep { !found($_) } qw(munged slurmctld slurmd sbatch squeue sinfo);
leave("not installed: @missing") if @missing;
chmod 0700, $folder;
mkdir "$folder/$_" or die "$folder/$_: $!" for qw(state spool out);

# ---- munge, with a key of its own
open my $random, '<:raw', '/dev/urandom' or leave("/dev/urandom: $!");
read $random, my $key, 1024;
chmod 0600, spew('munge.key', $key);
start('munged', '--foreground', '--force', "--key-file=$folder/munge.key", "--socket=$folder/munge.socket",
      "--pid-file=$folder/munged.pid", "--log-file=$folder/munged.log", "--seed-file=$folder/munge.seed", '--num-threads=2');
leave('munged does not start: ' . last_line('munged.out', 'munged.log')) if !wait_for(10, sub { -S "$folder/munge.socket" });

# ---- one controller, one node of 16 processors, whatever there are
my ($user) = getpwuid $<;
my ($host, $port) = ((POSIX::uname())[1], 20000 + $$ % 20000);
$host =~ s/\..*//;
$ENV{SLURM_CONF} = spew('slurm.conf', <<"END");
ClusterName=gpuarena
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
NodeName=node NodeHostname=$host NodeAddr=127.0.0.1 Port=@{[$port + 1]} CPUs=16 State=UNKNOWN
PartitionName=all Nodes=node Default=YES MaxTime=INFINITE State=UP
END
start('slurmctld', '-D', '-c');
start('slurmd', '-D', '-N', 'node');
leave('its daemons do not start: ' . last_line('slurmctld.out', 'slurmd.out'))
    if !wait_for(30, sub { qx{sinfo -h -o %t 2>/dev/null} =~ /^(?:idle|mix|alloc)/m });

# ---- the array
my @rows = ('-w', 'uniform:n=200,train:layers=1,steps=1,producer:n=50,larson:rounds=1', '-p', 'raw,segments,paged,bfc,pytorch',
            '--seed', 5, '--no-timing');
my $program = abs_path($stress);
my $batch = spew('job.sh', join("\n", '#!/bin/sh', "cd '$folder' || exit 1",
    "exec '$program' run -q " . join(' ', map { "'$_'" } @rows) . " --out 'csv=out/{shard}.csv'", ''));
my $job = qx{sbatch --parsable --array=0-15 --output='$folder/job-%a.log' '$batch' 2>&1};
chomp $job;
ok($job =~ /^\d+$/, "sbatch --array=0-15: job $job");
ok(wait_for(120, sub { qx{squeue -h 2>/dev/null} !~ /\S/ && $? == 0 }), 'the array ends') or print '#   ', last_line('slurmd.out'), "\n";
my @logs = grep { /from SLURM_ARRAY_TASK_ID/ } map { slurp("$folder/job-$_.log") } 0 .. 15;
is(scalar @logs, 16, 'each knew its shard from SLURM_ARRAY_TASK_ID') or print "#   $_\n" for split /\n/, slurp("$folder/job-0.log");
my @files = glob "$folder/out/*.csv";
is(scalar @files, 16, 'sixteen files');
my $merged = stress('merge', @files, '--out', 'csv=-');
my $whole = stress('run', '-q', @rows, '--out', 'csv=-');
is($merged->{code}, 0, 'merge: exit 0') or print "#   $merged->{err}\n";
ok(length $whole->{out} && $merged->{out} eq $whole->{out}, 'merged they are what one run writes, byte for byte');
done();
