# Builds what this machine can build, all of it under $(BUILD). Needs GNU Make, a C compiler, libc; perl for tests.
#   make CC=clang   make CFLAGS="-g -O0"   make BUILD=/tmp/gpuarena   make V=1   make WERROR=1   make help
# Change flags as often as you like: what was built with others is built again. Paths must not contain spaces.

# ---- yours to set
BUILD      ?= build
CFLAGS     ?= -O2 -g
LDFLAGS    ?=
PREFIX     ?= /usr/local
DESTDIR    ?=
WORKLOADS  ?= train,uniform
POLICIES   ?= raw,segments
PROVE      ?= prove
TESTS      ?= $(TEST_PROGRAMS) $(filter-out $(SKIP_TESTS),$(wildcard tests/*.t))
CUDA_HOME  ?= $(or $(CUDA_PATH),/usr/local/cuda)

# ---- not yours to set: the language, and what must stay free of warnings
DIALECT  := -std=c99 -D_POSIX_C_SOURCE=200809L
WARNINGS := -Wall -Wextra -pedantic -Wconversion -Wshadow -Wcast-qual -Wundef $(if $(WERROR),-Werror)
LIBS     := -lpthread -lm
COMPILE   = $(CC) $(DIALECT) $(WARNINGS) $(CPPFLAGS) $(CFLAGS)
LINK      = $(CC) $(CFLAGS) $(LDFLAGS)
SANITIZE := -fsanitize=address,undefined
Q        := $(if $(filter 1,$(V)),,@)

# ---- what there is: a file in one of these folders is part of the build, without further ado
STRESS_FOLDERS := stress stress/workload stress/measure stress/report stress/sim
STRESS_SOURCES := $(filter-out stress/main.c,$(wildcard $(STRESS_FOLDERS:%=%/*.c)))
TEST_SOURCES   := $(wildcard tests/test_*.c)
BENCH_SOURCES  := $(wildcard tests/bench.c)
EXAMPLE_SOURCES := $(wildcard examples/[0-9]*.c)

LIBRARY        := $(BUILD)/libstress.a
STRESS         := $(BUILD)/stress
LIBRARY_OBJECTS := $(STRESS_SOURCES:%.c=$(BUILD)/obj/%.o)
TEST_PROGRAMS  := $(TEST_SOURCES:%.c=$(BUILD)/%)
EXAMPLES       := $(EXAMPLE_SOURCES:%.c=$(BUILD)/%)
BENCH          := $(BENCH_SOURCES:tests/%.c=$(BUILD)/%)
ALL_SOURCES    := $(STRESS_SOURCES) stress/main.c $(TEST_SOURCES) $(EXAMPLE_SOURCES) $(BENCH_SOURCES)

ifneq ($(words x $(CURDIR) $(BUILD)),3)
$(error paths with spaces are not supported: "$(CURDIR)", BUILD="$(BUILD)")
endif
ifneq ($(wildcard $(CUDA_HOME)/include/cuda_runtime_api.h),)
TOOLKIT := CUDA Toolkit: found in $(CUDA_HOME); nothing here uses it yet, all runs are on the simulated device
else
TOOLKIT := CUDA Toolkit: not found in $(CUDA_HOME); nothing here needs it yet, all runs are on the simulated device
endif

.DELETE_ON_ERROR:
.PHONY: all run test asan valgrind bench install uninstall clean help toolkit FORCE

all: toolkit $(STRESS) $(TEST_PROGRAMS) $(EXAMPLES) $(BENCH)  ## build all that this machine can build (the default)

run: toolkit $(STRESS)  ## the main job: cudaMalloc against the pool, as a table; WORKLOADS=.. POLICIES=.. ARGS=..
	$(Q)$(STRESS) run -w $(WORKLOADS) -p $(POLICIES) --device auto $(ARGS)

test: all  ## run all tests; some of them: TESTS="build/tests/test_x tests/y.t"
	$(Q)BUILD='$(BUILD)' $(PROVE) $(TESTS)

asan: | $(BUILD)/  ## all tests under AddressSanitizer and UndefinedBehaviorSanitizer, in BUILD/asan
	$(Q)if echo 'int main(void) { return 0; }' | $(CC) -x c - $(SANITIZE) -o $(BUILD)/sanitizer_probe 2>/dev/null; then \
	    $(MAKE) test BUILD='$(BUILD)/asan' SKIP_TESTS=tests/compile.t LDFLAGS='$(SANITIZE)' \
	        CFLAGS='-g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all $(SANITIZE)'; \
	else echo 'asan: skipped, $(CC) cannot link with $(SANITIZE)'; fi

valgrind: all  ## the C tests under valgrind, with fewer random operations
	$(Q)if command -v valgrind >/dev/null; then \
	    BUILD='$(BUILD)' GPUARENA_PROPERTY_OPS='$(or $(GPUARENA_PROPERTY_OPS),20000)' \
	    $(PROVE) --exec 'valgrind -q --leak-check=full --error-exitcode=99' $(TEST_PROGRAMS); \
	else echo 'valgrind: skipped, it is not installed'; fi

bench: $(BENCH)  ## measure alloc and free on this machine
	$(Q)$(BENCH)

install: $(STRESS)  ## install header, pkg-config file and gpuarena-stress under DESTDIR and PREFIX
	install -d '$(DESTDIR)$(PREFIX)/include' '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share/pkgconfig'
	install -m 644 gpuarena.h '$(DESTDIR)$(PREFIX)/include/gpuarena.h'
	install -m 755 $(STRESS) '$(DESTDIR)$(PREFIX)/bin/gpuarena-stress'
	printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' '' 'Name: gpuarena' \
	    'Description: GPU memory pool in one header' \
	    "Version: $$(sed -n 's/^#define GPUARENA_VERSION_TEXT *"\(.*\)".*/\1/p' gpuarena.h)" \
	    'Cflags: -I$${includedir}' 'Libs: -lpthread' > '$(DESTDIR)$(PREFIX)/share/pkgconfig/gpuarena.pc'

uninstall:  ## remove what install put there
	rm -f '$(DESTDIR)$(PREFIX)/include/gpuarena.h' '$(DESTDIR)$(PREFIX)/bin/gpuarena-stress' \
	    '$(DESTDIR)$(PREFIX)/share/pkgconfig/gpuarena.pc'

clean:  ## remove BUILD
	rm -rf '$(BUILD)'

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo '  settings       CC CFLAGS CPPFLAGS LDFLAGS BUILD PREFIX DESTDIR CUDA_HOME (or CUDA_PATH); V=1 shows commands'

toolkit:
	@echo '$(TOOLKIT)'

# ---- programs: each is one object and whatever it needs of the library
$(STRESS): $(BUILD)/obj/stress/main.o
$(BENCH): $(BUILD)/obj/tests/bench.o
$(TEST_PROGRAMS) $(EXAMPLES): $(BUILD)/%: $(BUILD)/obj/%.o
$(STRESS) $(BENCH) $(TEST_PROGRAMS) $(EXAMPLES): $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS)

$(LIBRARY): $(LIBRARY_OBJECTS) $(BUILD)/stamp.sources
	@echo "  AR   $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIBRARY_OBJECTS)

$(BUILD)/obj/%.o: %.c $(BUILD)/stamp.flags
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

# ---- stamps: files that change when the flags, or the list of sources, do
FLAGS := $(strip $(COMPILE) ; $(LINK) $(LIBS))
ifneq ($(FLAGS),$(shell cat '$(BUILD)/stamp.flags' 2>/dev/null))
$(BUILD)/stamp.flags: FORCE
endif
ifneq ($(strip $(STRESS_SOURCES)),$(shell cat '$(BUILD)/stamp.sources' 2>/dev/null))
$(BUILD)/stamp.sources: FORCE
endif
$(BUILD)/stamp.flags: STAMP = $(FLAGS)
$(BUILD)/stamp.sources: STAMP = $(strip $(STRESS_SOURCES))
$(BUILD)/stamp.%: | $(BUILD)/
	@printf '%s\n' '$(subst ','\'',$(STAMP))' > $@

$(BUILD)/:
	@mkdir -p $@

-include $(ALL_SOURCES:%.c=$(BUILD)/obj/%.d)
