/**
 * Attacks on the metrics of a scan and of a watch, which are real processes with 1,024 descriptors
 * each.
 */
import { assert, assertEquals } from "@std/assert";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { verifyAgainstManifest } from "../../../src/fleet/judge/verify_rows.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { PROTOCOLS, USUAL_PROTOCOLS } from "../../../src/protocols/list.ts";
import { usualPorts } from "../../../src/protocols/usual_ports.ts";
import { start } from "../../cli/program.ts";
import { freePort } from "../../fakes/free_port.ts";
import { longTest } from "../../long.ts";

const RANGE = { start: 0x7f400000, end: 0x7f400100 };

/** The program, and the address of its metrics. */
interface Victim {
  readonly child: Deno.ChildProcess;
  readonly port: number;
  /** Whether the program has ended. */
  ended: boolean;
}

/** Connects as soon as the program listens. */
async function connect(victim: Victim): Promise<Deno.TcpConn> {
  for (;;) {
    try {
      return await Deno.connect({ hostname: "127.0.0.1", port: victim.port });
    } catch (error) {
      if (victim.ended || !isGone(error)) throw error;
      await systemClock.pollSockets();
    }
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Deno.errors.ConnectionRefused || isReset(error);
}

/** Requests the page of metrics until a complete response arrives. */
async function scrape(victim: Victim, enough: (page: string) => boolean): Promise<void> {
  for (;;) {
    using conn = await connect(victim);
    const request = `GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:${victim.port}\r\n\r\n`;
    try {
      await conn.write(new TextEncoder().encode(request));
      const page = await new Response(conn.readable).text();
      if (page.startsWith("HTTP/1.1 200") && enough(page)) return;
    } catch (error) {
      if (!isReset(error)) throw error; // the server had too many connections
    }
    await systemClock.pollSockets();
  }
}

function isReset(error: unknown): boolean {
  return error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe;
}

/** 2,000 connections that send nothing, and 2,000 that sometimes send a byte. */
async function attack(victim: Victim): Promise<AsyncDisposable> {
  const conns = await Promise.all(Array.from({ length: 4000 }, () => connect(victim)));
  let over = false;
  const drip = async (conn: Deno.TcpConn) => {
    for (
      const byte of new TextEncoder().encode(`GET /metrics HTTP/1.1\r\nX: ${"x".repeat(5000)}`)
    ) {
      if (over) return;
      await conn.write(Uint8Array.of(byte));
      await systemClock.pollSockets();
    }
  };
  // the server closed the connection
  const dripping = conns.slice(2000).map((conn) => drip(conn).catch(() => {}));
  return {
    async [Symbol.asyncDispose]() {
      over = true;
      for (const conn of conns) conn.close();
      await Promise.all(dripping);
    },
  };
}

/** Runs the program with 1,024 descriptors, attacks it, and returns its result. */
async function attacked(
  args: readonly string[],
  meanwhile: (victim: Victim) => Promise<void>,
) {
  const port = freePort();
  const child = start([...args, "--metrics", String(port)], { descriptors: 1024 });
  const output = child.output();
  const victim = { child, port, ended: false };
  void output.then(() => victim.ended = true);
  {
    await using _attack = await attack(victim);
    await meanwhile(victim);
  }
  const { code, stdout, stderr } = await output;
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, rows: text(stdout).trim().split("\n"), stderr: text(stderr) };
}

longTest(
  "2,000 idle and 2,000 slow connections to --metrics change no row and no event",
  async () => {
    const hosts = drawFleet({ servers: 60, range: RANGE, seed: 5 });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const expected = hosts.map(({ entry }) => entry);
    const range = ["127.64.0.0/24", "--rate", "500", "--seed", "1"];
    const scan = await attacked(
      ["scan", ...range, "--format", "ndjson", "-o", "-"],
      async ({ child }) => void await child.status,
    );
    assertEquals(scan.code, 0, scan.stderr);
    const selection = {
      protocols: USUAL_PROTOCOLS.map(({ name }) => name),
      ports: (name: string) => usualPorts(PROTOCOLS)(name, 4),
    };
    const records = scan.rows.map((row) => JSON.parse(row));
    assertEquals(
      verifyAgainstManifest(expected, records, { ...selection, follow: true }, "ndjson").faults,
      [],
    );

    const servers = records.map(({ host, port }) => `${host}:${port}`);
    const polls = (page: string) => Number(/^blocksweep_polls_total (\d+)$/m.exec(page)?.[1]);
    // some connections are slow
    const isKnown = (page: string) => !/^blocksweep_up\{.*\} NaN$/m.test(page);
    const watch = await attacked(
      ["watch", ...servers, "--interval", "5s", "--json"],
      async (victim) => {
        await scrape(victim, (page) => polls(page) >= 2 * servers.length && isKnown(page));
        victim.child.kill("SIGINT");
        await victim.child.status;
      },
    );
    assert(!/error|Uncaught/i.test(watch.stderr), watch.stderr);
    const events = watch.rows.map((row) => JSON.parse(row));
    assertEquals(
      events.map(({ event, host, port }) => `${event} ${host}:${port}`).toSorted(),
      servers.map((server) => `online ${server}`).toSorted(),
      watch.stderr,
    );
  },
);
