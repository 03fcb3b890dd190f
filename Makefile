# The front door; the work is in CMakePresets.json. A plain `make` lists what there is.
.PHONY: help demo test bench performance plan_quality delta_sizes delta_plans accuracy instruction_counts asan tsan fuzz format packages

help:
	@echo 'make demo      install packages if missing, build, predict one published refit'
	@echo 'make test      build and run all tests (what .ci/run does)'
	@echo 'make asan      the same tests, but those that measure rates, under address and undefined behaviour sanitizers'
	@echo 'make tsan      the tests of threads and processes (deltas, inproc, tcp, the GPU code on stand-ins) under the thread sanitizer'
	@echo 'make fuzz      fuzz the readers of scenarios, of deltas and of all that is imported, FUZZ_SECONDS=60 each (needs clang)'
	@echo 'make bench     build and run the benchmarks'
	@echo 'make performance  the same, written to docs/performance.md'
	@echo 'make instruction_counts  count the fixed runs anew, written to tests/instruction_counts.txt'
	@echo 'make plan_quality  how near plans come to their bound, written to docs/plan_quality.md (minutes)'
	@echo 'make delta_sizes  bytes per changed weight by codec, written to docs/delta.md'
	@echo 'make delta_plans  refits of all weights and of changes, written to docs/delta.md'
	@echo 'make accuracy  how far predictions are from published times, written to docs/accuracy.md and README.md'
	@echo 'make format    format the C++ and JavaScript files in place'

demo: packages
	cmake --preset release
	cmake --build --preset release --target refit
	build/bin/refit simulate scenarios/published/deepseek_v3_h100.yaml

test:
	@tools/install_packages.sh --for-tests
	cmake --workflow --preset check

asan: packages
	cmake --workflow --preset asan

tsan: packages
	cmake --workflow --preset tsan

FUZZ_SECONDS ?= 60
# Read, not written; every target passes over what is not its own.
FUZZ_SEEDS := tests/topology/import/corpus tests/scenarios/import/corpus models/catalog examples/machines examples/layouts scenarios/small
fuzz: packages
	cmake --preset fuzz
	cmake --build --preset fuzz
	build-fuzz/bin/write_corpus build-fuzz/corpus
	set -e; for program in build-fuzz/bin/*_fuzz; do target=$$(basename $$program _fuzz); \
	  echo "fuzz: $$target"; mkdir -p build-fuzz/corpus/$$target; \
	  $$program -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -rss_limit_mb=2048 -timeout=60 -verbosity=0 \
	    -print_final_stats=1 -artifact_prefix=build-fuzz/$$target- build-fuzz/corpus/$$target $(FUZZ_SEEDS); done

bench: packages
	cmake --preset bench
	cmake --build --preset bench
	set -e; for program in build-bench/bin/*_bench; do $$program; done

performance: packages
	cmake --preset bench
	cmake --build --preset bench
	tools/performance_page.sh

# To a file first, so that a page is never half written.
plan_quality: packages
	cmake --preset bench
	cmake --build --preset bench --target plan_quality
	build-bench/bin/plan_quality > build-bench/plan_quality.md
	cp build-bench/plan_quality.md docs/plan_quality.md

delta_sizes: packages
	cmake --preset bench
	cmake --build --preset bench --target delta_sizes
	tools/delta_sizes.sh build-bench/bin/delta_sizes

delta_plans: packages
	cmake --preset release
	cmake --build --preset release --target refit
	tools/delta_plans.py build/bin/refit

accuracy: packages
	cmake --preset release
	cmake --build --preset release --target refit
	tools/accuracy_page.sh build/bin/refit --write

instruction_counts: packages
	cmake --preset release
	cmake --build --preset release --target count_run
	tools/instruction_count.sh build/bin/count_run --write

format:
	git ls-files -co --exclude-standard '*.h' '*.cc' '*.js' | xargs clang-format -i

packages:
	@tools/install_packages.sh
