"""Makes the inputs of the programs: the same bytes each time.

Usage: inputs.py FOLDER [INPUT...]
"""

import math
import random
import subprocess
import sys
from functools import partial
from pathlib import Path

LETTERS = "etaoinshrdlucmfwypvbgkqjxz"
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


def vocabulary(numbers, size):
    """Returns words of 2 to 11 letters, the frequent letters more often."""
    letters = [letter for rank, letter in enumerate(LETTERS) for _ in range(len(LETTERS) - rank)]
    return ["".join(numbers.choices(letters, k=numbers.randint(2, 11))) for _ in range(size)]


def prose(numbers, words, count):
    """Returns sentences of words by Zipf's law, each often followed by one of a few; some sentences repeat."""
    weights = [1 / (rank + 3) for rank in range(len(words))]
    drawn = iter(numbers.choices(range(len(words)), weights, k=2 * count))
    sentences, word = [], 0
    while count > 0:
        if sentences and numbers.random() < 0.15:
            sentence = numbers.choice(sentences)
        else:
            length = numbers.randint(4, 24)
            sentence = []
            for _ in range(length):
                follows = numbers.random() < 0.4
                word = (word * 31 + numbers.randrange(3)) % len(words) if follows else next(drawn)
                sentence.append(words[word])
            sentence = " ".join(sentence).capitalize() + "."
        sentences.append(sentence)
        count -= sentence.count(" ") + 1
    return sentences


def make_text(path):
    """Makes 9 MB of sentences, one or a few per line."""
    numbers = random.Random(1)
    sentences = prose(numbers, vocabulary(numbers, 30_000), 1_500_000)
    with path.open("w") as file:
        for sentence in sentences:
            file.write(sentence + ("\n" if numbers.random() < 0.5 else " "))


def make_archive(path):
    """Makes the contents of an archive, 1 MB of each in turn: prose, a program, a picture, a table."""
    numbers = random.Random(2)
    words = vocabulary(numbers, 20_000)
    with path.open("wb") as file:
        for turn in range(3):
            file.write(" ".join(prose(numbers, words, 180_000)).encode()[:1 << 20])
            file.write("\n".join(functions(numbers, 1_000, turn)).encode()[:1 << 20])
            file.write(picture(numbers, 1024, 1024))
            rows = (f"{row};{numbers.gauss(50, 20):.2f};{numbers.choice(words)};{row % 97}\n" for row in range(50_000))
            file.write("".join(rows).encode()[:1 << 20])


def picture(numbers, width, height):
    """Returns a picture in shades of grey: waves and a little noise."""
    rows = []
    noise = numbers.randbytes(width * height)
    for y in range(height):
        across = [40 * math.sin(x / 37 + y / 91) for x in range(width)]
        rows.append(bytes(int(128 + 60 * math.sin(y / 53) + shade) + (noise[y * width + x] & 3)
                          for x, shade in enumerate(across)))
    return b"".join(rows)


def expression(numbers, depth):
    if depth == 0 or numbers.random() < 0.2:
        return numbers.choice(["a", "b", "c", "i", "p->left", "p->right", "p->item[i & 15]", "table[c & 255]",
                               str(numbers.randint(0, 4095))])
    operator = numbers.choice(["+", "-", "*", "^", "&", "|", "<", ">=", "<<"])
    right = str(numbers.randint(1, 9)) if operator == "<<" else expression(numbers, depth - 1)
    return f"({expression(numbers, depth - 1)} {operator} {right})"


def statement(numbers, depth, callees):
    kind = numbers.randrange(8 if depth else 4)
    target = numbers.choice(["a", "b", "c", "p->left", "p->right", "p->item[b & 15]", "table[a & 255]"])
    if kind < 3 or (kind == 3 and not callees):
        return f"{target} {numbers.choice(['=', '+=', '^='])} {expression(numbers, 3)};"
    if kind == 3:
        return f"{target} += {numbers.choice(callees)}(p, {expression(numbers, 1)}, {expression(numbers, 1)});"
    inner = " ".join(statement(numbers, depth - 1, callees) for _ in range(numbers.randint(2, 4)))
    if kind < 6:
        other = f" else {{ {statement(numbers, depth - 1, callees)} }}" if numbers.random() < 0.5 else ""
        return f"if ({expression(numbers, 2)}) {{ {inner} }}{other}"
    if kind == 6:
        return f"for (i = 0; i < {numbers.randint(2, 100)}; i++) {{ {inner} }}"
    cases = " ".join(f"case {case}: {statement(numbers, 0, callees)} break;" for case in range(numbers.randint(3, 12)))
    return f"switch ({expression(numbers, 1)} & 15) {{ {cases} default: {inner} }}"


def functions(numbers, count, unit):
    """Returns definitions of C functions, each of which may call some of the earlier ones."""
    yield "struct node { int left, right, item[16]; };\nstatic int table[256];"
    for index in range(count):
        callees = [f"f{unit}_{numbers.randrange(index)}" for _ in range(4)] if index else []
        body = "\n    ".join(statement(numbers, 2, callees) for _ in range(numbers.randint(4, 16)))
        yield (f"int f{unit}_{index}(struct node *p, int a, int b)\n{{\n    int c = a ^ b, i = 0;\n    {body}\n"
               "    return a + b + c + i;\n}")


def make_source(path):
    """Makes a C program of 300 functions, preprocessed."""
    path.write_text("\n".join(functions(random.Random(3), 300, 0)) + "\n")


def make_model(path):
    """Makes a profile of 40 related proteins of 300 residues by hmm2build; hmm2calibrate writes to it."""
    numbers = random.Random(4)
    ancestor = numbers.choices(AMINO_ACIDS, k=300)
    alignment = path.with_suffix(".alignment")
    with alignment.open("w") as file:
        file.write("# STOCKHOLM 1.0\n\n")
        for protein in range(40):
            residues = (numbers.choices([residue, numbers.choice(AMINO_ACIDS), "-"], [70, 27, 3])[0]
                        for residue in ancestor)
            file.write(f"protein{protein:<4} {''.join(residues)}\n")
        file.write("//\n")
    command = ["hmm2build", "-F", "-n", "family", path, alignment]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def make_video(path):
    """Makes 100 pictures of 640 x 352: a panned texture, and squares that move in front of it."""
    import numpy

    width, height, count = 640, 352, 100
    numbers = numpy.random.default_rng(5)
    texture = numbers.standard_normal((height + 2 * count, width + 4 * count))
    for axis in (0, 1):
        for shift in (1, 2, 4, 8):
            texture += numpy.roll(texture, shift, axis)
    texture = 128 + 50 * texture / abs(texture).max() + 60 * numpy.sin(numpy.arange(texture.shape[1]) / 40)
    squares = [(numbers.integers(16, 80), *numbers.uniform(-3, 3, 2), *numbers.uniform(0, 300, 2), shade)
               for shade in numbers.integers(30, 220, 12)]
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420\n".encode())
        for frame in range(count):
            luma = texture[frame:frame + height, 3 * frame:3 * frame + width].copy()
            for size, down, right, y, x, shade in squares:
                top, left = int(y + down * frame) % height, int(x + right * frame) % width
                luma[top:top + size, left:left + size] = 0.5 * luma[top:top + size, left:left + size] + 0.5 * shade
            luma = (luma + numbers.normal(0, 1.5, luma.shape)).clip(16, 235).astype(numpy.uint8)
            chroma = (255 - luma[::2, ::2]) // 2 + 64
            file.write(b"FRAME\n" + luma.tobytes() + chroma.tobytes() + chroma.tobytes())


def make_document(path, items=20_000):
    """Makes XML: records of a catalogue, with nested parts and attributes."""
    numbers = random.Random(6)
    words = vocabulary(numbers, 5_000)
    with path.open("w") as file:
        file.write("<?xml version='1.0'?>\n<catalogue>\n")
        for item in range(items):
            parts = "".join(f"<part id='{item}.{part}' count='{numbers.randint(1, 99)}'>{numbers.choice(words)}</part>"
                            for part in range(numbers.randint(1, 6)))
            title = " ".join(numbers.choices(words, k=4))
            file.write(f"<item id='{item}' kind='{numbers.choice(words[:40])}' price='{numbers.uniform(1, 999):.2f}'>"
                       f"<title>{title}</title><needs ref='{numbers.randrange(item + 1)}'/>{parts}</item>\n")
        file.write("</catalogue>\n")


def random_network(numbers, nodes, arcs):
    """Returns arcs that connect all nodes in a ring, and others that lead mostly to near nodes."""
    ring = [(node, (node + 1) % nodes) for node in range(nodes)]
    for _ in range(arcs - nodes):
        start = numbers.randrange(nodes)
        distance = int(numbers.expovariate(10 / nodes)) + 2
        ring.append((start, (start + distance) % nodes))
    return ring


def make_network(path, nodes=30_000, arcs=400_000):
    """Makes a minimum-cost flow, in the DIMACS format."""
    numbers = random.Random(7)
    with path.open("w") as file:
        file.write(f"p min {nodes} {arcs}\n")
        ends = numbers.sample(range(nodes), 2 * nodes // 5 // 2 * 2)
        for source, sink in zip(ends[::2], ends[1::2]):
            amount = numbers.randint(1, 20)
            file.write(f"n {source + 1} {amount}\nn {sink + 1} {-amount}\n")
        for index, (start, end) in enumerate(random_network(numbers, nodes, arcs)):
            capacity = 1_000_000 if index < nodes else numbers.randint(5, 100)
            cost = 10_000 if index < nodes else numbers.randint(1, 1_000)
            file.write(f"a {start + 1} {end + 1} 0 {capacity} {cost}\n")


def make_flows(path, commodities=20):
    """Makes a linear program in the CPLEX format: commodities share 1,400 arcs between 400 places."""
    numbers = random.Random(8)
    nodes = 400
    arcs = random_network(numbers, nodes, 1400)
    costs = [numbers.randint(1, 100) if index >= nodes else 500 for index in range(len(arcs))]
    with path.open("w") as file:
        file.write("Minimize\n cost:")
        for good in range(commodities):
            file.writelines(f" + {cost} x{good}_{index}\n" for index, cost in enumerate(costs))
        file.write("Subject To\n")
        for good in range(commodities):
            ends = numbers.sample(range(nodes), 80)
            balance = dict.fromkeys(range(nodes), 0)
            for source, sink in zip(ends[::2], ends[1::2]):
                amount = numbers.randint(1, 10)
                balance[source] += amount
                balance[sink] -= amount
            terms = {node: [] for node in range(nodes)}
            for index, (start, end) in enumerate(arcs):
                terms[start].append(f"+ x{good}_{index}")
                terms[end].append(f"- x{good}_{index}")
            file.writelines(f" b{good}_{node}: {' '.join(terms[node])} = {balance[node]}\n" for node in range(nodes))
        for index in range(nodes, len(arcs)):
            total = " + ".join(f"x{good}_{index}" for good in range(commodities))
            file.write(f" s{index}: {total} <= {numbers.randint(5, 40)}\n")
        file.write("End\n")


def make_clauses(path, variables=30_000):
    """Makes a random formula, 3 literals per clause, 3.9 clauses per variable."""
    numbers = random.Random(9)
    count = int(3.9 * variables)
    with path.open("w") as file:
        file.write(f"p cnf {variables} {count}\n")
        for _ in range(count):
            chosen = numbers.sample(range(1, variables + 1), 3)
            file.write(" ".join(str(numbers.choice((-1, 1)) * variable) for variable in chosen) + " 0\n")


def make_moves(path):
    """Makes input for Go: thirty moves of each side, all chosen by the program."""
    path.write_text("boardsize 19\nclear_board\n" + "genmove black\ngenmove white\n" * 30)


def make_positions(path):
    """Makes input for chess: positions, each to be searched to a depth."""
    positions = {
        "r1bq1rk1/pp2bppp/2n1pn2/3p4/2PP4/2N2N2/PP2BPPP/R1BQ1RK1 w - - 0 9": 9,
        "2r3k1/pp3ppp/1q2p3/3pP3/3P1P2/1Q4P1/PP5P/2R3K1 w - - 0 25": 11,
        "r2q1rk1/1b1nbppp/pp1ppn2/8/2PNP3/1PN1B3/P3BPPP/R2Q1RK1 w - - 0 12": 9,
    }
    lines = ["xboard", "st 100000", "hard", "easy"]
    for position, depth in positions.items():
        lines += ["force", f"setboard {position}", f"sd {depth}", "go"]
    path.write_text("\n".join([*lines, "quit"]) + "\n")


def make_ledger(path, accounts, transfers):
    """Makes the statements of `programs/accounts.sql` for another number of accounts and transfers."""
    statements = (Path(__file__).parent / "programs" / "accounts.sql").read_text()
    path.write_text(statements.replace("60000", str(accounts)).replace("200000", str(transfers)))


def make_bodies(path, bodies):
    """Makes input for Splash-3's BARNES: as its `n16384-p1`, with another number of bodies."""
    path.write_text(f"\n{bodies}\n123\n\n0.025\n0.05\n1.0\n2.0\n5.0\n0.075\n0.25\n1\n")


def make_charges(path, charges):
    """Makes input for Splash-3's FMM: as its `input.1.16384`, with another number of particles."""
    path.write_text(f"two cluster\nplummer\n{charges}\n1e-6\n1\n5\n.025\n0.0\ncost zones\n")


MAKERS = {
    "text": make_text,
    "archive": make_archive,
    "source.i": make_source,
    "family.hmm": make_model,
    "video.y4m": make_video,
    "catalogue.xml": make_document,
    "network.min": make_network,
    "flows.lp": make_flows,
    "formula.cnf": make_clauses,
    "moves.gtp": make_moves,
    "positions": make_positions,
    # Of the sizes that `programs/sized.toml` reckons.
    "catalogue-sized.xml": partial(make_document, items=6_763),
    "network-sized.min": partial(make_network, nodes=9_830, arcs=131_072),
    "flows-sized.lp": partial(make_flows, commodities=11),
    "formula-sized.cnf": partial(make_clauses, variables=6_275),
    "ledger-sized.sql": partial(make_ledger, accounts=7_612, transfers=25_373),
    "bodies-sized": partial(make_bodies, bodies=18_550),
    "charges-sized": partial(make_charges, charges=58_982),
}


def make(folder, name):
    """Makes an input unless it exists; returns its path."""
    path = folder / name
    if not path.exists():
        partial = folder / f"partial-{name}"
        MAKERS[name](partial)
        partial.rename(path)
    return path


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or MAKERS:
        make(folder, name)


if __name__ == "__main__":
    main()
