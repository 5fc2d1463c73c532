"""Writers of every kind, for the soak of `terrace mount`: each changes a file while the mount reads it.

What a file holds afterwards is asked of the source, outside of the mount: a mount that says anything else a moment after
the last change is wrong. `look` has the mount read the file, so that it may keep what it found in between.
"""

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import signal
import struct
import threading
import time

PAGE = 4096
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
AT_FDCWD, RENAME_EXCHANGE = -100, 2
KEEP_SIZE, PUNCH_HOLE, COLLAPSE, ZERO, INSERT = 1, 2, 8, 16, 32
FICLONERANGE = 0x4020940D


def checked(result):
    """Raises the error of a call of the C library."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def read(fd, size):
    """Reads a file from its start on. A mount that is killed leaves a read short, and has the next one fail."""
    found = b""
    while part := os.pread(fd, size - len(found), len(found)):
        found += part
    return found


class File:
    """A file that one writer changes, and the mount reads."""

    def __init__(self, path, above, draw, check=None, pages=16):
        self.path, self.above, self.draw, self.check, self.pages = path, above, draw, check, pages
        self.looks = 0
        # Some files are read past the kernel's page cache, and others never, so that old pages stay in it.
        self.past = draw.choice([0, 0.8, 0.8, 1])

    def contents(self, pages=1):
        return self.draw.randbytes(pages * PAGE)

    def at(self, pages=1):
        return self.draw.randrange(self.pages - pages) * PAGE

    def pause(self, *seconds):
        """Waits, most often longer than two changes may have the same time."""
        time.sleep(self.draw.choice(seconds or (0, 0.03, 0.03, 0.08, 0.3)))

    def look(self):
        """Has the mount read the file."""
        with contextlib.suppress(OSError), open(self.above, "rb", buffering=0) as file:
            if self.draw.random() < self.past:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            os.pread(file.fileno(), self.pages * PAGE, 0)
            self.looks += 1

    @contextlib.contextmanager
    def opened(self, flags=os.O_RDWR):
        fd = os.open(self.path, flags)
        try:
            yield fd
        finally:
            os.close(fd)


def mapping(file):
    """Stores twice before the kernel writes back; the mount reads in between."""
    with file.opened() as fd, mmap.mmap(fd, file.pages * PAGE) as mapped:
        at = file.at()
        for _ in range(file.draw.choice([2, 2, 3])):
            mapped[at:at + PAGE] = file.contents()
            file.pause(0.03, 0.1, 0.3)
            file.look()
        mapped[at:at + PAGE] = file.contents()
        if file.draw.random() < 0.7:
            mapped.flush()


def mapping_alone(file):
    """As `mapping`, with the descriptor closed before the first store, and nothing written back by the program."""
    with file.opened() as fd:
        mapped = mmap.mmap(fd, file.pages * PAGE)
    at = file.at()
    for _ in range(2):
        mapped[at:at + PAGE] = file.contents()
        file.pause(0.03, 0.1, 0.3)
        file.look()
    mapped[at:at + PAGE] = file.contents()
    mapped.close()


def mapping_synced(file):
    """Writes back between the stores, so that the version moves; the mount reads at every moment."""
    with file.opened() as fd, mmap.mmap(fd, file.pages * PAGE) as mapped:
        at = file.at()
        for _ in range(4):
            mapped[at:at + PAGE] = file.contents()
            file.pause(0, 0.03)
            file.draw.choice([mapped.flush, lambda: os.fdatasync(fd), lambda: None])()
            file.look()


def mapping_of_a_child(file):
    """A child has the mapping alone, stores again after the mount has read, and is killed."""
    with file.opened() as fd:
        mapped = mmap.mmap(fd, file.pages * PAGE)
    at, stores = file.at(), [file.contents(), file.contents()]
    (told, tell), (heard, say) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        # PR_SET_PDEATHSIG.
        LIBC.prctl(1, signal.SIGKILL)
        for contents in stores:
            os.read(told, 1)
            mapped[at:at + PAGE] = contents
            os.write(say, b"x")
        signal.pause()
        os._exit(0)
    mapped.close()
    for _ in stores:
        os.write(tell, b"x")
        os.read(heard, 1)
        file.pause(0.03, 0.1)
        file.look()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for end in told, tell, heard, say:
        os.close(end)


def write(file):
    """Writes whole pages and parts of them."""
    with file.opened() as fd:
        for _ in range(3):
            length = file.draw.choice([100, PAGE, PAGE + 100, 2 * PAGE])
            at = file.draw.choice([file.at(3), file.draw.randrange((file.pages - 3) * PAGE)])
            os.pwrite(fd, file.draw.randbytes(length), at)
            file.pause(0, 0.03)
            file.look()


def write_beside(file):
    """A single write, and none after it, while another program writes elsewhere in the file through the mount."""
    def beside():
        with contextlib.suppress(OSError), open(file.above, "r+b", buffering=0) as above:
            for _ in range(100):
                os.pwrite(above.fileno(), b"beside", 15 * PAGE)
    for _ in range(6):
        # Old enough for its pages to be kept.
        time.sleep(0.03)
        file.look()
        other = threading.Thread(target=beside)
        other.start()
        time.sleep(file.draw.uniform(0, 0.004))
        with file.opened() as fd:
            os.pwrite(fd, file.contents(), file.at())
        other.join()
        # The rest is written by others still.
        file.check(15 * PAGE)


def write_and_hide(file):
    """Sets the time of modification back."""
    before = os.stat(file.path)
    with file.opened() as fd:
        os.pwrite(fd, file.contents(), file.at())
        file.look()
        os.utime(fd, ns=(before.st_atime_ns, before.st_mtime_ns))
    file.look()


def append(file):
    """Cuts the last page off, and appends another in two pieces."""
    os.truncate(file.path, (file.pages - 1) * PAGE)
    file.look()
    last, cut = file.contents(), file.draw.randrange(1, PAGE)
    with file.opened(os.O_WRONLY | os.O_APPEND) as fd:
        for part in last[:cut], last[cut:]:
            os.write(fd, part)
            file.pause(0, 0.03)
            file.look()
    os.truncate(file.path, file.pages * PAGE)


def slow_write(file):
    """A write whose last page comes late: the version has moved long before its bytes are there."""
    pages = 3
    # As memory of the system, because a page of Python's own would be there already.
    size = pages * PAGE
    base = LIBC.mmap(None, ctypes.c_size_t(size), 3, 0x22, -1, ctypes.c_long(0))
    late = base + size - PAGE
    ctypes.memmove(base, file.contents(pages - 1), size - PAGE)
    fault = checked(LIBC.syscall(323, os.O_CLOEXEC))
    try:
        fcntl.ioctl(fault, 0xC018AA3F, struct.pack("QQQ", 0xAA, 0, 0))
        fcntl.ioctl(fault, 0xC020AA00, struct.pack("QQQQ", late, PAGE, 1, 0))
        at = file.at(pages)
        with file.opened() as fd:
            writer = threading.Thread(target=lambda: LIBC.pwrite(fd, ctypes.c_void_p(base), ctypes.c_size_t(size),
                                                                 ctypes.c_long(at)))
            writer.start()
            time.sleep(0.06)
            # On XFS it waits for the write.
            looking = threading.Thread(target=file.look)
            looking.start()
            time.sleep(0.06)
            page = ctypes.create_string_buffer(file.contents(), PAGE)
            fcntl.ioctl(fault, 0xC028AA03, struct.pack("QQQQq", late, ctypes.addressof(page), PAGE, 0, 0))
            writer.join()
            looking.join()
    finally:
        os.close(fault)
        LIBC.munmap(ctypes.c_void_p(base), ctypes.c_size_t(size))


def truncate(file):
    for size in file.at(), file.pages * PAGE:
        os.truncate(file.path, size)
        file.pause(0, 0.03)
        file.look()
    with file.opened() as fd:
        os.ftruncate(fd, file.at() + 7)
        file.look()
        os.ftruncate(fd, file.pages * PAGE)


def rename(file):
    """Another file takes the name, of the same size and with the same times as far as programs can set them."""
    before, other = os.stat(file.path), f"{file.path}.new"
    with open(other, "wb") as new:
        new.write(file.contents(file.pages))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    if file.draw.random() < 0.5:
        names = (ctypes.c_char_p(os.fsencode(name)) for name in (other, file.path))
        old, new = names
        checked(LIBC.renameat2(AT_FDCWD, old, AT_FDCWD, new, RENAME_EXCHANGE))
        os.unlink(other)
    else:
        os.rename(other, file.path)
    file.look()


def fallocated(*modes):
    def fallocate(file):
        with file.opened() as fd:
            for _ in range(2):
                pages, mode = file.draw.choice([1, 2]), file.draw.choice(modes)
                checked(LIBC.fallocate(fd, mode, ctypes.c_long(file.at(pages)), ctypes.c_long(pages * PAGE)))
                file.pause(0, 0.03)
                file.look()
            os.pwrite(fd, file.contents(), file.at())
        os.truncate(file.path, file.pages * PAGE)
    return fallocate


def direct(file):
    with file.opened(os.O_RDWR | os.O_DIRECT) as fd, mmap.mmap(-1, 2 * PAGE) as aligned:
        for _ in range(3):
            aligned[:] = file.contents(2)
            os.pwrite(fd, aligned, file.at(2))
            file.pause(0, 0.03)
            file.look()


class Ring:
    """An io_uring for one request at a time."""

    def __init__(self):
        parameters = ctypes.create_string_buffer(120)
        self.fd = checked(LIBC.syscall(425, 2, parameters))
        words = struct.unpack("30I", parameters)
        self.sq, self.cq = words[10:20], words[20:30]
        ring = max(self.sq[6] + words[0] * 4, self.cq[5] + words[1] * 16)
        self.rings = mmap.mmap(self.fd, ring, mmap.MAP_SHARED, offset=0)
        self.entries = mmap.mmap(self.fd, words[0] * 64, mmap.MAP_SHARED, offset=0x10000000)
        self.mask = struct.unpack_from("I", self.rings, self.sq[2])[0]

    def write(self, fd, buffer, length, at, meanwhile):
        """Writes; `meanwhile` runs after the request has been submitted."""
        tail, = struct.unpack_from("I", self.rings, self.sq[1])
        # IORING_OP_WRITE.
        struct.pack_into("BBHiQQIIQ24x", self.entries, (tail & self.mask) * 64, 23, 0, 0, fd, at, buffer, length, 0, 0)
        struct.pack_into("I", self.rings, self.sq[6] + 4 * (tail & self.mask), tail & self.mask)
        struct.pack_into("I", self.rings, self.sq[1], tail + 1)
        checked(LIBC.syscall(426, self.fd, 1, 0, 0, None, 0))
        meanwhile()
        checked(LIBC.syscall(426, self.fd, 0, 1, 1, None, 0))
        head, = struct.unpack_from("I", self.rings, self.cq[0])
        mask, = struct.unpack_from("I", self.rings, self.cq[2])
        _, result, _ = struct.unpack_from("QiI", self.rings, self.cq[5] + 16 * (head & mask))
        struct.pack_into("I", self.rings, self.cq[0], head + 1)
        if result != length:
            raise OSError(-result, os.strerror(-result))

    def close(self):
        self.entries.close()
        self.rings.close()
        os.close(self.fd)


def uring(flags):
    def write(file):
        ring, aligned = Ring(), mmap.mmap(-1, 2 * PAGE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(aligned))
        try:
            with file.opened(os.O_RDWR | flags) as fd:
                for _ in range(3):
                    aligned[:] = file.contents(2)
                    ring.write(fd, address, 2 * PAGE, file.at(2), file.look)
                    file.pause(0, 0.03)
                    file.look()
        finally:
            ring.close()
    return write


def copied(file):
    other = f"{file.path}.from"
    with open(other, "w+b") as source, file.opened() as fd:
        source.write(file.contents(4))
        source.flush()
        for _ in range(2):
            os.copy_file_range(source.fileno(), fd, 2 * PAGE, file.draw.randrange(2) * PAGE, file.at(2))
            file.pause(0, 0.03)
            file.look()
    os.unlink(other)


def reflinked(file):
    other = f"{file.path}.from"
    try:
        with open(other, "w+b") as source, file.opened() as fd:
            source.write(file.contents(4))
            source.flush()
            for _ in range(2):
                fcntl.ioctl(fd, FICLONERANGE, struct.pack("qQQQ", source.fileno(), PAGE, 2 * PAGE, file.at(2)))
                file.pause(0, 0.03)
                file.look()
    finally:
        os.unlink(other)


KINDS = {
    "mapping": mapping, "mapping alone": mapping_alone, "mapping synced": mapping_synced,
    "mapping of a child": mapping_of_a_child, "write": write, "write beside": write_beside, "write and hide": write_and_hide,
    "slow write": slow_write, "append": append, "truncate": truncate, "rename": rename,
    "punch": fallocated(PUNCH_HOLE | KEEP_SIZE), "zero": fallocated(ZERO, ZERO | KEEP_SIZE),
    "collapse and insert": fallocated(COLLAPSE, INSERT), "O_DIRECT": direct, "io_uring": uring(0),
    "io_uring O_DIRECT": uring(os.O_DIRECT), "copy_file_range": copied, "reflink": reflinked,
}

# What a file system may not do.
NOT_THERE = {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.ENOSYS, errno.EXDEV}


class Writer:
    """A kind of writer, on the source, through the mount, or on both at once, and the file that it changes."""

    def __init__(self, place, kind, side, draw):
        self.kind, self.side, self.draw = kind, side, draw
        self.name = f"{kind} {side}".replace(" ", "-")
        self.below, self.above = place / "source" / self.name, place / "mounted" / self.name
        self.rounds = self.checks = self.looks = self.failed = 0
        self.absent, self.wrong = False, []
        self.maps_the_mount = side == "mount" and kind.startswith("mapping")
        self.below.write_bytes(draw.randbytes(16 * PAGE))

    def run(self):
        """Changes the file as its kind does, most often of a version that the mount keeps."""
        path = self.below if self.side != "mount" else self.above
        file = File(path, self.above, self.draw, self.check_at_once)
        if self.draw.random() < 0.7:
            time.sleep(0.03)
            file.look()
        beside = threading.Thread(target=self.beside, args=[file]) if self.side == "both" else None
        if beside:
            beside.start()
        try:
            KINDS[self.kind](file)
            self.rounds += 1
        except OSError as error:
            if error.errno in NOT_THERE:
                self.absent = True
            else:
                # The mount was killed.
                self.failed += 1
        if beside:
            beside.join()
        self.looks += file.looks
        self.check_at_once()

    def look(self):
        """Has the mount read the file as it rests, so that it keeps it."""
        file = File(self.below, self.above, self.draw)
        for _ in range(2):
            file.look()
        self.looks += file.looks

    def beside(self, file):
        """Writes through the mount meanwhile, in pages of its own as far as the kind leaves them alone."""
        draw = type(self.draw)(self.draw.random())
        with contextlib.suppress(OSError), open(self.above, "r+b", buffering=0) as above:
            for _ in range(draw.randrange(20, 200)):
                os.pwrite(above.fileno(), draw.randbytes(100), 15 * PAGE)
                time.sleep(draw.choice([0, 0, 0.001]))

    def check_at_once(self, end=None):
        """Compares a file that is opened when all changes up to `end` are over: only its size and name may be known from
        before."""
        with contextlib.suppress(OSError):
            fd = os.open(self.above, os.O_RDONLY)
            try:
                above, below = os.fstat(fd), os.stat(self.below)
                if (above.st_ino, above.st_size) == (below.st_ino, below.st_size):
                    found, wanted = read(fd, below.st_size), self.below.read_bytes()
                    self.compare("a file that is opened at once", found[:end], wanted[:end])
            finally:
                os.close(fd)

    def check(self, kept):
        """Compares what the mount says with the source: by its kernel pages, and past them."""
        wanted = self.below.read_bytes()
        found = []
        with contextlib.suppress(OSError):
            if kept is not None and os.fstat(kept).st_ino == os.stat(self.above).st_ino:
                found.append(("an open file", os.pread(kept, len(wanted) + PAGE, 0)))
            fd = os.open(self.above, os.O_RDONLY)
            try:
                found.append(("a file that is opened", os.pread(fd, len(wanted) + PAGE, 0)))
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                found.append(("past the page cache", os.pread(fd, len(wanted) + PAGE, 0)))
            finally:
                os.close(fd)
        for how, bytes_ in found:
            self.compare(how, bytes_, wanted)

    def compare(self, how, found, wanted):
        self.checks += 1
        if found != wanted:
            pages = [at // PAGE for at in range(0, max(len(wanted), len(found)), PAGE)
                     if found[at:at + PAGE] != wanted[at:at + PAGE]]
            self.wrong.append(f"{how}: pages {pages} of {self.below}")
