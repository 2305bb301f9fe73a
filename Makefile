# bailiff. `make help` lists the targets. Nothing is written outside $(B); `B=` gives another build its own folder.
B         = build
PREFIX   ?= /usr/local
PYTHON   ?= /usr/bin/python3
CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla $(addprefix -Werror=, \
            implicit format-security return-type incompatible-pointer-types int-conversion missing-prototypes strict-prototypes vla switch)
HARDEN   := -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
COMPILE   = $(CC) -std=gnu11 -D_GNU_SOURCE -Itracer $(CFLAGS) $(WARNINGS) $(HARDEN) -fPIE -MMD -MP $(CPPFLAGS) $(EXTRA)
LINK     := -pie -Wl,-z,relro,-z,now -Wl,--as-needed
LIBS     := -lcjson -lseccomp -lnettle -pthread

object    = $(patsubst %.c,$(B)/obj/%.o,$(wildcard $(1)))
MAIN     := $(call object,tracer/cli/main.c)
PURE     := $(call object,tracer/base/*.c tracer/policy/*.c tracer/verdict/*.c) $(B)/obj/shipped_policies.o
OBJECTS  := $(sort $(call object,tracer/*/*.c) $(B)/obj/shipped_policies.o)
program   = $(patsubst %.c,$(B)/%,$(wildcard $(1)))
UNITS    := $(call program,tests/unit/test_*.c)
TARGETS  := $(call program,tests/targets/*.c)
HOSTILE  := $(call program,tests/hostile/*.c)
# What `doctor --attack` runs: the table is in cli/attack.c.
ATTACKS  := $(filter $(HOSTILE),$(addprefix $(B)/tests/hostile/,string_flip shared_flip link_swap folder_flip descriptor_flip connect_flip send_flip \
            exec_swap exec_tricks folder_rename page_edge page_attack foreign_call listener untraced mark))
FUZZERS  := $(call program,tests/fuzz/fuzz_*.c)
BENCHES  := $(call program,bench/*.c)
MAN       = $(wildcard man/*.[1-8])
TOOL_CALL = $(wildcard policies/examples/tool-call/*)
SAY       = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@echo '  $(1) $@' >&2;)
SUB       = @$(MAKE) --no-print-directory -j$(shell nproc)

all: $(B)/bailiff
units: $(UNITS) $(FUZZERS)
tests: units $(TARGETS) $(BENCHES)
attacks: $(HOSTILE) $(B)/check-only/bailiff
all units tests attacks:
	@:

$(B)/bailiff: $(OBJECTS)
	$(call SAY,LD)$(CC) $(CFLAGS) $(EXTRA) $(LINK) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call SAY,CC)$(COMPILE) -c -o $@ $<
$(B)/obj/shipped_policies.o: $(B)/shipped_policies.c Makefile
	$(call SAY,CC)$(COMPILE) -c -o $@ $<

# What the races of tests/hostile/ must win against: a supervisor that only checks (engine/pin.h). Never installed.
CHECK_ONLY := $(shell grep -l 'PIN_CHECK_ONLY\|base/version\.h' tracer/*/*.c)
$(B)/check-only/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call SAY,CC)$(COMPILE) -DBAILIFF_CHECK_ONLY -c -o $@ $<
$(B)/check-only/bailiff: $(CHECK_ONLY:%.c=$(B)/check-only/%.o) $(filter-out $(CHECK_ONLY:%.c=$(B)/obj/%.o),$(OBJECTS))
	$(call SAY,LD)$(CC) $(CFLAGS) $(EXTRA) $(LINK) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/shipped_policies.c: policies/embed.sh $(wildcard policies/*.json)
	@mkdir -p $(@D) $(B)/obj
	$(call SAY,  )policies/embed.sh $@

# Unit tests see the pure rooms only; those of another room carry its name and may link everything but main.
$(B)/pure.a: $(PURE)
$(B)/whole.a: $(filter-out $(MAIN),$(OBJECTS))
$(B)/%.a:
	$(call SAY,AR)rm -f $@ && $(AR) qcs $@ $^
$(filter $(addprefix $(B)/tests/unit/test_,tracee_% engine_% why_% cli_%),$(UNITS)): $(B)/whole.a
$(UNITS) $(FUZZERS): $(B)/pure.a
$(UNITS) $(TARGETS) $(HOSTILE) $(FUZZERS) $(BENCHES): $(B)/%: %.c Makefile
	@mkdir -p $(@D)
	$(call SAY,CC)$(COMPILE) -DFUZZ_STANDALONE -MF $@.d $(LINK) $(LDFLAGS) -o $@ $< $(filter %whole.a,$^) $(filter %pure.a,$^) $(LIBS)

# Linked to one address, by themselves.
$(B)/tests/hostile/fixed_loader: LINK := -static -nostdlib
$(B)/tests/targets/low_program: LINK := -static -nostdlib -Wl,-Ttext-segment=0x100000
$(B)/tests/hostile/fixed_loader $(B)/tests/targets/low_program: LIBS :=

install: all $(ATTACKS)
	install -D -m 755 $(B)/bailiff $(DESTDIR)$(PREFIX)/bin/bailiff
	for attack in $(ATTACKS); do install -D -m 755 -t $(DESTDIR)$(PREFIX)/libexec/bailiff $$attack || exit 1; done
	for page in $(MAN); do install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/} || exit 1; done
	for file in $(TOOL_CALL); do install -D -m $$(test -x $$file && echo 755 || echo 644) $$file \
		$(DESTDIR)$(PREFIX)/share/bailiff/$${file#policies/} || exit 1; done
	for schema in policies/schema/*.json; do install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/bailiff/schema $$schema || exit 1; done
	test ! -f man/bailiff.bash-completion || \
	install -D -m 644 man/bailiff.bash-completion $(DESTDIR)$(PREFIX)/share/bash-completion/completions/bailiff
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/bailiff $(DESTDIR)$(PREFIX)/share/bash-completion/completions/bailiff
	for page in $(MAN); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; done
	rm -rf $(DESTDIR)$(PREFIX)/share/bailiff $(DESTDIR)$(PREFIX)/libexec/bailiff

# What a newcomer types. Both install the packages they miss (asking first on a terminal), then build.
demo:
	@tests/deps.sh demo
	$(SUB) all
	@policies/examples/csv-analysis/run.sh $(B)/bailiff $(B)/demo
check:
	@tests/deps.sh check
	$(SUB) all tests attacks
	@$(PYTHON) tests/run.py
deps:
	@tests/deps.sh check

# Root runs it a second time as an ordinary user.
hostile:
	$(SUB) all attacks
	@$(PYTHON) tests/hostile/run.py --build $(B) --tries $(or $(N),100000)

soak: all tests
	@$(PYTHON) tests/scripts/soak.py --build $(B) --runs $(or $(N),10000)

lab: all
	@$(PYTHON) policies/lab/lab.py --bailiff $(B)/bailiff $(if $(OUTPUT),--output $(OUTPUT))
bench: all $(BENCHES)
	@$(PYTHON) bench/bench.py --build $(B)
valgrind asan: all tests
lint gcc clang asan valgrind:
	@$(PYTHON) tests/run.py $@
fuzz: $(FUZZERS)
	@tests/fuzz.sh $(B) $(or $(FUZZ_SECONDS),60)

help:
	@sed -n 's/^#: //p' Makefile
#: all         build/bailiff; the default; V=1 shows the commands
#: demo        install what is missing, build, run the CSV example under its policy
#: check       install what is missing, build, run every test; the last line counts them
#: deps        install what check needs
#: lab         three requests under one policy, with OUTPUT=50 under a lower output limit
#: bench       what a stop costs, beside native and strace
#: attacks     the programs of hostile and of `bailiff doctor --attack`
#: hostile     attacks, N=100000 tries each: none may win, and each must win without bailiff
#: soak        N=10000 runs in a row, 64 at once, 200 interrupted: what is left behind, and who sees whom
#: fuzz        every fuzzer for FUZZ_SECONDS=60 each
#: lint gcc clang asan valgrind   parts of check alone: linters, builds in which a warning is an error, memory checks
#: install uninstall              with PREFIX=/usr/local and DESTDIR=
clean:
	rm -rf $(B)

.PHONY: all units tests attacks hostile soak install uninstall demo check deps lab bench lint gcc clang asan valgrind fuzz help clean
.DELETE_ON_ERROR:
.SECONDARY:
-include $(OBJECTS:.o=.d) $(CHECK_ONLY:%.c=$(B)/check-only/%.d) $(addsuffix .d,$(UNITS) $(TARGETS) $(HOSTILE) $(FUZZERS) $(BENCHES))
