# Terrace. `make demo` runs the main job, `make test` every test; each sets itself up.

CARGO ?= cargo
DEMO_PACKAGES = python3 python3-numpy
TEST_PACKAGES = qemu-user python3 pkg-config
PAPER_PACKAGES = qemu-user python3 python3-matplotlib
BENCH_PACKAGES = $(DEMO_PACKAGES) python3-sklearn redis-server redis-tools xz-utils coreutils
FUZZ_SECONDS ?= 600
POWER_PACKAGES = e2fsprogs xfsprogs
PEER_PACKAGES = pkg-config libpmemobj-dev liblmdb-dev
SPARK_PACKAGES = $(DEMO_PACKAGES) python3-venv openjdk-17-jre-headless

# Where the heap for C is installed, below DESTDIR, and where it was built.
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BUILT ?= $(or $(CARGO_TARGET_DIR),target)/release
LIBRARIES = $(DESTDIR)$(LIBDIR)
HEADERS = $(DESTDIR)$(INCLUDEDIR)
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
RUST_VERSION = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
MAJOR = $(firstword $(subst ., ,$(VERSION)))

.PHONY: help demo test test-c-sanitized test-power-cuts check fuzz miri tsan asan semver build build-c install uninstall bench-live bench-osvpp bench-verdict bench-sim bench-llc bench-heap paper-awad-2016 paper-oskin-loh-2015 paper-fedorov-2016-ch2 paper-fedorov-2016-ch5 paper-kannan-2013 clean

help:
	@echo 'make demo        run a real program with a quarter of its memory, four ways, and compare'
	@echo 'make test        run every test'
	@echo 'make test-c-sanitized'
	@echo '                 run those of the heap for C with sanitizers and under valgrind'
	@echo 'make semver      compare the interface of the heap with the last release, and build it with the'
	@echo '                 oldest Rust'
	@echo 'make fuzz, make miri, make tsan, make asan'
	@echo '                 look in the persistent heap for what tests do not (ten minutes each)'
	@echo 'make test-power-cuts'
	@echo '                 cut the power under the persistent heap some hundreds of times (root)'
	@echo 'make bench-live  run the suite of real programs (some 45 minutes)'
	@echo 'make bench-osvpp run SparkBench likewise (some hours; 320 MB from PyPI)'
	@echo 'make bench-verdict'
	@echo '                 which of them a predictor can foresee, by simulation'
	@echo 'make bench-sim   how fast policies, simulations and trace readers are'
	@echo 'make bench-llc   how fast last-level caches are simulated, beside cachegrind'
	@echo 'make bench-heap  the persistent heap beside libpmemobj, LMDB and redb (an hour)'
	@echo 'make paper-awad-2016, make paper-oskin-loh-2015, make paper-fedorov-2016-ch5'
	@echo '                 repeat a paper, its figures beside ours (10 to 20 minutes each)'
	@echo 'make paper-fedorov-2016-ch2'
	@echo '                 likewise, its programs recorded at first'
	@echo 'make paper-kannan-2013'
	@echo '                 likewise, with the persistent heap (an hour)'
	@echo 'make build       build target/release/terrace'
	@echo 'make build-c     build the heap for C; make install puts it under PREFIX (/usr/local), below'
	@echo '                 DESTDIR; make uninstall removes it'
	@echo 'make clean       remove what was built'

demo:
	@scripts/setup.sh $(DEMO_PACKAGES)
	@$(MAKE) --no-print-directory build
	@scripts/demo.sh

test: check
	@scripts/setup.sh $(TEST_PACKAGES)
	$(CARGO) test --workspace --locked
	/usr/bin/python3 -m unittest discover -s papers
	/usr/bin/python3 -m unittest discover -s benches/heap

test-c-sanitized:
	@scripts/setup.sh
	scripts/test-c-sanitized.sh

# A file system that cannot be had is left out, and named.
test-power-cuts:
	@for package in $(POWER_PACKAGES); do scripts/setup.sh $$package || true; done
	TERRACE_CUTS=$${TERRACE_CUTS:-100} $(CARGO) test --locked -p terrace-heap --test killed power

check:
	@scripts/setup.sh
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path benches/heap/redb/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --package terrace-heap --lib --locked -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --package terrace-heap --no-deps --locked

# The heap by itself: its interface beside what it was, and the oldest Rust that is said to build it.
semver:
	@command -v cargo-semver-checks >/dev/null || \
		{ echo 'semver: install what compares: cargo install --locked cargo-semver-checks' >&2; exit 1; }
	$(CARGO) semver-checks --package terrace-heap --baseline-rev $$(cat crates/heap/semver-baseline)
	rustup run --install $(RUST_VERSION) cargo check --package terrace-heap --all-features --locked --target-dir target/oldest

fuzz:
	@scripts/setup.sh
	scripts/fuzz.sh $(FUZZ_SECONDS)

miri:
	@scripts/setup.sh
	scripts/miri.sh

tsan:
	@scripts/setup.sh
	scripts/sanitize.sh thread

asan:
	@scripts/setup.sh
	scripts/sanitize.sh address

build:
	@scripts/setup.sh
	$(CARGO) build --release --locked

build-c:
	@scripts/setup.sh
	$(CARGO) build --release --locked -p terrace-heap-c

# Installs what was built, so that root, who installs, needs no Rust; builds it if it was not.
install:
	@[ -e $(BUILT)/libterrace_heap.so ] || $(MAKE) --no-print-directory build-c
	install -d $(LIBRARIES)/pkgconfig $(HEADERS)
	install -m 644 $(BUILT)/libterrace_heap.so $(LIBRARIES)/libterrace_heap.so.$(VERSION)
	ln -sf libterrace_heap.so.$(VERSION) $(LIBRARIES)/libterrace_heap.so.$(MAJOR)
	ln -sf libterrace_heap.so.$(MAJOR) $(LIBRARIES)/libterrace_heap.so
	install -m 644 $(BUILT)/libterrace_heap.a $(LIBRARIES)
	install -m 644 crates/heap-c/include/terrace_heap.h $(HEADERS)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' crates/heap-c/terrace_heap.pc.in \
		>$(LIBRARIES)/pkgconfig/terrace_heap.pc

uninstall:
	rm -f $(LIBRARIES)/libterrace_heap.so.$(VERSION) $(LIBRARIES)/libterrace_heap.so.$(MAJOR) \
		$(LIBRARIES)/libterrace_heap.so $(LIBRARIES)/libterrace_heap.a \
		$(LIBRARIES)/pkgconfig/terrace_heap.pc $(HEADERS)/terrace_heap.h

bench-sim:
	@scripts/setup.sh
	$(CARGO) bench --locked -p terrace-policy --bench replacement
	$(CARGO) bench --locked -p terrace-policy --bench prefetch
	$(CARGO) bench --locked -p terrace-sim --bench pages
	$(CARGO) bench --locked -p terrace-trace --bench native

bench-llc:
	@scripts/setup.sh gzip qemu-user
	@$(MAKE) --no-print-directory build
	$(CARGO) bench --locked -p terrace-sim --bench llc
	scripts/bench-llc.sh

# A peer whose package cannot be had is left out, and named.
bench-heap:
	@for package in $(PEER_PACKAGES); do scripts/setup.sh $$package || true; done
	$(CARGO) build --release --locked -p terrace-heap --example side_by_side
	$(CARGO) build --release --locked --manifest-path benches/heap/redb/Cargo.toml --target-dir target/redb || true
	/usr/bin/python3 benches/heap/repeat.py

paper-awad-2016:
	@scripts/setup.sh $(PAPER_PACKAGES) sqlite3 coreutils
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 papers/awad-2016/repeat.py

paper-oskin-loh-2015:
	@scripts/setup.sh $(PAPER_PACKAGES) python3-numpy python3-scipy libopenblas0-pthread
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 papers/oskin-loh-2015/repeat.py

# A program whose package cannot be had is left out, and named.
paper-fedorov-2016-ch2:
	@scripts/setup.sh $(PAPER_PACKAGES)
	@for package in $$(/usr/bin/python3 papers/fedorov-2016-ch2/programs.py); do \
		scripts/setup.sh $$package || true; done
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 papers/fedorov-2016-ch2/repeat.py

paper-fedorov-2016-ch5:
	@scripts/setup.sh $(PAPER_PACKAGES)
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 papers/fedorov-2016-ch5/repeat.py

# A program whose package cannot be had is left out, and named.
paper-kannan-2013:
	@scripts/setup.sh $(PAPER_PACKAGES)
	@for package in $$(/usr/bin/python3 papers/kannan-2013/programs.py); do \
		scripts/setup.sh $$package || true; done
	@$(MAKE) --no-print-directory build
	$(CARGO) build --release --locked -p terrace-heap --example persistence_cost
	/usr/bin/python3 papers/kannan-2013/repeat.py

bench-live:
	@scripts/setup.sh $(BENCH_PACKAGES)
	@$(MAKE) --no-print-directory build
	target/release/terrace bench live --json target/bench-live.json

bench-osvpp:
	@scripts/setup.sh $(SPARK_PACKAGES)
	@$(MAKE) --no-print-directory build
	target/release/terrace bench osvpp --json target/bench-osvpp.json

bench-verdict:
	@scripts/setup.sh $(BENCH_PACKAGES) qemu-user
	@$(MAKE) --no-print-directory build
	python3 benches/live/verdict.py

clean:
	$(CARGO) clean
