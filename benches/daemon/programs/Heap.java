import java.io.IOException;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.Random;

/**
 * A heap of blocks of a page, of which a third is hot: units of work at a fixed rate, each of which
 * changes two hundred hot blocks and makes some garbage, until it is ended.
 *
 * <p>Usage: Heap MIB RATE LOG. A line of the log has the time at which a unit was due (seconds
 * since 1970), and how long it took since then and since it began (microseconds). A unit that is
 * due for more than a second is left out: a line with its time alone.
 */
public final class Heap {
    private static final int BLOCK = 4096 - 16;
    private static final int CHANGED = 200;
    private static final long PATIENCE = 1_000_000_000L;

    public static void main(String[] arguments) throws IOException, InterruptedException {
        byte[][] blocks = new byte[Integer.parseInt(arguments[0]) * 256][];
        Random draw = new Random(1);
        for (int block = 0; block < blocks.length; block++) {
            blocks[block] = new byte[BLOCK];
            draw.nextBytes(blocks[block]);
        }
        long period = (long) (1e9 / Double.parseDouble(arguments[1]));
        long since1970 = System.currentTimeMillis() * 1_000_000 - System.nanoTime();
        long due = System.nanoTime();
        long flushed = due;
        byte[][] garbage = new byte[16][];
        try (PrintWriter log = new PrintWriter(arguments[2])) {
            while (true) {
                due += period;
                long now = System.nanoTime();
                if (now < due) {
                    Thread.sleep((due - now) / 1_000_000, (int) ((due - now) % 1_000_000));
                } else if (now > due + PATIENCE) {
                    log.printf(Locale.ROOT, "%.6f%n", (since1970 + due) / 1e9);
                    continue;
                }
                long began = System.nanoTime();
                for (int change = 0; change < CHANGED; change++) {
                    byte[] block = blocks[draw.nextInt(blocks.length / 3)];
                    for (int at = 0; at < BLOCK; at += 64) {
                        block[at]++;
                    }
                }
                for (int piece = 0; piece < garbage.length; piece++) {
                    garbage[piece] = new byte[BLOCK];
                }
                long done = System.nanoTime();
                log.printf(Locale.ROOT, "%.6f %d %d%n", (since1970 + due) / 1e9,
                        (done - due) / 1000, (done - began) / 1000);
                if (done > flushed + 1_000_000_000L) {
                    log.flush();
                    flushed = done;
                }
            }
        }
    }
}
