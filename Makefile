# The short way in. Everything else is CMake: see CMakePresets.json.
PREFIX ?= /usr/local
BUILD := build/release

.PHONY: all programs module run tour demo-mail demo-peers demo-stopset demo-packets command test test-quick test-systems test-long coverage lint bench fuzz install deps clean

all: $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target umbel_cli umbel_shared umbel_static

# Every program, umbel.so and the manual pages: all that is installed.
programs: all
	@cmake --build $(BUILD) --target programs

# umbel.so for Redis and Valkey.
module: all
	@cmake --build $(BUILD) --target umbel_module
	@echo $(BUILD)/module/umbel.so

$(BUILD)/build.ninja:
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null

# Installs what is missing, builds umbel alone, and shows the main job on real data,
# then other jobs in a few lines each.
run: command
	@tools/tour $(BUILD)/umbel

# The same, with every command and all of its output.
tour: command
	@tools/tour --all $(BUILD)/umbel

# The clearinghouse with Debian's pyzor: five reports, then a check that hits.
demo-mail:
	@tools/deps build mail filters
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target programs -- --quiet
	@tools/demo-mail $(BUILD)/umbel-clearinghouse

# Two clearinghouses that are peers: a report at one is a hit at the other.
demo-peers:
	@tools/deps build mail
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target umbel_cli umbel_clearinghouse -- --quiet
	@tools/demo-peers $(BUILD)/umbel-clearinghouse

command:
	@tools/deps build run
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target umbel_cli -- --quiet

# Installs what is missing, builds (release, sanitizers), runs the tests that need
# no foreign program.
test:
	@tools/deps build test
	@tools/test

# Tests that are not slow, in release only: a minute once it is built.
test-quick:
	@tools/deps build test
	@tools/test quick

# Against real counterparts: web servers, other programs' filters.
test-systems:
	@tools/deps build test systems
	@tools/test systems

# 100 million keys from a file, a million filters admitted, all reproductions, and
# long fuzzing. Hours.
test-long:
	@tools/deps build test lint
	@tools/test-long

# Line and branch coverage by unit tests; 95 % of the decoders' branches.
coverage:
	@tools/deps build test
	@tools/coverage

lint:
	@tools/deps build test lint
	@tools/lint

bench: all
	@cmake --build $(BUILD) --target benches
	@$(BUILD)/umbel bench
	@bench/run $(BUILD)/umbel
	@$(BUILD)/bench/bench_retouch 3
	@$(BUILD)/bench/bench_coding 5
	@$(BUILD)/bench/bench_lists
	@$(BUILD)/bench/bench_mechanisms

# FUZZ_SECONDS for each target.
FUZZ_SECONDS ?= 60
fuzz:
	@tools/deps build lint
	@cmake --preset fuzz >/dev/null
	@cmake --build build/fuzz --target fuzzers
	@fuzz/run.sh $(FUZZ_SECONDS)

# Stop sets in a simulated network of twelve routers. Needs root.
demo-stopset:
	@tools/deps build lab
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target umbel_stopset -- --quiet
	@tools/demo-stopset $(BUILD)/umbel-stopset

# A forged flood, its flow, its path, and a loop, in a network of 30 routers. Needs root.
demo-packets:
	@tools/deps build lab
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target umbel_packets umbel_cli packets_helper -- --quiet
	@tools/demo-packets $(BUILD)/umbel-packets

install: programs
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf build
