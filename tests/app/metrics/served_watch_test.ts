/** A watch that is served, as a real process: its health, and probes for hostile clients. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { start, until } from "../../cli/program.ts";
import { freePort } from "../../fakes/free_port.ts";
import { longTest } from "../../long.ts";

const RANGE = { start: 0x7f6e0000, end: 0x7f6e0100 };

/** Sends a request; returns the response, or nothing if the server closed the connection at once. */
async function get(port: number, path: string, host = "127.0.0.1"): Promise<string> {
  try {
    using conn = await Deno.connect({ hostname: "127.0.0.1", port });
    await conn.write(new TextEncoder().encode(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
    return await new Response(conn.readable).text();
  } catch (error) {
    const { ConnectionReset, BrokenPipe } = Deno.errors;
    if (error instanceof ConnectionReset || error instanceof BrokenPipe) return "";
    throw error;
  }
}

longTest(
  "1,000 targets of /probe at once do not disturb the watch: 16 are probed, and a foreign Host is refused",
  async () => {
    const hosts = drawFleet({ servers: 1, range: RANGE, seed: 5, software: ["bds"] });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const [{ entry }] = hosts;
    const server = `${entry.host}:${entry.port}`;
    const port = freePort();
    const child = start([
      ...["watch", server, "--metrics", String(port), "--probe", "--probe-allow", "127.111.0.0/16"],
      ...["--json", "-q"],
    ], { descriptors: 1024 });
    const health = () => get(port, "/healthz");
    await until(child, async () => (await health()).includes('"status":"ok","polls":1,'));
    const probe = `/probe?target=${server}`;
    for (const host of ["evil.test", "192.0.2.1", "localhost.evil.test"]) {
      assertStringIncludes(await get(port, probe, host), "HTTP/1.1 421 ", host);
    }
    const page = await get(port, probe);
    assertStringIncludes(page, "\nprobe_success 1\n");
    assertStringIncludes(
      page,
      `\nblocksweep_probe_players_max ${entry.truth.raknet.columns.players_max}\n`,
    );
    const statuses = new Map<string, number>();
    const burst = Array.from(
      { length: 1000 },
      (_, i) => get(port, `/probe?target=127.111.${i >> 8}.${i & 255}:19132`),
    );
    for (const response of await Promise.all(burst)) {
      const status = response.split(" ")[1] ?? "closed";
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    const probed = statuses.get("200") ?? 0; // a busy machine may refuse all of them
    assert(probed <= 16, `${probed} were probed`);
    assertEquals([...statuses.keys()].filter((one) => !["200", "503", "closed"].includes(one)), []);
    assertStringIncludes(await get(port, probe), "\nprobe_success 1\n");
    assertStringIncludes(await health(), "HTTP/1.1 200 OK");
    child.kill("SIGINT");
    const { stderr, stdout } = await child.output();
    assertEquals(new TextDecoder().decode(stderr), "");
    const events = new TextDecoder().decode(stdout).trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    assertEquals(events.map(({ event }) => event), ["online"]);
  },
);

Deno.test("/healthz has status 503 while the database is locked, and 200 when it can be written again", async () => {
  const hosts = drawFleet({ servers: 1, range: RANGE, seed: 6, software: ["bds"] });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const [{ entry }] = hosts;
  const folder = await Deno.makeTempDir();
  try {
    const port = freePort();
    const path = `${folder}/servers.db`;
    const words = ["watch", `${entry.host}:${entry.port}`, "-o", path, "--interval", "5s", "-q"];
    const child = start([...words, "--metrics", String(port)]);
    const health = () => get(port, "/healthz");
    await until(child, async () => (await health()).includes('"status":"ok","polls":1,'));
    {
      using other = new DatabaseSync(path);
      other.exec("begin immediate");
      await until(child, async () => (await health()).startsWith("HTTP/1.1 503 "));
      const failing = '{"status":"failing","failures":["1 of 1 database cannot be written"],';
      assertStringIncludes(await health(), failing);
      const metrics = await get(port, "/metrics");
      assertStringIncludes(metrics, "\nblocksweep_databases_failing 1\n");
      assert(/\nblocksweep_database_backlog [1-9]/.test(metrics), metrics);
      other.exec("rollback");
    }
    await until(child, async () => (await health()).startsWith("HTTP/1.1 200 "));
    child.kill("SIGINT");
    assertEquals((await child.output()).code, 130);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("with few descriptors, idle connections do not stop the metrics of a watch", async () => {
  const hosts = drawFleet({ servers: 1, range: RANGE, seed: 7, software: ["bds"] });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const [{ entry }] = hosts;
  const port = freePort();
  const words = ["watch", `${entry.host}:${entry.port}`, "--json", "-q"];
  const child = start([...words, "--metrics", String(port)], { descriptors: 64 });
  const health = () => get(port, "/healthz");
  await until(child, async () => (await health()).includes('"polls":1,'));
  const connect = () => Deno.connect({ hostname: "127.0.0.1", port });
  const idle = await Promise.all(Array.from({ length: 60 }, connect));
  // Connections beyond the maximum are closed at once, the others after the timeout of a request.
  const replies: number[] = [];
  const ends = idle.map(async (conn) => {
    replies.push(await conn.read(new Uint8Array(1)) ?? 0);
    conn.close();
  });
  await until(child, () => replies.length >= 50);
  assertEquals(replies.filter((size) => size > 0), []);
  await until(child, async () => (await health()).includes('"status":"ok"'));
  child.kill("SIGINT");
  const { code, stderr } = await child.output();
  assertEquals([code, new TextDecoder().decode(stderr)], [130, ""]);
  await Promise.all(ends);
});
