# The workloads on which paged ranges are judged, one table for the programs that run them: footprints.pl,
# paged_bounds.t. It must not know the judgements.
# Used by: require './tests/measure/paged_workloads.pl'
use strict;
use warnings;

our $paged_device = 'sim:160G';
my $large = 'layers=32,hidden=4096,ff=11008,heads=32,batch=2,steps=12';
my @lengths = ((map { "seq=512-4096,seed=$_" } 1 .. 3), map { "seq=$_" } 1024, 2048, 3000, 4096);

# Forms of training, each at all these lengths; the second text of each line is that of the quick selection.
my @forms = (
    ['', 'seq=512-4096,seed=1'], ['recompute=1', ''],
    ['zero3=8', 'seq=2048'], ['zero3=64', ''], ['lora=16', ''], ['zero3=8,lora=16', 'seq=512-4096,seed=3'],
    ['recompute=1,zero3=8', ''], ['recompute=1,zero3=64', 'seq=3000'], ['recompute=1,lora=16', ''],
    ['recompute=1,zero3=8,lora=16', 'seq=512-4096,seed=2'],
    ['streams=2,zero3=8', ''], ['streams=2,zero3=64', ''], ['streams=2,lora=16', 'seq=512-4096,seed=1'],
    ['streams=2,zero3=8,lora=16', ''],
    # under a limit it moves more than all others: 0.164 pages an allocation at seq=3000, as measured
    ['streams=2,recompute=1,zero3=8', 'seq=4096', 0.2],
);

# Recordings of which nothing is known but that their peak is large enough: at least 1 GiB, says $is_large->(text).
sub recorded_workloads {
    my ($folder, $is_large) = @_;
    my @texts = map { "replay:$_" } sort map { glob "$folder/*.$_ $folder/*/*.$_" } qw(trace csv);
    # pages of these move more. Measured: 0.2305 and 0.0601, and 0.2540 and 0.0249 under a limit
    my %moved = (somas_pangu_13B => 0.26, 'somas_pangu_2.6B' => 0.07);
    return map { my ($name) = m{([^/]+)\.\w+$};
                 { group => "recorded: $name", text => $_, is_quick => 1, moved => $moved{$name}, moved_under_limit => $moved{$name} } }
        grep { $is_large->($_) } @texts;
}

# { group, text, is_quick, fixed: every step has the same length, moved, moved_under_limit: bounds of its own }
sub trained_workloads {
    my @all = map { { group => 'train', text => "train:seed=$_", is_quick => $_ == 1 } } 1 .. 3;
    push @all, map { { group => 'train, fixed seq', text => "train:seq=$_", is_quick => $_ == 1024, fixed => 1 } }
        512, 1024, 1500, 2048;
    for my $form (@forms) {
        my ($options, $quick, $moved_under_limit) = @$form;
        push @all, map { { group => '7B' . ($options && ", $options"),
                           text => join(',', "train:$large", $options || (), $_), is_quick => $_ eq $quick,
                           moved_under_limit => $moved_under_limit } } @lengths;
    }
    # of no table by which any default was chosen
    push @all, map { { group => 'train, other options', text => "train:$_", is_quick => scalar(/seed=12/) } }
        'zero3=4,batch=8,seq=128-1024,seed=11', 'layers=40,hidden=1536,ff=4096,lora=8,seq=200-3000,seed=12',
        'recompute=1,batch=1,seq=2000-8000,steps=10,zero3=16,seed=13', 'hidden=3072,ff=8192,heads=24,seq=700,zero3=2,seed=14';
    return @all;
}

1;
