/**
 * The program with engines that write frames, as a user runs it.
 *
 * Covers src/net/linux/frame_engines.ts.
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { finish, type Finished, run, SCAN } from "../../cli/program.ts";
import { openUdpSocket } from "../../../src/net/linux/udp_engine.ts";
import { OURS, system } from "./place.ts";

const permissions = ["--allow-net", "--allow-ffi", ...SCAN.filter((one) => !one.includes("net"))];
const FRAMERS = ["packet", "xdp"];
const scan = (...args: string[]): Promise<Finished> => run(["scan", ...args], { permissions });

Deno.test("the dry run prints the engine and its next hop, and sends nothing", async () => {
  // the MAC of the next hop would need an ARP request
  await system("ip neighbour delete 10.79.0.254 dev near0");
  for (const name of FRAMERS) {
    const some = await scan("10.80.0.0/24", "10.82.0.0/30", "--engine", name, "--dry-run");
    const way = "over near0 to 10.79.0.254, 4 targets by udp";
    assertMatch(some.stdout, new RegExp(`^engine +${name}, ${way}$`, "m"), some.stderr);
  }
  const best = await scan("10.80.0.0/24", "--engine", "fastest", "--dry-run");
  assertMatch(
    best.stdout,
    new RegExp(`^engine +${FRAMERS.at(-1)}, over near0 to 10.79.0.254$`, "m"),
  );
  assertEquals(best.stderr, "");
  await system("ip neighbour replace 10.79.0.254 lladdr 02:00:00:00:00:fe dev near0");
});

Deno.test("without a route for frames the system's sockets are used, with a message", async () => {
  for (const name of FRAMERS) {
    const { code, stdout, stderr } = await scan("127.0.0.1", "--engine", name, "--dry-run");
    assertEquals([code, stderr], [
      0,
      `blocksweep: using engine udp; ${name} is not available: no target is behind a gateway\n`,
    ]);
    assertMatch(stdout, /^engine +udp$/m);
  }
  const both = await scan("127.0.0.1", "--engine", "fastest", "--dry-run");
  assertEquals(
    both.stderr,
    `blocksweep: using engine udp; ${FRAMERS.toReversed().join(" and ")} are not available: ` +
      "no target is behind a gateway\n",
  );
});

Deno.test("a missing interface and an unresponsive gateway are input errors", async () => {
  const args = ["10.80.0.0/30", "--engine", "packet"];
  const unknown = await scan(...args, "--interface", "eth9", "--dry-run");
  assertEquals(unknown.code, 2);
  assertStringIncludes(unknown.stderr, 'Cannot use --interface "eth9": no such interface');
  const loopback = await scan(...args, "--interface", "lo", "--dry-run");
  assertEquals([loopback.code, loopback.stderr], [
    0,
    "blocksweep: using engine udp; packet is not available: lo is loopback\n",
  ]);
  const wrong = await scan(...args, "--gateway-mac", "02:00");
  assertStringIncludes(wrong.stderr, 'Cannot use --gateway-mac "02:00": expected six bytes');
  const unused = await scan("10.80.0.0/30", "--engine", "udp", "--interface", "near0");
  assertStringIncludes(unused.stderr, "Cannot use --interface: it is for --engine packet");
  assertEquals([wrong.code, unused.code], [2, 2]);
  await system("ip neighbour delete 10.79.0.254 dev near0");
  const unresponsive = await scan(...args);
  assertEquals(unresponsive.code, 2);
  assertStringIncludes(unresponsive.stderr, "10.79.0.254 does not reply to ARP on near0");
  const reported = await scan(
    ...[...args, "--gateway-mac", "02:00:00:00:00:fe", "--protocol", "raknet"],
    ...["--retries", "0", "--cooldown", "50ms"],
  );
  assertEquals(reported.code, 0, reported.stderr);
  assertMatch(reported.stderr, /^UDP: sent 4 probes; /m);
  await system("ip neighbour replace 10.79.0.254 lladdr 02:00:00:00:00:fe dev near0");
});

Deno.test("without the capability a message names it, and the next fastest engine is used", async () => {
  const main = new URL("../../../main.ts", import.meta.url).pathname;
  const without = async (engine: string) =>
    await finish(
      new Deno.Command("setpriv", {
        args: [
          ...["--bounding-set", "-net_raw", "--inh-caps", "-net_raw", "deno", "run", "--quiet"],
          ...["--no-prompt", ...permissions, main, "scan", "10.80.0.0/30", "--dry-run"],
          ...["--engine", engine],
        ],
        env: { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
        ...{ stdout: "piped", stderr: "piped" },
      }).spawn(),
    );
  for (const name of FRAMERS) {
    const forced = await without(name);
    assertEquals(forced.code, 2);
    assertEquals(
      forced.stderr,
      `blocksweep: Cannot use --engine ${name}: it needs the capability CAP_NET_RAW: run ` +
        "`setcap cap_net_raw+ep $(command -v deno)` as root\n",
    );
  }
  const best = await without("fastest");
  assertEquals(best.code, 0, best.stderr);
  assertMatch(best.stdout, /^engine +udp$/m);
  assertStringIncludes(best.stderr, "using engine udp; ");
});

Deno.test("targets on the link itself are probed through the system, from the same port", async () => {
  for (const name of FRAMERS) {
    await system("ip address add 10.80.0.7/32 dev far0");
    await using server = openUdpSocket({ address: 0x0a500007, port: 19132 });
    const received: string[] = [];
    void server.listen((datagram, from) => {
      received.push(`${from.address === OURS} ${from.port} ${datagram.length}`);
    });
    const { code, stderr } = await scan(
      ...["10.80.0.0/24", "-v", "--engine", name, "--protocol", "raknet", "--source-port", "40007"],
      ...["--net-rate", "off", "--retries", "0", "--cooldown", "100ms", "--source-ip", "10.79.0.1"],
    );
    assertEquals(code, 0, stderr);
    assertMatch(stderr, /^UDP: sent 256 probes in /m);
    assertMatch(stderr, new RegExp(`^engine: ${name}, receive buffer`, "m"));
    assertEquals(received, ["true 40007 33"]);
    await system("ip address delete 10.80.0.7/32 dev far0");
  }
});

Deno.test("refusals of the system are reported once by error name, with their number", async () => {
  await system("ip route add prohibit 10.86.0.0/24");
  const { code, stderr } = await scan(
    ...["10.86.0.0/24", "10.80.0.0/30", "--engine", "packet", "--protocol", "raknet"],
    ...["--net-rate", "off", "--retries", "0", "--cooldown", "50ms"],
  );
  await system("ip route delete prohibit 10.86.0.0/24");
  assertEquals(code, 0, stderr);
  assertMatch(stderr, /^UDP: sent 4 probes, 256 more refused by the system \(256 EACCES\); /m);
  assertEquals(stderr.match(/the system refuses packets \(EACCES\)/g)?.length, 1);
});

Deno.test("each sender thread uses a queue; too few queues are an input error", async () => {
  const many = await scan("10.80.0.0/30", "--engine", "xdp", "--threads", "9");
  assertEquals(many.code, 2);
  assertMatch(many.stderr, /Cannot use --threads 9: the interface has no send queue [28]/);
  for (const name of FRAMERS) {
    const { code, stderr } = await scan(
      ...["10.80.0.0/22", "-v", "--engine", name, "--threads", "2", "--protocol", "raknet"],
      ...["--rate", "100k", "--net-rate", "off", "--retries", "0", "--cooldown", "50ms"],
    );
    assertEquals(code, 0, stderr);
    assertMatch(stderr, /^UDP: sent 1,024 probes/m);
    assertMatch(stderr, new RegExp(`^engine: ${name}, 2 sender threads, receive buffer`, "m"));
  }
});
