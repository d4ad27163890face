/**
 * The program in a process with a low limit on descriptors.
 *
 * Covers src/app/engines/scan_sockets.ts.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { divide } from "../../../src/app/engines/scan_sockets.ts";
import { run, SCAN } from "../program.ts";

/** Number of descriptors that a scan with one output file needs in addition to its sockets. */
const NEEDED = 11;

Deno.test("a scan without enough descriptors is refused in one line, with exit code 1", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/rows.csv`;
  const args = ["scan", "127.7.7.7", "--protocol", "raknet", "--concurrency", "1", "-o", path];
  try {
    // The runtime uses a varying number of descriptors. The step is smaller than the range in which
    // the scan is refused.
    for (let descriptors = 28;; descriptors += NEEDED - 1) {
      const { code, stdout, stderr } = await run([...args, "--cooldown", "1ms"], { descriptors });
      assert(
        code !== 0,
        `a scan began with ${descriptors} descriptors, and none was refused before`,
      );
      if (!stderr.startsWith("blocksweep: Cannot scan")) continue;
      assertMatch(
        stderr,
        /^blocksweep: Cannot scan: \d+ descriptors? of the 11 that outputs and connections need are available; raise the limit \(ulimit -n\)\n$/,
      );
      assertEquals([code, stdout, [...Deno.readDirSync(folder)]], [1, "", []]);
      return;
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an export without descriptors for its output exits with code 1, not as after wrong input", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/rows.txt`, "127.0.0.1:1\n");
    assertEquals((await run(["import", `${folder}/x.db`, `${folder}/rows.txt`])).code, 0);
    // Several outputs: how many descriptors the runtime itself has open differs by a few.
    const outputs = Array.from({ length: 5 }, (_, i) => ["-o", `${folder}/rows${i}.csv`]).flat();
    const args = ["export", `${folder}/x.db`, ...outputs, "-q"];
    const refused: string[] = [];
    // With too few descriptors, the runtime itself panics.
    for (let descriptors = 20;; descriptors++) {
      const { code, stderr } = await run(args, { descriptors });
      if (code === 0) break;
      if (!stderr.startsWith("blocksweep: ")) continue;
      assertEquals([code, /: no file descriptors left; /.test(stderr)], [1, true], stderr);
      refused.push(stderr);
    }
    assert(refused.some((line) => line.includes('Cannot write to "')), refused.join(""));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("with few descriptors, some stay free for files", () => {
  const udp = { connections: 0, pendingProbes: 0, files: 12 };
  assertEquals(divide(40, udp).exclusiveSockets, 28);
  assertEquals(divide(12 + 256, udp).exclusiveSockets, Infinity);
  const tcp = { connections: 400, pendingProbes: 1000, files: 12 };
  const enough = { connections: 400, pendingProbes: 1000, exclusiveSockets: Infinity };
  assertEquals(divide(400 + 100 + 1000 + 64, tcp), enough);
  for (const left of [1563, 1000, 200, 100, 80, 70, 12]) {
    const { connections, pendingProbes, exclusiveSockets } = divide(left, tcp);
    const used = connections + Math.max(1, Math.floor(connections / 4)) + pendingProbes;
    const free = left - Math.min(64, left >> 1);
    assert(used <= free && used >= 0.95 * free - 2, `${left}: ${used}`);
    assertEquals(exclusiveSockets, Math.max(1, left - 12 - used));
  }
  assertEquals(divide(164, tcp), { connections: 32, pendingProbes: 60, exclusiveSockets: 52 });
});

Deno.test("a scan of IPv6 targets needs no permission for IPv4", async () => {
  const permissions = ["--allow-net=[::],[::1]", ...SCAN.filter((one) => !one.includes("net"))];
  const args = [
    "scan",
    "::1",
    "-p",
    "19132",
    "--protocol",
    "raknet,slp",
    "--cooldown",
    "1ms",
    "-q",
  ];
  const { code, stderr } = await run([...args, "--retries", "0"], { permissions });
  assertEquals([code, stderr], [0, ""]);
});
