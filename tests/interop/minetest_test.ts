/** A server of another game. It uses UDP, but none of the protocols of blocksweep. */
import { assert, assertEquals } from "@std/assert";
import { debianTest, requireProgram } from "./debian.ts";
import { Peer, scan } from "./processes.ts";

const COMMAND = "/usr/lib/minetest/minetestserver";
const HOST = "127.77.1.1";
const PORT = 30000;

debianTest("scan: minetest-server gives no row, and keeps running", async () => {
  await requireProgram(COMMAND);
  const home = await Deno.makeTempDir();
  try {
    await using _server = await startMinetest(home);
    assertEquals(await peerNumber(), 2);
    const { rows, replies } = await scan(HOST, "-p", String(PORT), "--protocol", "raknet,query");
    assertEquals(rows, []);
    assert(Object.values(replies).every((count) => count === 0), "it replied");
    assertEquals(await peerNumber(), 3);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

/** Starts the server with an empty world, and without announcements to other hosts. */
async function startMinetest(home: string): Promise<Peer> {
  const options = {
    ...{ bind_address: HOST, port: PORT, ipv6_server: false },
    ...{ server_announce: false, mg_name: "singlenode" },
  };
  const lines = Object.entries(options).map(([name, value]) => `${name} = ${value}\n`);
  await Deno.writeTextFile(`${home}/minetest.conf`, lines.join(""));
  const files = ["--config", `${home}/minetest.conf`, "--logfile", `${home}/log`];
  const args = [...files, "--world", `${home}/world`, "--gameid", "devtest", "--color", "never"];
  return await Peer.start({ command: COMMAND, args, env: { HOME: home } }, /listening on /);
}

/** Connects as a player does. Returns the peer number that the server assigns: 2, 3, 4. */
async function peerNumber(): Promise<number> {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const silence = Promise.withResolvers<never>();
  const timer = setTimeout(() => silence.reject(new Error("minetest-server is silent")), 60_000);
  try {
    // Protocol 4f457403, sender 0 (a new peer), channel 0, type 1 (a message of the game).
    const hello = Uint8Array.fromHex("4f45740300000001");
    await socket.send(hello, { transport: "udp", hostname: HOST, port: PORT });
    const [reply] = await Promise.race([socket.receive(), silence.promise]);
    // The reply has the same header with sender 1, then reliable 03, sequence ffdc, control 00,
    // "your number" 01.
    assertEquals(reply.toHex().slice(0, 24), "4f45740300010003ffdc0001");
    return new DataView(reply.buffer, reply.byteOffset).getUint16(12);
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}
