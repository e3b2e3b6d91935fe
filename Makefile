# Builds what this machine can build, all of it under $(BUILD). Needs GNU Make, a C compiler, libc; perl for tests.
# The CUDA Toolkit, a C++17 compiler and nvcc add what needs them; what is left out for want of one is said.
#   make CC=clang   make CFLAGS="-g -O0"   make BUILD=/tmp/gpuarena   make V=1   make WERROR=1   make help
# Change flags as often as you like: what was built with others is built again. Paths must not contain spaces.

# ---- yours to set
BUILD      ?= build
CFLAGS     ?= -O2 -g
LDFLAGS    ?=
PREFIX     ?= /usr/local
DESTDIR    ?=
WORKLOADS  ?= train,uniform
POLICIES   ?= raw,segments,paged
BENCH_CSV  ?= $(BUILD)/bench.csv
HOLES_CSV  ?= $(BUILD)/holes.csv
PROVE      ?= prove -j$(JOBS)
TESTS      ?= $(TEST_SCRIPTS) $(TEST_PROGRAMS)
CUDA_HOME  ?= $(or $(CUDA_PATH),$(patsubst %/include/cuda_runtime_api.h,%,$(firstword $(wildcard \
                  /usr/local/cuda/include/cuda_runtime_api.h /usr/include/cuda_runtime_api.h))),/usr/local/cuda)
TORCH_PYTHON ?= python3
NVCC       ?= $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc))

# ---- not yours to set: the language, and what must stay free of warnings
DIALECT  := -std=c99 -D_POSIX_C_SOURCE=200809L
WARNINGS := -Wall -Wextra -pedantic -Wconversion -Wshadow -Wcast-qual -Wundef $(if $(WERROR),-Werror)
LIBS     := -lpthread -lm -ldl
COMPILE   = $(CC) $(DIALECT) $(WARNINGS) $(CUDA_FLAGS) $(CPPFLAGS) $(CFLAGS) $(OPTIMISED)
COMPILE_CXX = $(CXX) -std=c++17 -Wall -Wextra $(if $(WERROR),-Werror) $(CUDA_FLAGS) $(CPPFLAGS) $(CFLAGS) $(OPTIMISED)
LINK      = $(CC) $(CFLAGS) $(LDFLAGS)
SANITIZE := -fsanitize=address,undefined
TEST_INCLUDES := -iquote . -iquote tests/support -DTESTS_FOLDER='"$(CURDIR)/tests"'
Q        := $(if $(filter 1,$(V)),,@)

# ---- the CUDA Toolkit: its headers and its libcudart, or neither. Programs are linked with the substitute, which has
# the same name and symbols, so that a call that it lacks shows when linking; they run on either.
CUDA_HEADER := $(wildcard $(CUDA_HOME)/include/cuda_runtime_api.h)
CUDA_LIBS   := $(patsubst %/,%,$(dir $(firstword $(wildcard $(foreach folder,lib64 lib lib/x86_64-linux-gnu \
                   targets/x86_64-linux/lib,$(CUDA_HOME)/$(folder)/libcudart.so*)))))
ifeq ($(and $(CUDA_HEADER),$(CUDA_LIBS)),)
CUDA        :=
CUDA_FLAGS  := -DGPUARENA_NO_CUDA
TOOLKIT      = CUDA Toolkit: not found in $(CUDA_HOME)$(if $(CUDA_HEADER), (headers, but no libcudart)); left out are the \
               CUDA driver table, --device cuda:N, the libcudart substitute, cub-library, libgpuarena*.so, $(LEFT_OUT)
else
CUDA        := 1
CUDA_FLAGS  := $(if $(filter /usr,$(CUDA_HOME)),,-isystem $(CUDA_HOME)/include)
CUDA_NUMBER := $(shell awk '/define *CUDART_VERSION/ { print $$3; exit }' '$(CUDA_HEADER)')
CUDA_MAJOR  := $(shell echo $$(( $(CUDA_NUMBER) / 1000 )))
CUDA_SONAME := libcudart.so.$(if $(filter 11,$(CUDA_MAJOR)),11.0,$(CUDA_MAJOR))
CUB_FOLDER  := $(patsubst %/cub/util_allocator.cuh,%,$(firstword $(wildcard \
                   $(CUDA_HOME)/include/cccl/cub/util_allocator.cuh $(CUDA_HOME)/include/cub/util_allocator.cuh)))
HAVE_CXX    := $(shell echo 'int main() { return 0; }' | $(CXX) -std=c++17 -x c++ - -fsyntax-only 2>/dev/null && echo 1)
RUNS_ON_CUDA = -Wl,--enable-new-dtags,-rpath,$(CUDA_LIBS)
TOOLKIT      = CUDA Toolkit: $(CUDA_NUMBER) in $(CUDA_HOME)$(if $(HAVE_CXX),,; no C++17 compiler, so no \
               cub-library)$(if $(NVCC),,; no nvcc)$(if $(LEFT_OUT),; left out: $(LEFT_OUT))
endif

# ---- what there is: a file in one of these folders is part of the build, without further ado
STRESS_FOLDERS := $(addprefix stress/,base sim workload device policy result run report measure command)
STRESS_SOURCES := $(wildcard $(STRESS_FOLDERS:%=%/*.c))
TEST_SOURCES   := $(wildcard tests/*/test_*.c tests/unit/*/test_*.c)
TEST_SCRIPTS   := $(wildcard tests/*/*.t)
BENCH_SOURCES  := $(wildcard tests/measure/bench.c)
NVTX           := $(and $(CUDA),$(wildcard $(CUDA_HOME)/include/nvtx3/nvToolsExtMem.h))
EXAMPLE_SOURCES := $(filter-out $(if $(CUDA),,examples/04% examples/06% examples/07% examples/12%) $(if $(NVTX),,examples/15%),$(wildcard examples/[0-9]*.c))
EXAMPLE_CXX_SOURCES := $(if $(and $(CUDA),$(HAVE_CXX)),$(wildcard examples/[0-9]*.cc))
EXAMPLE_CUDA_SOURCES := $(if $(and $(CUDA),$(NVCC)),$(wildcard examples/[0-9]*.cu))
CUDART_SOURCES := $(wildcard stress/cudart/*.c)

LIBRARY        := $(BUILD)/libstress.a
CUDART         := $(if $(CUDA),$(BUILD)/sim/libcudart.so $(BUILD)/gpuarena-sim)
INSTALLED_LIBS  = $(strip $(filter-out %/libcub-null.so,$(CUB)) $(if $(CUDA),$(BUILD)/libcudart-sim.so $(PRELOAD)))
CUB            := $(if $(and $(CUDA),$(HAVE_CXX),$(CUB_FOLDER)),$(BUILD)/libcub-sim.so $(BUILD)/libcub-cuda.so \
                      $(BUILD)/libcub-null.so)
STRESS         := $(BUILD)/stress
PROGRAMS        = $(patsubst %.c,$(BUILD)/tests/%,$(notdir $(1)))
TEST_PROGRAMS  := $(call PROGRAMS,$(TEST_SOURCES))
EXAMPLES       := $(EXAMPLE_SOURCES:%.c=$(BUILD)/%) $(EXAMPLE_CUDA_SOURCES:%.cu=$(BUILD)/%) \
                  $(EXAMPLE_CXX_SOURCES:%.cc=$(BUILD)/%)
LEFT_OUT       := $(filter-out $(EXAMPLES:$(BUILD)/%=%),$(basename $(wildcard examples/[0-9]*)))
PRELOAD        := $(if $(CUDA),$(BUILD)/libgpuarena-preload.so $(BUILD)/libgpuarena-record.so $(BUILD)/libgpuarena.so $(BUILD)/libgpuarena_ort.so)
BENCH          := $(BENCH_SOURCES:tests/measure/%.c=$(BUILD)/%)
ALL_SOURCES    := $(STRESS_SOURCES) stress/main.c $(TEST_SOURCES) $(EXAMPLE_SOURCES) $(BENCH_SOURCES)
PIC_SOURCES    := $(addprefix stress/base/,program.c text.c sets.c) $(wildcard stress/sim/*.c) $(CUDART_SOURCES)
LIBRARY_OBJECTS := $(patsubst %.c,$(BUILD)/pic/%.o,$(filter $(PIC_SOURCES),$(STRESS_SOURCES))) \
                   $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out $(PIC_SOURCES),$(STRESS_SOURCES)))

ifneq ($(words x $(CURDIR) $(BUILD)),3)
$(error paths with spaces are not supported: "$(CURDIR)", BUILD="$(BUILD)")
endif
.DELETE_ON_ERROR:
.PHONY: all examples everything run check needed test asan tsan fuzz golden valgrind bench profile footprints policies pictures mutants coverage bounds torch install uninstall clean help toolkit FORCE

all: toolkit $(STRESS) $(CUDART) $(CUB) $(PRELOAD)  ## build the stress program and its libraries (the default)

examples: toolkit $(EXAMPLES)  ## build the example programs

everything: all examples $(TEST_PROGRAMS) $(BENCH)  ## build all that this machine can build, the tests too

# what the run needs and no more, by as many jobs as there are processors where -j was not given; V=1 shows the commands
RUN_NEEDS := $(STRESS) $(if $(findstring cub-library,$(POLICIES)),$(CUB))
RUN_MAKE   = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))
JOBS      := $(or $(shell getconf _NPROCESSORS_ONLN 2>/dev/null),1)

run:  ## the main job: cudaMalloc against the pool, as a table; WORKLOADS=.. POLICIES=.. ARGS=..
	@$(MAKE) -sq $(RUN_NEEDS) 2>/dev/null || { echo 'building $(STRESS) ..' && $(RUN_MAKE) $(RUN_NEEDS) $(if $(Q),>/dev/null); }
	$(Q)$(STRESS) run -w $(WORKLOADS) -p $(POLICIES) --device auto $(ARGS)

# what asks the header: not the tests of the stress program
COVERING = $(call PROGRAMS,$(wildcard tests/unit/arena/*.c tests/unit/cuda/*.c tests/property/*.c tests/schedule/*.c tests/threads/*.c))

# what the tests named need: programs themselves, and what scripts run; everything for a test that is named otherwise
NEEDED = $(filter $(BUILD)/tests/%,$(TESTS)) $(CUDART) $(CUB) $(if $(filter tests/%.t,$(TESTS)),$(STRESS) $(BENCH)) \
         $(if $(filter tests/real/examples.t tests/real/gpu.t,$(TESTS)),$(EXAMPLES)) \
         $(if $(filter tests/schedule/fits.t,$(TESTS)),$(BUILD)/tests/test_schedules) \
         $(if $(filter tests/real/preload.t tests/real/python.t tests/real/onnxruntime.t,$(TESTS)),$(PRELOAD)) \
         $(if $(filter-out $(BUILD)/tests/% tests/%.t,$(TESTS)),everything)

# what a change is checked by while it is made: everything but builds, planted mistakes, and what is long or of others
LONG = $(shell grep -lE '^\# (Takes long|Runs once): ' $(TEST_SCRIPTS))

check:  ## the quick tests, a minute on two processors
	$(Q)$(MAKE) --no-print-directory test TESTS='$$(filter-out $$(LONG),$$(wildcard tests/cli/*.t tests/scenario/*.t)) $$(TEST_PROGRAMS)'

needed: $(NEEDED)

# What takes longest begins first, so that no processor waits for it at the end.
LONGEST = $(addprefix $(BUILD)/tests/,test_space test_schedules test_scripts) tests/compile/compile.t tests/mutation/%.t \
          tests/real/clients.t tests/real/examples.t tests/scenario/paged_bounds.t tests/cli/cases.t

test: toolkit  ## run all tests; some of them: TESTS="build/tests/test_x tests/y.t"
	+$(Q)$(RUN_MAKE) needed
	$(Q)BUILD='$(BUILD)' CUDA_FLAGS='$(CUDA_FLAGS)' $(PROVE) $(filter $(LONGEST),$(TESTS)) $(filter-out $(LONGEST),$(TESTS))

# make parse/FILE.c: the compiler looks at it, and builds nothing
parse/%: FORCE
	$(Q)$(COMPILE) $(if $(filter tests/%,$*),$(TEST_INCLUDES)) -fsyntax-only $*

# What runs once, whatever the build: what is about builds, and orders of threads, which take their own copies of the
# header; and tests that say so themselves, by a line `Runs once: why`, behind a `# ` in scripts. A sanitizer's own dlopen
# does not know the program's rpath, so that libcub must be found otherwise.
RUNS_ONCE = $(call PROGRAMS,$(wildcard tests/schedule/*.c) $(shell grep -lE '^ +Runs once: ' $(TEST_SOURCES))) \
            $(wildcard tests/compile/*.t tests/mutation/*.t) $(shell grep -l '^\# Runs once: ' $(TEST_SCRIPTS))

# A library that is loaded needs the sanitizers' run-time library too: gcc shares it by default, clang where it is told to.
ifneq ($(findstring clang,$(CC)),)
SHARE_SANITIZER := -shared-libsan
FIND_SANITIZER   = -Wl,-rpath,$(shell $(CC) -print-runtime-dir)
endif

# What contains the header is not optimised: with sanitizers that is built longer than it runs. The simulated device and
# the workloads are. And what the round without sanitizers runs in full is drawn less often here.
ASAN_LESS = GPUARENA_SPACE_OPS='$(or $(GPUARENA_SPACE_OPS),200000)' GPUARENA_FAILURES='$(or $(GPUARENA_FAILURES),999)'

asan: | $(BUILD)/  ## all tests with the header's asserts, AddressSanitizer and UndefinedBehaviorSanitizer, in BUILD/asan
	$(Q)if echo 'int main(void) { return 0; }' | $(CC) -x c - $(SANITIZE) -o $(BUILD)/sanitizer_probe 2>/dev/null; then \
	    LD_LIBRARY_PATH='$(abspath $(BUILD))/asan' $(ASAN_LESS) $(MAKE) test BUILD='$(BUILD)/asan' NVCC= STRESS_CFLAGS=-O1 LDFLAGS='$(SANITIZE) $(SHARE_SANITIZER) $(FIND_SANITIZER)' \
	        TESTS='$$(filter-out $$(RUNS_ONCE),$$(TEST_PROGRAMS) $$(TEST_SCRIPTS))' \
	        CFLAGS='-g1 -O0 -fno-omit-frame-pointer -fno-sanitize-recover=all -include tests/support/asserts.h $(SANITIZE) $(SHARE_SANITIZER)'; \
	else echo 'asan: skipped, $(CC) cannot link with $(SANITIZE)'; fi

TSAN_TESTS = $(patsubst $(BUILD)/%,$(BUILD)/tsan/%,$(call PROGRAMS,$(wildcard tests/threads/*.c)))

tsan: | $(BUILD)/  ## the tests with threads under ThreadSanitizer, in BUILD/tsan; GPUARENA_THREAD_OPS=10000000: minutes
	$(Q)if echo 'int main(void) { return 0; }' | $(CC) -x c - -fsanitize=thread -o $(BUILD)/sanitizer_probe 2>/dev/null \
	    && $(BUILD)/sanitizer_probe 2>/dev/null; then \
	    $(MAKE) BUILD='$(BUILD)/tsan' NVCC= LDFLAGS=-fsanitize=thread CFLAGS='-g1 -O1 -fsanitize=thread' $(TSAN_TESTS) && \
	    TSAN_OPTIONS='halt_on_error=1 exitcode=66' BUILD='$(BUILD)/tsan' $(PROVE) $(TSAN_TESTS); \
	else echo 'tsan: skipped, what $(CC) links with -fsanitize=thread does not run'; fi

# each looks from where the corpus is now; what it finds it leaves in BUILD, and the run fails
FUZZ         ?= $(notdir $(wildcard tests/fuzz/corpus/*))
FUZZ_SECONDS ?= 60

fuzz: | $(BUILD)/  ## look for inputs that parsers cannot bear, with clang's libFuzzer: FUZZ="trace csv" FUZZ_SECONDS=60 each
	$(Q)if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
	    clang -x c - -fsanitize=fuzzer,address,undefined -o $(BUILD)/sanitizer_probe 2>/dev/null; then \
	    $(MAKE) CC=clang BUILD='$(BUILD)/fuzz' CUDA_HOME=/nonexistent LDFLAGS='-fsanitize=fuzzer,address,undefined' \
	        CFLAGS='-g1 -O1 -fno-sanitize-recover=all -fsanitize=fuzzer-no-link,address,undefined -DGPUARENA_LIBFUZZER' \
	        '$(BUILD)/fuzz/tests/test_fuzz' && for name in $(FUZZ); do \
	        mkdir -p '$(BUILD)/fuzz/found/'$$name && echo "fuzz: $$name, $(FUZZ_SECONDS) s" && \
	        GPUARENA_FUZZ=$$name '$(BUILD)/fuzz/tests/test_fuzz' -max_total_time=$(FUZZ_SECONDS) -timeout=10 -max_len=4096 -verbosity=0 \
	            -print_final_stats=1 -artifact_prefix='$(BUILD)/fuzz/'$$name- \
	            '$(BUILD)/fuzz/found/'$$name tests/fuzz/corpus/$$name || exit 1; done; \
	else echo 'fuzz: skipped, there is no clang with -fsanitize=fuzzer'; fi

golden: $(BUILD)/tests/test_sentences $(BUILD)/tests/test_report $(STRESS) $(CUDART) $(CUB)  ## rewrite the golden files; `git diff` shows what is said otherwise than before
	$(Q)GPUARENA_GOLDEN=1 $<
	$(Q)GPUARENA_GOLDEN=1 $(BUILD)/tests/test_report
	$(Q)GPUARENA_GOLDEN=1 BUILD='$(BUILD)' CUDA_FLAGS='$(CUDA_FLAGS)' perl tests/cli/cases.t

valgrind: $(TEST_PROGRAMS)  ## the C tests under valgrind, with fewer random operations
	$(Q)if command -v valgrind >/dev/null; then \
	    BUILD='$(BUILD)' GPUARENA_SPACE_OPS=20000 GPUARENA_SCHEDULES=20 GPUARENA_THREAD_OPS=20000 \
	    $(PROVE) --exec 'valgrind -q --leak-check=full --error-exitcode=99' $(TEST_PROGRAMS); \
	else echo 'valgrind: skipped, it is not installed'; fi

bench: $(BENCH) $(STRESS)  ## measure alloc and free on this machine, against CUB and a mutex; BENCH_CSV=.. HOLES_CSV=..
	$(Q)$(BENCH) --instructions --out csv='$(BENCH_CSV)'
	$(Q)$(STRESS) holes -p segments,paged --instructions --out csv='$(HOLES_CSV)'

profile: $(BENCH)  ## instructions of an alloc and a free, by function of the header; needs valgrind
	@BUILD='$(BUILD)' perl tests/measure/profile.pl

footprints: $(STRESS)  ## the table of footprints: paged ranges against others, on recordings and training; minutes
	@BUILD='$(BUILD)' perl tests/measure/footprints.pl

policies: $(STRESS)  ## the table of policies: what each costs on recordings; minutes
	@BUILD='$(BUILD)' perl tests/measure/policies.pl

pictures: $(STRESS)  ## README's pictures, in stress/report/pictures
	@for picture in 'pangu_peak --ops 9000' pangu_whole; do \
	    set -- $$picture; name=$$1; shift; '$(STRESS)' run -w replay:somas_pangu_2.6B.csv -p segments,paged \
	        --limit 5806604763 "$$@" --no-timing -q --out map=stress/report/pictures/$$name.svg || exit 1; \
	done

# MUTANTS=40 MUTANTS_SEED=1 MUTANTS_LINES=FROM-TO; of other sources: MUTANTS_OF='stress/sim stress/cudart' MUTANTS_BY='tests/unit/sim tests/unit/cuda'
MUTANTS_BY ?= tests/unit/arena
mutants: $(call PROGRAMS,$(wildcard $(MUTANTS_BY:%=%/*.c)))  ## random small mistakes in the header: which share the unit tests find; minutes
	$(Q)BUILD='$(BUILD)' MUTANTS_OF='$(MUTANTS_OF)' MUTANTS_BY='$(MUTANTS_BY)' CUDA_FLAGS='$(CUDA_FLAGS)' CUDA_SONAME='$(CUDA_SONAME)' perl tests/mutation/mutants.pl

coverage:  ## lines of the header that no test runs, and branches that none takes, in BUILD/coverage; needs gcc
	$(Q)rm -f $$(find '$(BUILD)/coverage' -name '*.gcda' 2>/dev/null)
	$(Q)$(MAKE) --no-print-directory test BUILD='$(BUILD)/coverage' CFLAGS='-O0 -g1 --coverage -Dalways_inline=unused' TESTS='$$(COVERING)'
	$(Q)BUILD='$(BUILD)/coverage' perl tests/mutation/coverage.pl

bounds: $(STRESS)  ## check on all of these that paged ranges keep their bounds; minutes
	$(Q)BUILD='$(BUILD)' GPUARENA_BOUNDS=all $(PROVE) -v tests/scenario/paged_bounds.t

# The manual page is what the program says under its installed name.
INSTALLED_NAME := gpuarena-stress
VERSION = $(shell sed -n 's/^\#define GPUARENA_VERSION_TEXT *"\(.*\)".*/\1/p' gpuarena.h)

$(BUILD)/$(INSTALLED_NAME).1: stress/install/man.awk $(STRESS)
	$(Q)ln -sf $(notdir $(STRESS)) $(BUILD)/$(INSTALLED_NAME)
	$(Q)$(BUILD)/$(INSTALLED_NAME) help > $@.help && awk -v version='$(VERSION)' -f $< $@.help > $@

# What install puts where: folder below PREFIX, `:`, file, and after a second `:` its name there, if that is another.
AT        = $(DESTDIR)$(PREFIX)
INSTALLED = include:gpuarena.h share/man/man1:$(BUILD)/$(INSTALLED_NAME).1 \
    $(patsubst %,share/cmake/gpuarena:stress/install/%,gpuarena-config.cmake gpuarena-config-version.cmake) \
    share/bash-completion/completions:stress/install/gpuarena-stress.bash:$(INSTALLED_NAME) \
    include:examples/gpuarena.hpp share/gpuarena:examples/recorder.h share/gpuarena/import:stress/import/torch_snapshot.py share/gpuarena/python:examples/python/gpuarena.py \
    share/gpuarena/report:stress/report/schema.json \
    $(patsubst %,share/gpuarena/recordings:%,$(wildcard stress/recordings/*))
FIELD     = $(word $(1),$(subst :, ,$(2)))
IN_PLACE  = $(AT)/$(call FIELD,1,$(1))/$(or $(call FIELD,3,$(1)),$(notdir $(call FIELD,2,$(1))))
define INSTALL_FILE
	install -m $(if $(filter %.py,$(1)),755,644) '$(call FIELD,2,$(1))' '$(call IN_PLACE,$(1))'

endef

install: $(STRESS) $(CUDART) $(CUB) $(PRELOAD) $(BUILD)/$(INSTALLED_NAME).1  ## header, program and what belongs to them: DESTDIR, PREFIX
	install -d '$(AT)/bin' '$(AT)/share/pkgconfig' $(sort $(foreach file,$(INSTALLED),'$(AT)/$(call FIELD,1,$(file))'))
	$(foreach file,$(INSTALLED),$(call INSTALL_FILE,$(file)))
	install -m 755 $(STRESS) '$(AT)/bin/$(INSTALLED_NAME)'
	$(if $(INSTALLED_LIBS),install -d '$(AT)/lib/gpuarena' && install -m 755 $(INSTALLED_LIBS) '$(AT)/lib/gpuarena')
	$(if $(CUDART),install -m 755 stress/install/gpuarena-sim '$(AT)/bin')
	$(if $(CUDART),install -d '$(AT)/lib/gpuarena/sim' && for name in $(SIM_NAMES); do \
	    ln -sf ../libcudart-sim.so "$(AT)/lib/gpuarena/sim/$$name" || exit 1; done)
	printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' '' 'Name: gpuarena' \
	    'Description: GPU memory pool in one header' 'Version: $(VERSION)' \
	    'Cflags: -I$${includedir}' 'Libs: -lpthread' > '$(AT)/share/pkgconfig/gpuarena.pc'
	$(if $(CUDA),printf '%s\n' 'Name: gpuarena-cuda' 'Description: gpuarena with the CUDA runtime' 'Version: $(CUDA_NUMBER)' \
	    'Requires: gpuarena' 'Cflags: $(CUDA_FLAGS)' 'Libs: -L$(CUDA_LIBS) -lcudart' \
	    > '$(AT)/share/pkgconfig/gpuarena-cuda.pc')

uninstall:  ## remove what install put there
	rm -f '$(AT)/bin/$(INSTALLED_NAME)' '$(AT)/bin/gpuarena-sim' '$(AT)/share/pkgconfig/gpuarena.pc' '$(AT)/share/pkgconfig/gpuarena-cuda.pc' \
	    $(foreach file,$(INSTALLED),'$(call IN_PLACE,$(file))')
	rm -rf '$(AT)/lib/gpuarena' '$(AT)/share/gpuarena' '$(AT)/share/cmake/gpuarena'

clean:  ## remove BUILD
	rm -rf '$(BUILD)'

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo '  settings       CC CFLAGS CPPFLAGS LDFLAGS BUILD PREFIX DESTDIR CUDA_HOME (or CUDA_PATH); V=1 shows commands'

toolkit:
	@echo '$(TOOLKIT)'

# ---- programs: each is one object and whatever it needs of the library, and of libcudart where there is one. Tests run
# on the substitute, the others on the toolkit's own libcudart, unless told otherwise: see README.
ifdef CUDA
LINK_CUDART = -L$(BUILD)/sim -Wl,--as-needed -lcudart -Wl,--no-as-needed $(1)
endif
ifeq ($(findstring -fsanitize,$(CFLAGS)),)
WHOLE       = -Wl,-z,defs
endif
$(STRESS): $(BUILD)/obj/stress/main.o
$(STRESS): | $(CUDART)
$(STRESS): RPATH = $(RUNS_ON_CUDA):'$$ORIGIN':'$$ORIGIN/../lib/gpuarena'
$(BENCH): $(BUILD)/obj/tests/measure/bench.o
$(BENCH): | $(CUB)
$(BENCH): RPATH = $(RUNS_ON_CUDA):'$$ORIGIN'
$(foreach source,$(TEST_SOURCES),$(eval $(call PROGRAMS,$(source)): $(BUILD)/obj/$(source:.c=.o)))
$(TEST_PROGRAMS): RPATH = -Wl,--enable-new-dtags,-rpath,'$$ORIGIN/../sim':'$$ORIGIN/..'
$(STRESS) $(BENCH) $(TEST_PROGRAMS): $(LIBRARY) | $(CUDART)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LIBRARY) $(call LINK_CUDART,$(RPATH)) $(LIBS)

# With the toolkit, examples are programs of a user: header and libcudart, and nothing else. Each holds the implementation,
# which is compiled once for all that are in C: DONE leaves it out. Those in C++ and CUDA stay whole.
IMPLEMENTATION := $(BUILD)/obj/stress/policy/arena.o
$(BUILD)/obj/examples/%.o: override CPPFLAGS += -DGPUARENA_IMPLEMENTATION_DONE
$(EXAMPLE_SOURCES:%.c=$(BUILD)/%): $(BUILD)/%: $(BUILD)/obj/%.o $(IMPLEMENTATION) $(if $(CUDA),,$(LIBRARY)) | $(CUDART)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(LINK) -o $@ $^ $(call LINK_CUDART,$(RUNS_ON_CUDA)) $(if $(CUDA),-lpthread,$(LIBS))

COMMA := ,
$(EXAMPLE_CUDA_SOURCES:%.cu=$(BUILD)/%): $(BUILD)/%: %.cu gpuarena.h examples/example.h examples/gpuarena.hpp $(BUILD)/stamp.flags | $(CUDART)
	@mkdir -p $(@D)
	@echo "  NVCC $<"
	$(Q)$(NVCC) -std=c++17 $(addprefix -Xcompiler ,$(subst $(COMMA),\\$(COMMA),$(CPPFLAGS) $(CFLAGS))) -I. -cudart shared -L$(BUILD)/sim -o $@ $< -lpthread -Xlinker -rpath -Xlinker $(CUDA_LIBS)

$(EXAMPLE_CXX_SOURCES:%.cc=$(BUILD)/%): private OPTIMISED = -O0
$(EXAMPLE_CXX_SOURCES:%.cc=$(BUILD)/%): $(BUILD)/%: %.cc gpuarena.h examples/gpuarena.hpp $(BUILD)/stamp.flags | $(CUDART)
	@mkdir -p $(@D)
	@echo "  CXX  $<"
	$(Q)$(COMPILE_CXX) $(if $(CUB_FOLDER),-isystem $(CUB_FOLDER)) -I. $(LDFLAGS) -o $@ $< $(call LINK_CUDART,$(RUNS_ON_CUDA)) -lpthread

# libraries for LD_PRELOAD: they export the runtime's names that they replace, and nothing else
$(BUILD)/libgpuarena-%.so: examples/preload/%.c examples/preload/interpose.h gpuarena.h $(BUILD)/stamp.flags | $(CUDART)
	@echo "  LINK $@"
	$(Q)$(COMPILE) $(LDFLAGS) -fPIC -fvisibility=hidden -shared -o $@ $< \
	    -L$(BUILD)/sim -Wl,--no-as-needed -lcudart $(RUNS_ON_CUDA) -ldl -lpthread

# the implementation in libraries, whose linker scripts say what is shown of it
$(BUILD)/pic/arena.o: stress/policy/arena.c gpuarena.h $(BUILD)/stamp.flags
	@mkdir -p $(@D)
	@echo "  CC   $< (for libraries)"
	$(Q)$(COMPILE) -fPIC -c -o $@ $<

# the header as a library, for languages that load one
$(BUILD)/libgpuarena.so: examples/python/library.c $(BUILD)/pic/arena.o | $(CUDART)
	@echo "  LINK $@"
	$(Q)echo '{ global: gpuarena_[a-z]*; local: *; };' > $(BUILD)/library.map
	$(Q)$(COMPILE) $(LDFLAGS) -I. -fPIC -shared -DGPUARENA_IMPLEMENTATION_DONE -Wl,--version-script,$(BUILD)/library.map -o $@ $^ \
	    -L$(BUILD)/sim -Wl,--no-as-needed -lcudart $(RUNS_ON_CUDA) -lpthread

# the allocator of ONNX Runtime's CUDA provider, which needs nothing of ONNX Runtime
$(BUILD)/libgpuarena_ort.so: examples/onnxruntime/ort_gpuarena.c $(BUILD)/pic/arena.o | $(CUDART)
	@echo "  LINK $@"
	$(Q)echo '{ global: gpuarena_ort_*; local: *; };' > $(BUILD)/ort.map
	$(Q)$(COMPILE) $(LDFLAGS) -I. -fPIC -shared -DGPUARENA_IMPLEMENTATION_DONE -Wl,--version-script,$(BUILD)/ort.map -o $@ $^ \
	    -L$(BUILD)/sim -Wl,--no-as-needed -lcudart $(RUNS_ON_CUDA) -lpthread

# ---- gpuarena as PyTorch's allocator, for the PyTorch of TORCH_PYTHON and with the CUDA headers that came with it
TORCH       = $(shell $(TORCH_PYTHON) -c 'from importlib.util import find_spec as f; print((f("torch").submodule_search_locations or [""])[0])' 2>/dev/null)
TORCH_CUDA  = $(firstword $(wildcard $(addsuffix /include,$(wildcard $(TORCH)/../nvidia/cu[0-9]* $(TORCH)/../nvidia/cuda_runtime) $(CUDA_HOME))))

torch: | $(BUILD)/  ## gpuarena as the allocator of the PyTorch that TORCH_PYTHON=python3 has
	$(if $(TORCH),,$(error there is no PyTorch for $(TORCH_PYTHON): make torch TORCH_PYTHON=..))
	$(Q)echo '{ global: gpuarena_torch_*; local: *; };' > $(BUILD)/torch.map
	$(Q)$(CXX) -std=c++20 -O2 -Wall -Wextra -fvisibility=hidden -shared -fPIC -I. -isystem $(TORCH)/include \
	    -isystem $(TORCH)/include/torch/csrc/api/include -isystem $(TORCH_CUDA) examples/torch/torch_gpuarena.cpp \
	    -Wl,--version-script,$(BUILD)/torch.map -o $(BUILD)/libtorch_gpuarena.so -L$(TORCH)/lib -lc10 -lc10_cuda -ltorch_cuda -lpthread
	$(Q)$(CC) $(DIALECT) $(WARNINGS) -O2 -fvisibility=hidden -shared -fPIC -I. -isystem $(TORCH_CUDA) examples/torch/mempool.c \
	    -Wl,--no-as-needed -o $(BUILD)/libgpuarena_mempool.so -L$(TORCH)/lib -lc10_cuda -lpthread

# ---- the libcudart substitute: name and symbol versions of the toolkit's own; and CUB's allocator, over the substitute
# for simulated devices and over libcudart for real ones
# the one library under all the names by which programs load it
SIM_NAMES     := libcudart.so $(CUDA_SONAME) libcuda.so.1 libnvidia-ml.so.1
EXPORT_CUDART := $(CUDA_SONAME) { global: cuda*; __cuda*; local: *; }; GPUARENA_SIM { global: cudart_*; cu[A-Z]*; nvml*; };
EXPORT_CUB    := { global: cub_library_exports; cudart_attach; cudart_build; local: *; };
EXPORT_NULL   := { global: cub_library_exports; local: *; };

$(BUILD)/libcudart-sim.so: $(PIC_SOURCES:%.c=$(BUILD)/pic/%.o) $(BUILD)/stamp.sources
	@echo "  LINK $@"
	$(Q)echo '$(EXPORT_CUDART)' > $(BUILD)/cudart.map
	$(Q)$(LINK) -shared -Wl,-soname,$(CUDA_SONAME) -Wl,--version-script,$(BUILD)/cudart.map -Wl,-z,now,-z,nodelete,-Bsymbolic $(WHOLE) -o $@ \
	    $(filter %.o,$^) $(LIBS)

$(BUILD)/sim/libcudart.so: $(BUILD)/libcudart-sim.so
	@mkdir -p $(@D)
	$(Q)for name in $(SIM_NAMES); do ln -sf ../libcudart-sim.so $(@D)/$$name || exit 1; done

$(BUILD)/gpuarena-sim: stress/install/gpuarena-sim $(BUILD)/libcudart-sim.so
	$(Q)install -m 755 $< $@

$(BUILD)/pic/%.o: %.c $(BUILD)/stamp.flags
	@mkdir -p $(@D)
	@echo "  CC   $< (shared)"
	$(Q)$(COMPILE) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(BUILD)/pic/%.o: %.cc $(BUILD)/stamp.flags
	@mkdir -p $(@D)
	@echo "  CXX  $<"
	$(Q)$(COMPILE_CXX) -isystem $(CUB_FOLDER) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(BUILD)/libcub-sim.so: $(BUILD)/pic/stress/policy/cub_library.o $(PIC_SOURCES:%.c=$(BUILD)/pic/%.o)
	@echo "  LINK $@"
	$(Q)echo '$(EXPORT_CUB)' > $(BUILD)/cub.map
	$(Q)$(CXX) $(CFLAGS) $(LDFLAGS) -shared $(WHOLE) -Wl,--version-script,$(BUILD)/cub.map -o $@ $(filter %.o,$^) $(LIBS)

$(BUILD)/libcub-null.so: $(BUILD)/pic/stress/policy/cub_library.o $(BUILD)/pic/stress/policy/null_cudart.o
	@echo "  LINK $@"
	$(Q)echo '$(EXPORT_NULL)' > $(BUILD)/null.map
	$(Q)$(CXX) $(CFLAGS) $(LDFLAGS) -shared $(WHOLE) -Wl,--version-script,$(BUILD)/null.map -o $@ $(filter %.o,$^)

$(BUILD)/libcub-cuda.so: $(BUILD)/pic/stress/policy/cub_library.o | $(CUDART)
	@echo "  LINK $@"
	$(Q)$(CXX) $(CFLAGS) $(LDFLAGS) -shared $(WHOLE) -o $@ $< $(call LINK_CUDART,$(RUNS_ON_CUDA)) $(LIBS)

$(LIBRARY): $(LIBRARY_OBJECTS) $(BUILD)/stamp.sources
	@echo "  AR   $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIBRARY_OBJECTS)

# tests and examples are compiled in a third of the time, and run hardly longer: what they test is in the library
QUICKLY   := $(patsubst -O%,-O0,$(CFLAGS))
$(BUILD)/obj/tests/%.o $(BUILD)/obj/examples/%.o: override CFLAGS := $(QUICKLY)
# but these two, which run for half a minute each
$(BUILD)/obj/tests/property/test_space.o $(BUILD)/obj/tests/schedule/test_schedules.o: override CFLAGS := $(patsubst -O2,-O1,$(CFLAGS))
$(BUILD)/obj/stress/%.o $(BUILD)/pic/%.o: OPTIMISED = $(STRESS_CFLAGS)
$(BUILD)/obj/stress/report/json.o: CPPFLAGS += -DGPUARENA_FLAGS='"$(CFLAGS)"'
$(BUILD)/pic/stress/base/program.o: CPPFLAGS += -DSTRESS_FOLDER='"$(CURDIR)/stress"'
$(BUILD)/obj/tests/%.o: CPPFLAGS += $(TEST_INCLUDES)
$(BUILD)/obj/tests/unit/arena/test_bounds.o: CPPFLAGS += -finstrument-functions
$(BUILD)/obj/%.o: %.c $(BUILD)/stamp.flags
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

# ---- stamps: files that change when the flags, or the list of sources, do
FLAGS := $(strip $(COMPILE) $(STRESS_CFLAGS) ; $(LINK) $(LIBS) ; $(CXX) ; $(NVCC) ; $(CUDA_NUMBER) $(CUDA_LIBS) ; $(CURDIR))
ifneq ($(FLAGS),$(shell cat '$(BUILD)/stamp.flags' 2>/dev/null))
$(BUILD)/stamp.flags: FORCE
endif
SOURCES := $(strip $(STRESS_SOURCES) $(CUDART_SOURCES))
ifneq ($(SOURCES),$(shell cat '$(BUILD)/stamp.sources' 2>/dev/null))
$(BUILD)/stamp.sources: FORCE
endif
$(BUILD)/stamp.flags: STAMP = $(FLAGS)
$(BUILD)/stamp.sources: STAMP = $(SOURCES)
$(BUILD)/stamp.%: | $(BUILD)/
	@printf '%s\n' '$(subst ','\'',$(STAMP))' > $@

$(BUILD)/:
	@mkdir -p $@

-include $(ALL_SOURCES:%.c=$(BUILD)/obj/%.d) $(PIC_SOURCES:%.c=$(BUILD)/pic/%.d) $(patsubst %,$(BUILD)/pic/stress/policy/%.d,cub_library null_cudart)
