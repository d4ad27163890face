/** Scans of NetherNet servers, of web servers and of hostile hosts on their port, over real sockets. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { BAIT_PORT } from "../../../src/fleet/bait_port.ts";
import { audit } from "../../../src/fleet/judge/audit.ts";
import { readNdjson, verifyAgainstManifest } from "../../../src/fleet/judge/verify_rows.ts";
import {
  drawFleet,
  type FleetHost,
  manifestEntries,
} from "../../../src/fleet/simulate/draw_fleet.ts";
import {
  HTTP_TRICKS,
  NAMED_HTTP_TRICKS,
  REDIRECTING,
} from "../../../src/fleet/simulate/hostile/http_tricks.ts";
import { type Fleet, openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { SOFTWARE } from "../../../src/fleet/simulate/software.ts";
import { WitnessLog } from "../../../src/fleet/witness_log.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { run } from "../program.ts";

/** All software that speaks NetherNet over HTTP, weak replies included, and a RakNet server beside. */
const NETHERNET = SOFTWARE.filter(({ join, optedOut }) => join && !optedOut).map(({ name }) =>
  name
);
/** Options for scans in which every server has to reply, even on a busy machine. */
const PATIENT = ["--cooldown", "1s", "--timeout", "10s", "--retries", "0"];

/** Scans simulated hosts; returns the rows, the violations in the log of the fleet, and the fleet. */
async function scanned(hosts: readonly FleetHost[], range: string, options: readonly string[]) {
  const log = await Deno.makeTempFile();
  try {
    const { scan, fleet } = await witnessed(hosts, ["scan", range, ...options, "-o", "-"], log);
    const text = await Deno.readTextFile(log);
    const lines = text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    return { ...scan, rows: readNdjson(scan.stdout), violations: audit(lines, {}), fleet };
  } finally {
    await Deno.remove(log);
  }
}

async function witnessed(hosts: readonly FleetHost[], args: readonly string[], path: string) {
  using witness = new WitnessLog(path);
  await using fleet: Fleet = await openFleet(hosts, { clock: systemClock, seed: 1, witness });
  const scan = await run(args);
  assertEquals(scan.code, 0, scan.stderr);
  return { scan, fleet };
}

Deno.test("a scan finds every NetherNet server with every field right, and requests no more than it may", async () => {
  const range = { start: 0x7f510000, end: 0x7f510080 };
  const hosts = drawFleet({ servers: 100, range, seed: 2, software: NETHERNET });
  const entries = manifestEntries(hosts);
  const drawn = new Set(entries.map(({ software }) => software));
  assertEquals(drawn.size, NETHERNET.length);
  for (const protocols of [["raknet", "nethernet"], ["nethernet"]]) {
    const options = [...PATIENT, "--protocol", protocols.join()];
    const { rows, violations } = await scanned(hosts, "127.81.0.0/25", options);
    const selection = { protocols, ports: () => [19132], follow: true };
    const verdict = verifyAgainstManifest(entries, rows, selection, "ndjson");
    assertEquals([verdict.faults, verdict.right], [[], verdict.expected]);
    assert(verdict.expected > 50);
    assertEquals(violations, []);
  }
});

Deno.test("a scan makes no row of web servers and hostile hosts, and follows no redirect", async () => {
  const slow = NAMED_HTTP_TRICKS.filter((name) => !REDIRECTING.includes(name));
  const tricks = Object.keys(HTTP_TRICKS).filter((name) => !slow.includes(name));
  const hosts = tricks.flatMap((software, i) => {
    const range = { start: 0x7f520000 + i, end: 0x7f520001 + i };
    return drawFleet({ servers: 1, range, seed: 1, software: [software] });
  });
  const bait = hosts.filter(({ endpoint }) => endpoint.port === BAIT_PORT);
  assertEquals(bait.length, REDIRECTING.length);
  const options = ["--cooldown", "1s", "--timeout", "1s", "--retries", "0"];
  const { rows, violations, fleet } = await scanned(hosts, "127.82.0.0/26", [
    ...options,
    "--protocol",
    "raknet,nethernet",
  ]);
  assertEquals([rows, violations], [[], []]);
  assert(fleet.accepted >= tricks.length, String(fleet.accepted));
});

Deno.test("a busy server is not asked again in the same scan", async () => {
  const range = { start: 0x7f530000, end: 0x7f530001 };
  const hosts = drawFleet({ servers: 1, range, seed: 1, software: ["httpBusy"] });
  const options = ["--cooldown", "1s", "--timeout", "10s", "--protocol", "nethernet"];
  const { rows, violations, fleet, stderr } = await scanned(hosts, "127.83.0.0/32", options);
  assertEquals([rows, violations, fleet.accepted], [[], [], 1]);
  assertStringIncludes(stderr, "1 invalid");
});
