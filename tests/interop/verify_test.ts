/** `--verify` with RakNet servers of other projects, behind a tap each. */
import { assert, assertEquals } from "@std/assert";
import { Peer, peerScript, type Program, scan } from "./processes.ts";
import { Tap } from "./tap.ts";

const PORT = 19132;
/** The port of the servers behind the taps. */
const BEHIND = 19141;

/** Verifies a server through a tap twice. Returns values of the rows, and the datagrams sent. */
async function verifyThroughTap(host: string, behind: string, program: Program) {
  await using _server = await Peer.start(program, /^ready .*\n/m);
  const server = { transport: "udp", hostname: behind, port: BEHIND } as const;
  await using tap = new Tap({ host, port: PORT, server, replies: Infinity });
  const options = ["-p", String(PORT), "--protocol", "raknet", "--no-follow", "--verify"];
  const found = [];
  for (let time = 0; time < 2; time++) {
    const { rows } = await scan(host, ...options);
    found.push(
      rows.map(({ joinable, mtu, raknet_protocol, extras }) => [
        joinable,
        mtu,
        raknet_protocol,
        extras?.raknet.security,
      ]),
    );
  }
  return { found, queried: tap.queried };
}

/** The sizes of datagrams, one list per source port. */
function conversationsOf(queried: Tap["queried"]): number[][] {
  return [...Map.groupBy(queried, ({ port }) => port).values()]
    .map((datagrams) => datagrams.map(({ size }) => size));
}

Deno.test("--verify: jsp-raknet names protocol 10 and accepts connections with it", async () => {
  const program = peerScript("jsp_raknet.ts", "127.77.1.2", String(BEHIND), "{}");
  const { found, queried } = await verifyThroughTap("127.77.1.1", "127.77.1.2", program);
  const row = [true, 1400, 10, "none"];
  assertEquals(found, [[row], [row]]);
  const talks = conversationsOf(queried).filter(([size]) => size > 33);
  assertEquals(talks, [[1464, 1464], [1464, 1464]]); // nothing follows reply 1
});

Deno.test("--verify: raknet-node accepts connections, and keeps replying", async () => {
  const program = peerScript("raknet_node.ts", `127.77.1.4:${BEHIND}`);
  const { found, queried } = await verifyThroughTap("127.77.1.3", "127.77.1.4", program);
  const row = [true, 1400, 11, "none"];
  assertEquals(found, [[row], [row]]);
  const talks = conversationsOf(queried).filter(([size]) => size > 33);
  assertEquals(talks, [[1464], [1464]]);
  // No request precedes the two pings: that of the sweep, and that which confirmed the server.
  assert(queried.findIndex(({ size }) => size > 33) >= 2);
});

/** Factor by which the clock of jsp-raknet is accelerated: 20 s take half a second. */
const FASTER = 40;

Deno.test("--verify: no server counts a player, or stops replying in the next 20 seconds", async () => {
  const folder = await Deno.makeTempDir();
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(() => Deno.remove(folder, { recursive: true }));
  const [prismarine, serenity, jsp, raknetNode] = [9, 10, 11, 12].map((i) => `127.77.1.${i}`);
  const jspScript = peerScript("jsp_raknet.ts", jsp, String(PORT), "{}", String(FASTER));
  const prismarineScript = peerScript("jsprismarine.ts", prismarine, String(PORT), "Prism");
  const programs = [
    { ...prismarineScript, env: { JSP_DIR: folder } },
    peerScript("serenity.ts", serenity, String(PORT), "{}"),
    jspScript,
    peerScript("raknet_node.ts", `${raknetNode}:${PORT}`),
  ];
  const servers = await Promise.all(
    programs.map(async (program) => cleanUp.use(await Peer.start(program, /^ready( .*)?\n/m))),
  );
  const options = ["-p", String(PORT), "--protocol", "raknet", "--no-follow", "--verify"];
  const seenAt: number[] = [];
  for (let time = 0; time < 2; time++) {
    const { rows } = await scan("127.77.1.8/29", ...options);
    assertEquals(
      rows.map(({ host, joinable, players_online }) => [host, joinable, players_online])
        .toSorted(([a], [b]) => String(a).localeCompare(String(b), "en", { numeric: true })),
      [prismarine, serenity, jsp, raknetNode].map((host) => [host, true, 0]),
    );
    seenAt.push(rows.find(({ host }) => host === jsp)!.seen_at);
  }
  assert((seenAt[1] - seenAt[0]) * FASTER > 20_000, "the second scan came too early to prove it");
  assertEquals((await servers[3].end()).includes("accepted"), false);
});
