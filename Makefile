# Terrace. `make demo` runs the main job, `make test` every test; each sets itself up.

CARGO ?= cargo
DEMO_PACKAGES = python3 python3-numpy
TEST_PACKAGES = qemu-user g++ python3 python3-jinja2 pkg-config
HTML_PACKAGES = chromium
PYTHON_PACKAGES = python3-venv
PAPER_PACKAGES = qemu-user python3 python3-jinja2 python3-matplotlib
BENCH_PACKAGES = $(DEMO_PACKAGES) python3-sklearn redis-server redis-tools xz-utils coreutils
FUZZ_SECONDS ?= 600
# The traces of other people, for test-data.
DATA = $(or $(TERRACE_DATA),../shared/data)
DEBUG = $(or $(CARGO_TARGET_DIR),target)/debug
VM_PACKAGES = qemu-system-x86 binutils busybox-static cpio kmod make systemd dbus btrfs-progs e2fsprogs xfsprogs xz-utils zstd python3
ROOT_PACKAGES = e2fsprogs util-linux kmod
POWER_PACKAGES = e2fsprogs xfsprogs
PEER_PACKAGES = pkg-config libpmemobj-dev liblmdb-dev
SPARK_PACKAGES = $(DEMO_PACKAGES) python3-venv openjdk-17-jre-headless

# The papers that are repeated, and what is told to each.
PAPERS = awad-2016 awad-2016-writes oskin-loh-2015 fedorov-2016-ch2 fedorov-2016-ch3 fedorov-2016-ch4 \
    fedorov-2016-ch5 kannan-2013 koob-2010
QUICK =

# Where the command and the libraries for C are installed, below DESTDIR, and where they were built.
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BUILT ?= $(or $(CARGO_TARGET_DIR),target)/release
BINARIES = $(DESTDIR)$(PREFIX)/bin
DAEMONS = $(DESTDIR)$(PREFIX)/sbin
SHARE = $(DESTDIR)$(PREFIX)/share
# Where the command looks for the plug-in with which it records.
RECORDER = $(DESTDIR)$(PREFIX)/lib/terrace
# Where mount(8) looks for its helpers, whatever the prefix.
HELPERS = $(DESTDIR)/sbin
UNITS = $(DESTDIR)$(PREFIX)/lib/systemd/system
USERS = $(DESTDIR)$(PREFIX)/lib/sysusers.d
EXAMPLES = $(SHARE)/doc/terrace/examples
LIBRARIES = $(DESTDIR)$(LIBDIR)
HEADERS = $(DESTDIR)$(INCLUDEDIR)
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
RUST_VERSION = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
MAJOR = $(firstword $(subst ., ,$(VERSION)))

.PHONY: help demo test test-root test-data test-html python test-python test-wheel test-random test-object-store test-c-sanitized test-power-cuts test-damaged test-vm soak soak-mount check fuzz miri tsan asan semver book reference build build-c package install install-command install-daemon install-c install-heap-c install-region-c uninstall bench-live bench-osvpp bench-verdict bench-sim bench-pages bench-python bench-guard bench-scale bench-llc bench-record bench-writes bench-sched bench-mount bench-heap papers papers-quick $(PAPERS:%=paper-%) clean bench-daemon

help:
	@echo 'make demo        run a real program with a quarter of its memory, four ways, and compare'
	@echo 'make test        run every test; as root also test-root, and test-data if the data is there'
	@echo 'make test-root   run the tests that need root, swap and devices'
	@echo 'make test-data   run the tests that need the traces in ../shared/data, or TERRACE_DATA'
	@echo 'make test-random run the tests with new random cases, a thousand of each property'
	@echo 'make test-html   draw the pages of results in Chromium (300 MB, installed first)'
	@echo 'make python      build the Python package, target/wheels/terrace_sim-*.whl'
	@echo 'make test-python build the Python package and run its tests (200 MB of PyPI)'
	@echo 'make test-wheel  install the built package with every Python from 3.10 on, as a stranger does'
	@echo 'make test-object-store'
	@echo '                 run the tests of traces in object storage, which a usual build leaves out'
	@echo 'make test-c-sanitized'
	@echo '                 run the tests of the heap for C with sanitizers and under valgrind'
	@echo 'make semver      compare the interface of the heap with the last release, and build it with the'
	@echo '                 oldest Rust'
	@echo 'make check       what make test looks at first: formatting, lints, documentation, scripts'
	@echo 'make fuzz, make miri, make tsan, make asan'
	@echo '                 search the persistent heap for defects that its tests miss (ten minutes each)'
	@echo 'make test-power-cuts'
	@echo '                 cut the power under the persistent heap some hundred times (root)'
	@echo 'make test-damaged'
	@echo '                 read and salvage 10,000 damaged pools of the persistent heap (ten minutes)'
	@echo 'make soak        have programs change pages in extended memory, over each kind of slow memory for a'
	@echo '                 minute, with errors, full disks and kills (root; 4 minutes)'
	@echo 'make soak-mount  look for a wrong byte below terrace mount, by writers of every kind, fsx and kills (root; 3 hours)'
	@echo 'make test-vm     run doctor, run and the heap on other kernels, in emulated machines (an hour)'
	@echo 'make bench-live  run the suite of real programs (some 45 minutes)'
	@echo 'make bench-osvpp run SparkBench (some hours; 320 MB from PyPI)'
	@echo 'make bench-verdict'
	@echo '                 find by simulation which of its programs a predictor can predict'
	@echo 'make bench-sim   measure the speed of policies, simulations and trace readers'
	@echo 'make bench-pages measure the simulation of pages beside libCacheSim (minutes; 190 MB of PyPI)'
	@echo 'make bench-python'
	@echo '                 measure the Python package beside the command and libCacheSim (minutes)'
	@echo 'make bench-guard compare the speed of this tree with that of the last tag, or of BASE'
	@echo 'make bench-scale measure what a sweep costs on a cluster, and simulate 1,000 workers (minutes; 200 MB of PyPI)'
	@echo 'make bench-llc   measure the simulation of last-level caches, beside cachegrind'
	@echo 'make bench-record'
	@echo '                 compare recording with a plug-in that only counts (some minutes)'
	@echo 'make bench-writes'
	@echo '                 compare what is said to be written with what is written, as root (ten minutes)'
	@echo 'make bench-sched what longer turns gain and cost, as root (15 minutes)'
	@echo 'make bench-mount what a flash level gains, as root, with FLASH a directory of the flash (some minutes)'
	@echo 'make bench-heap  measure the persistent heap beside libpmemobj, LMDB and redb (an hour)'
	@echo 'make bench-daemon'
	@echo '                 measure terraced on four services, by kills, bursts and at rest, as root (six hours)'
	@echo 'make papers      repeat every paper, and write its page anew (hours; what needs root, sources or data that'
	@echo '                 are not there is left out and named); papers-quick checks that it works; one alone:'
	@echo 'make paper-awad-2016, make paper-oskin-loh-2015, make paper-fedorov-2016-ch3,'
	@echo 'make paper-fedorov-2016-ch5'
	@echo '                 repeat a paper and print its figures beside ours (10 to 20 minutes each)'
	@echo 'make paper-awad-2016-writes'
	@echo '                 what write schemes write of real programs, as root (an hour)'
	@echo 'make paper-fedorov-2016-ch2'
	@echo '                 the same, after recording its programs'
	@echo 'make paper-fedorov-2016-ch4'
	@echo '                 the same of the flash TCAM, with a day of updates from TERRACE_DATA'
	@echo 'make paper-koob-2010'
	@echo '                 the same, flash behind the page cache, simulated (some minutes)'
	@echo 'make paper-koob-2010-live'
	@echo '                 the same, PostMark through a mount, as root (ten minutes)'
	@echo 'make paper-kannan-2013'
	@echo '                 the same, with the persistent heap (an hour)'
	@echo 'make book        build the pages of the book, target/book/index.html (mdBook from crates.io)'
	@echo 'make reference   write the pages of the book that come from help texts, lists and papers'
	@echo 'make build       build target/release/terrace'
	@echo 'make build-c     build the heap and regions for C'
	@echo 'make install     install the command with its manual pages and completions, terraced with its units, and'
	@echo '                 the libraries for C, under PREFIX (/usr/local), below DESTDIR; make uninstall removes them'
	@echo 'make package     check that heap, policy and trace can be published'
	@echo 'make clean       remove what was built'

# Built for itself, in two fifths of the time of a release.
demo:
	@scripts/setup.sh $(DEMO_PACKAGES)
	$(CARGO) build --profile demo --locked -p terrace
	@scripts/demo.sh

# A change is judged by what it changed: property tests draw the same cases each time. `make
# test-random` and `make fuzz` draw others.
test: export PROPTEST_RNG_SEED ?= 1
# The libraries for C are built with all tests, and share the crates below them; a test that is run alone builds
# them with the features that they need, and these crates anew.
test: export TERRACE_C_BUILT = 1
test: check
	@scripts/setup.sh $(TEST_PACKAGES)
	$(CARGO) build --workspace --lib --tests --locked
	$(CARGO) test --workspace --locked
	/usr/bin/python3 -m unittest discover -s papers
	/usr/bin/python3 -m unittest discover -s benches/daemon
	/usr/bin/python3 -m unittest discover -s benches/heap
	/usr/bin/python3 -m unittest discover -s benches/python
	@if [ -d $(DATA) ]; then $(MAKE) --no-print-directory test-data; \
		else echo 'test: LEFT OUT: make test-data: there is no $(DATA)' >&2; fi
	$(MAKE) --no-print-directory test-python
	@if command -v chromium >/dev/null; then $(MAKE) --no-print-directory test-html; \
		else echo 'test: LEFT OUT: make test-html: there is no chromium' >&2; fi
	@if [ "$$(id -u)" != 0 ]; then echo 'test: LEFT OUT: make test-root: this needs root' >&2; else \
		$(DEBUG)/terrace doctor >/dev/null; \
		case $$? in \
		0) $(MAKE) --no-print-directory test-root ;; \
		1) echo 'test: LEFT OUT: make test-root: see what terrace doctor says' >&2 ;; \
		*) echo 'test: terrace doctor failed' >&2; exit 1 ;; \
		esac; fi

test-root:
	@scripts/setup.sh $(TEST_PACKAGES) $(ROOT_PACKAGES)
	scripts/test-root.sh

test-data:
	$(CARGO) test --workspace --locked -- --ignored shared_data

# A wheel for every Python from 3.10 on.
python:
	@scripts/setup.sh $(PYTHON_PACKAGES)
	/usr/bin/python3 -m venv target/python
	target/python/bin/pip install --quiet 'maturin>=1.16,<2'
	cd python/sim && CARGO_TARGET_DIR=$(CURDIR)/target ../../target/python/bin/maturin build --quiet --release --locked \
		--out $(CURDIR)/target/wheels

test-python:
	@scripts/setup.sh $(PYTHON_PACKAGES)
	scripts/test-python.sh

# The wheel is that of `make python`. PYTHONS names directories of Pythons besides PATH and those of pyenv.
test-wheel:
	scripts/test-wheel.sh

# A browser draws the pages of results; any error on its console is a failure. The whole workspace is named as in
# `test`, so that nothing is built again with fewer features of the crates below.
test-html:
	@scripts/setup.sh $(HTML_PACKAGES)
	$(CARGO) test --workspace --locked --test html --test web -- --include-ignored

test-random:
	env -u PROPTEST_RNG_SEED PROPTEST_CASES=$${PROPTEST_CASES:-1000} $(CARGO) test --workspace --locked

# Servers of the tests speak http. S3 is played by moto, in the Python that TERRACE_MOTO names.
test-object-store: export AWS_ALLOW_HTTP = true
test-object-store: export TERRACE_MOTO ?= python3
test-object-store: export PROPTEST_RNG_SEED ?= 1
test-object-store:
	@scripts/setup.sh
	$(CARGO) clippy --locked -p terrace-trace -p terrace --all-targets --features terrace/object-store -- -D warnings
	$(CARGO) test --locked -p terrace-trace -p terrace --features terrace/object-store \
		--lib --test ranges --test store
	@if $(TERRACE_MOTO) -c 'import boto3, moto.server' 2>/dev/null; then \
		$(CARGO) test --locked -p terrace-trace -p terrace --features terrace/object-store \
			--lib --test ranges --test store s3 -- --ignored; \
	else \
		echo 'test-object-store: LEFT OUT: S3: TERRACE_MOTO names no Python with moto[server]' >&2; \
	fi

test-c-sanitized:
	@scripts/setup.sh
	scripts/test-c-sanitized.sh

# Leaves out file systems that cannot be made, and names them.
test-power-cuts:
	@for package in $(POWER_PACKAGES); do scripts/setup.sh $$package || true; done
	TERRACE_CUTS=$${TERRACE_CUTS:-100} $(CARGO) test --locked -p terrace-heap --test killed -- --include-ignored power

test-damaged:
	TERRACE_DAMAGED=$${TERRACE_DAMAGED:-10000} TERRACE_SALVAGED=$${TERRACE_SALVAGED:-1000} \
	    $(CARGO) test --locked -p terrace-heap --test corruption -- contents salvaged

# What is drawn is printed, and TERRACE_SOAK_SEED draws it again.
soak:
	@scripts/setup.sh e2fsprogs util-linux
	TERRACE_SOAK_SECONDS=$${TERRACE_SOAK_SECONDS:-60} TERRACE_SOAK_SEED=$${TERRACE_SOAK_SEED:-$$(date +%s)} \
		$(CARGO) test --release --locked -p terrace-region --test soak -- --ignored --nocapture --skip in_another_process

# As root. What is drawn is printed, and --seed draws it again. fsx and file systems are left out where they are not
# installed.
soak-mount:
	@scripts/setup.sh fuse3 python3 e2fsprogs
	@for package in xfsprogs btrfs-progs; do scripts/setup.sh $$package || true; done
	@$(MAKE) --no-print-directory build
	scripts/soak-mount.py --seconds $${TERRACE_SOAK_SECONDS:-3600} $(or $(FLASH),/var/tmp)

# Boots kernels of Debian packages without KVM, so times in there mean nothing.
test-vm:
	@scripts/setup.sh $(VM_PACKAGES)
	$(CARGO) build --release --locked -p terrace -p terrace-daemon -p terrace-web -p terrace-recorder-plugin \
		-p terrace-preload-objects -p terrace-preload-extended -p terrace-heap-c
	scripts/vm/test.sh

check:
	@scripts/setup.sh
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path benches/heap/redb/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --package terrace-heap --lib --locked -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --locked
	scripts/lint.sh

book: target/tools/bin/mdbook
	target/tools/bin/mdbook build book

# The pages of the book that the command's help and lists are written to.
reference:
	@scripts/setup.sh python3 python3-jinja2
	/usr/bin/python3 papers/pages.py
	TERRACE_WRITE_REFERENCE=1 $(CARGO) test --workspace --locked --test reference

target/tools/bin/mdbook:
	@scripts/setup.sh
	$(CARGO) install --locked --root target/tools --version 0.5.4 mdbook

# The crates that others would depend on, as they would be published.
package:
	$(CARGO) package --locked --no-verify $(foreach crate,base preload-protocol recorder policy heap trace,--package terrace-$(crate))

# Compares the interface of the heap with its baseline, and builds it with the oldest supported Rust.
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
	$(CARGO) build --release --locked -p terrace-heap-c -p terrace-region-c

# All install what was built, so that root, who installs, needs no Rust; they build it if it was not.
install: install-command install-daemon install-c

# Manual pages and completions are written by the command itself. Lines for debuggers, three quarters
# of the bytes, stay in what was built.
install-command:
	@[ -e $(BUILT)/terrace ] || $(MAKE) --no-print-directory build
	install -d $(BINARIES) $(RECORDER)
	install -s -m 755 $(BUILT)/terrace $(BINARIES)
	install -s -m 755 $(BUILT)/libterrace_recorder_plugin.so $(BUILT)/libterrace_preload_extended.so \
		$(BUILT)/libterrace_preload_objects.so $(RECORDER)
	$(BUILT)/terrace manual $(DESTDIR)$(PREFIX)
	install -d $(HELPERS) $(UNITS)
	install -m 755 packaging/mount.terrace $(HELPERS)
	ln -sf mount.terrace $(HELPERS)/mount.fuse.terrace
	sed -e 's|@PREFIX@|$(PREFIX)|' packaging/terrace-mount@.service.in >$(UNITS)/terrace-mount@.service

# A folder for a package (DESTDIR) has no group and no systemd that could be told.
install-daemon:
	@[ -e $(BUILT)/terraced ] || $(MAKE) --no-print-directory build
	install -d $(BINARIES) $(DAEMONS) $(UNITS) $(USERS) $(EXAMPLES)
	install -s -m 755 $(BUILT)/terraced $(DAEMONS)
	install -s -m 755 $(BUILT)/terraced-web $(BINARIES)
	for unit in terraced terraced-tier terraced-web; do \
		sed -e 's|@PREFIX@|$(PREFIX)|' packaging/$$unit.service.in >$(UNITS)/$$unit.service || exit 1; \
	done
	install -m 644 packaging/terraced-web.socket $(UNITS)
	install -m 644 packaging/terrace.sysusers $(USERS)/terrace.conf
	install -m 644 packaging/terraced.toml $(EXAMPLES)
	@[ -n "$(DESTDIR)" ] || packaging/service.sh installed $(USERS)/terrace.conf

install-c: install-heap-c install-region-c

install-heap-c:
	$(call install_library,heap)

install-region-c:
	$(call install_library,region)

# Installs the library for C of a crate.
define install_library
	@[ -e $(BUILT)/libterrace_$(1).so ] || $(MAKE) --no-print-directory build-c
	install -d $(LIBRARIES)/pkgconfig $(HEADERS)
	install -m 644 $(BUILT)/libterrace_$(1).so $(LIBRARIES)/libterrace_$(1).so.$(VERSION)
	ln -sf libterrace_$(1).so.$(VERSION) $(LIBRARIES)/libterrace_$(1).so.$(MAJOR)
	ln -sf libterrace_$(1).so.$(MAJOR) $(LIBRARIES)/libterrace_$(1).so
	install -m 644 $(BUILT)/libterrace_$(1).a $(LIBRARIES)
	install -m 644 crates/$(1)-c/include/terrace_$(1).h $(HEADERS)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' crates/$(1)-c/terrace_$(1).pc.in \
		>$(LIBRARIES)/pkgconfig/terrace_$(1).pc
endef

# What an administrator has written, and what terraced keeps, stays.
uninstall:
	@[ -n "$(DESTDIR)" ] || packaging/service.sh removing $(UNITS)
	rm -f $(DAEMONS)/terraced $(BINARIES)/terraced-web $(USERS)/terrace.conf
	rm -f $(UNITS)/terraced.service $(UNITS)/terraced-tier.service $(UNITS)/terraced-web.service \
		$(UNITS)/terraced-web.socket
	rm -rf $(SHARE)/doc/terrace
	rm -f $(BINARIES)/terrace $(SHARE)/man/man1/terrace.1 $(SHARE)/man/man1/terrace-*.1 \
		$(SHARE)/bash-completion/completions/terrace $(SHARE)/zsh/site-functions/_terrace \
		$(SHARE)/fish/vendor_completions.d/terrace.fish
	rm -rf $(RECORDER)
	rm -f $(HELPERS)/mount.terrace $(HELPERS)/mount.fuse.terrace $(UNITS)/terrace-mount@.service
	rm -f $(foreach library,terrace_heap terrace_region,$(LIBRARIES)/lib$(library).so.$(VERSION) \
		$(LIBRARIES)/lib$(library).so.$(MAJOR) $(LIBRARIES)/lib$(library).so $(LIBRARIES)/lib$(library).a \
		$(LIBRARIES)/pkgconfig/$(library).pc $(HEADERS)/$(library).h)
	@[ -n "$(DESTDIR)" ] || packaging/service.sh removed

bench-sim:
	@scripts/setup.sh
	$(CARGO) bench --locked -p terrace-policy --bench replacement
	$(CARGO) bench --locked -p terrace-policy --bench prefetch
	$(CARGO) bench --locked -p terrace-policy --bench write
	$(CARGO) bench --locked -p terrace-live --bench slots
	$(CARGO) bench --locked -p terrace-sim --bench pages
	$(CARGO) bench --locked -p terrace-sim --bench control
	$(CARGO) bench --locked -p terrace-trace --bench native

bench-pages:
	@scripts/setup.sh python3-venv
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 benches/pages/compare.py

bench-python:
	@scripts/setup.sh python3-venv
	@$(MAKE) --no-print-directory build python
	/usr/bin/python3 benches/python/speed.py

bench-guard:
	@scripts/setup.sh git python3
	scripts/bench-guard.sh

bench-scale:
	@$(MAKE) --no-print-directory python
	/usr/bin/python3 -m venv target/bench-scale
	target/bench-scale/bin/pip install --quiet boto3 distributed 'moto[server]' numpy pyarrow \
		target/wheels/terrace_sim-$(VERSION)-*.whl
	target/bench-scale/bin/python benches/python/scale.py --json target/bench-scale.json

bench-llc:
	@scripts/setup.sh gzip qemu-user
	@$(MAKE) --no-print-directory build
	$(CARGO) bench --locked -p terrace-sim --bench llc
	scripts/bench-llc.sh

bench-record:
	@scripts/setup.sh gcc gzip qemu-user xz-utils coreutils
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 benches/record/compare.py

bench-writes:
	@scripts/setup.sh gzip qemu-user xz-utils
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 benches/writes/compare.py

# As root, on an idle machine.
bench-mount:
	@scripts/setup.sh fuse3 python3 python3-fusepy postmark bindfs
	@$(MAKE) --no-print-directory build
	benches/mount/measure.py $(or $(FLASH),$(error FLASH names a directory of the flash))
	benches/mount/postmark.py $(FLASH)
	benches/mount/tree.py $(FLASH)

# As root, on an idle machine.
bench-sched:
	@scripts/setup.sh bzip2 xz-utils zstd
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 benches/sched/measure.py

# Leaves out peers whose packages cannot be installed, and names them.
bench-heap:
	@for package in $(PEER_PACKAGES); do scripts/setup.sh $$package || true; done
	$(CARGO) build --release --locked -p terrace-heap-bench --bin side_by_side
	$(CARGO) build --release --locked --manifest-path benches/heap/redb/Cargo.toml --target-dir target/redb || true
	/usr/bin/python3 benches/heap/repeat.py

# As root, on an idle machine.
bench-daemon:
	@scripts/setup.sh redis-server postgresql default-jdk-headless util-linux
	$(CARGO) build --release --locked -p terrace-daemon -p terrace-web
	benches/daemon/rest.py
	benches/daemon/burst.py
	benches/daemon/kills.py
	benches/daemon/hour.py

# One after the other; one that fails is named at the end.
papers:
	@failed=; for paper in $(PAPERS); do \
		$(MAKE) --no-print-directory paper-$$paper || failed="$$failed $$paper"; \
	done; \
	[ -z "$$failed" ] || { echo "papers: failed:$$failed" >&2; exit 1; }

papers-quick:
	@$(MAKE) --no-print-directory papers QUICK=--quick

paper-awad-2016:
	@scripts/setup.sh $(PAPER_PACKAGES) sqlite3 coreutils
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 papers/all.py $(QUICK) awad-2016

# As root. BENCH_SOURCES names the folder of the applications' sources; other programs stand in for those that
# are not there.
paper-awad-2016-writes:
	@scripts/setup.sh $(PAPER_PACKAGES) g++ make libmpich-dev
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 papers/all.py $(QUICK) awad-2016-writes

paper-oskin-loh-2015:
	@scripts/setup.sh $(PAPER_PACKAGES) python3-numpy python3-scipy libopenblas0-pthread
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 papers/all.py $(QUICK) oskin-loh-2015

# Leaves out programs whose packages cannot be installed, and names them.
paper-fedorov-2016-ch2:
	@scripts/setup.sh $(PAPER_PACKAGES)
	@for package in $$(/usr/bin/python3 papers/fedorov-2016-ch2/programs.py); do \
		scripts/setup.sh $$package || true; done
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 papers/all.py $(QUICK) fedorov-2016-ch2

# BENCH_SOURCES names the folder with Splash-3's source; its programs are left out without it.
paper-fedorov-2016-ch3:
	@scripts/setup.sh $(PAPER_PACKAGES) m4 make
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 papers/all.py $(QUICK) fedorov-2016-ch3

# Needs the tables and updates that repeat.py names, in TERRACE_DATA.
paper-fedorov-2016-ch4:
	@scripts/setup.sh python3 python3-jinja2 ngspice
	@$(MAKE) --no-print-directory build
	TERRACE_DATA=$(DATA) /usr/bin/python3 papers/all.py $(QUICK) fedorov-2016-ch4

paper-fedorov-2016-ch5:
	@scripts/setup.sh $(PAPER_PACKAGES)
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 papers/all.py $(QUICK) fedorov-2016-ch5

# What needs root is left out without it.
paper-koob-2010:
	@scripts/setup.sh python3 python3-jinja2 python3-matplotlib fuse3 postmark python3-fusepy
	@$(MAKE) --no-print-directory build
	/usr/bin/python3 papers/all.py $(QUICK) koob-2010

# Leaves out programs whose packages cannot be installed, and names them.
paper-kannan-2013:
	@scripts/setup.sh $(PAPER_PACKAGES)
	@for package in $$(/usr/bin/python3 papers/kannan-2013/programs.py); do \
		scripts/setup.sh $$package || true; done
	@$(MAKE) --no-print-directory build
	$(CARGO) build --release --locked -p terrace-heap-bench --bin persistence_cost
	/usr/bin/python3 papers/all.py $(QUICK) kannan-2013

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
