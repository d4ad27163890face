import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Endpoint, parseAddress } from "../../../src/core/address.ts";
import { Random } from "../../../src/fleet/random.ts";
import { drawIdentity } from "../../../src/fleet/simulate/server_identity.ts";
import { SqpServer } from "../../../src/fleet/simulate/sqp/sqp_server.ts";
import { SQP_STYLES } from "../../../src/fleet/simulate/sqp/sqp_styles.ts";
import { encodeSqpChallenge } from "../../../src/protocols/sqp/mod.ts";
import { drawFleet, type FleetPlan } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { readNdjson, verifyAgainstManifest } from "../../../src/fleet/judge/verify_rows.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { run } from "../program.ts";
import { longTest } from "../../long.ts";

const FLEET: FleetPlan = {
  servers: 40,
  range: { start: 0x7f270000, end: 0x7f270040 },
  seed: 3,
  software: ["sqpSample", "sqpFull", "sqpInfo", "sqpPackets", "sqpEcho", "bds", "dragonfly"],
};
/** Options for scans in which every server has to reply, even on a busy machine. */
const PATIENT = ["--cooldown", "1s", "--timeout", "2s", "--retries", "0"];
const SQP = ["--protocol", "sqp"];
const BRIEF = ["--timeout", "2s", "--retries", "0"];

Deno.test("a dry run shows the detecting pass before SQP", async () => {
  const scan = ["scan", "127.39.0.0/26", "-p", "9000"];
  const { stdout } = await run([...scan, ...SQP, "--dry-run"]);
  assertStringIncludes(stdout, "ports        sqp 9000");
  assertStringIncludes(
    stdout,
    "suppression  raknet 64, raknet 64 first; hosts that reply are not sent sqp",
  );
  assertStringIncludes(stdout, "passes       sqp 64, sqp 64");
  assertStringIncludes(stdout, "probes       at most 256");
  const both = await run([...scan, "--protocol", "raknet,sqp", "--dry-run"]);
  assertEquals(both.stdout.includes("before"), false);
  const usual = await run([...scan, "--dry-run"]);
  assertStringIncludes(
    usual.stdout,
    "ports        raknet 9000; nethernet 9000; slp 9000; query 9000\n",
  );
  const list = await run(["scan", "127.39.0.1:9000", ...SQP, "-sL"]);
  assertEquals(list.stdout, "127.39.0.1:9000 raknet\n127.39.0.1:9000 sqp\n");
  const queries = await run(["scan", "8.8.8.8:9000", ...SQP]);
  assertStringIncludes(queries.stderr, "RakNet pings of 33 bytes and SQP challenges of 5 bytes");
});

Deno.test("a scan with SQP over real sockets finds each server once, and sends no SQP to RakNet servers", async () => {
  const hosts = drawFleet(FLEET);
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const ports = ["-p", "9000,19132"];
  const scan = await run(["scan", "127.39.0.0/26", ...SQP, ...ports, ...PATIENT, "-o", "-", "-v"]);
  assertEquals(scan.code, 0, scan.stderr);
  const selection = { protocols: ["sqp"], ports: () => [9000, 19132], follow: true };
  const entries = hosts.map(({ entry }) => entry);
  const { faults, right, expected } = verifyAgainstManifest(
    entries,
    readNdjson(scan.stdout),
    selection,
    "ndjson",
  );
  assertEquals([faults, right], [[], expected]);
  assertStringIncludes(scan.stderr, "detecting pass: raknet; hosts that reply are not sent sqp");
  const { host, port } = entries.find(({ software }) => software === "dragonfly")!;
  const query = await run(["query", `${host}:${port}`, ...SQP]);
  assertEquals([query.code, query.stdout], [1, ""]);
  assertStringIncludes(query.stderr, `${host}:${port} (raknet replied, sqp not sent)\n`);
});

longTest("the command for omitted endpoints finds the servers among them", async () => {
  const random = new Random(3);
  const [first, forgers, all] = [9000, 64, 80];
  await using sockets = new AsyncDisposableStack();
  for (let i = 0; i < all; i++) {
    const socket = Deno.listenDatagram({
      ...{ transport: "udp", hostname: "127.47.0.1", port: first + i },
    });
    const server = new SqpServer(SQP_STYLES.sqpInfo, drawIdentity(random), random);
    let requests = 0;
    const serving = serve(socket, (datagram, from) => {
      if (datagram.length === 5) requests++;
      // The servers reply in the second pass. By then the forging hosts have all holds.
      if (i >= forgers) return requests > 1 ? server.respond(datagram, from) : [];
      return datagram.length === 5 ? [encodeSqpChallenge(random.u32() || 1)] : [];
    });
    sockets.defer(async () => {
      socket.close();
      await serving;
    });
  }
  const args = [
    "scan",
    "127.47.0.1",
    ...SQP,
    "-p",
    "9000-9079",
    ...PATIENT.slice(0, 4),
    "--retries",
    "1",
  ];
  const scan = await run([...args, "--host-rate", "off", "-o", "-"]);
  assertStringIncludes(scan.stderr, "16 endpoints that replied were omitted");
  assertStringIncludes(scan.stderr, ": 127.47.0.1 (16)\n");
  assertEquals(scan.stdout, "");
  const command = /again with: .*? (scan .*)/.exec(scan.stderr)![1].split(" ");
  assertEquals(command.slice(0, 6), ["scan", "127.47.0.1", "-p", "9064-9079", ...SQP]);
  const repeated = ["--host-rate", "off", "--timeout", "2s", "--retries", "1"];
  assertEquals(command.slice(6), [...repeated, "--cooldown", "1s"]);
  const again = await run([...command, "-o", "-"]);
  assertEquals(again.code, 0, again.stderr);
  assertEquals(readNdjson(again.stdout).length, 16);
});

/** Replies to datagrams until the socket is closed. */
async function serve(
  socket: Deno.DatagramConn,
  respond: (datagram: Uint8Array, from: Endpoint) => readonly Uint8Array[],
): Promise<void> {
  for await (const [datagram, peer] of socket) {
    const { hostname, port } = peer as Deno.NetAddr;
    const from = { address: parseAddress(hostname)!, port };
    for (const reply of respond(datagram, from)) await socket.send(reply, peer);
  }
}

longTest("query --no-players leaves out the names of players", async () => {
  const hosts = drawFleet({ ...FLEET, servers: 20, software: ["sqpFull"] });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const { entry } = hosts.find(({ entry }) => entry.truth.sqp.columns.players!.length > 0)!;
  const sendQuery = async (...more: string[]) => {
    const args = ["query", `${entry.host}:${entry.port}`, ...SQP, ...BRIEF, "--json", ...more];
    return readNdjson((await run(args)).stdout)[0];
  };
  const { players, extras } = await sendQuery();
  assertEquals([players, extras!.sqp.players], [
    entry.truth.sqp.columns.players,
    entry.truth.sqp.facts.players,
  ]);
  const nameless = await sendQuery("--no-players");
  assertEquals([nameless.players, nameless.extras!.sqp.players], [null, undefined]);
});
