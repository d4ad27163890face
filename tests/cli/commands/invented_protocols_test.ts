/** The command line with invented protocols (tests/protocols/invented/). */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { encodeMessage } from "../../protocols/invented/herald/codec.ts";
import { type Finished, run as runProgram } from "../program.ts";

const main = new URL("../../protocols/invented/main.ts", import.meta.url).pathname;
const run = (...args: string[]): Promise<Finished> => runProgram(args, { main });

Deno.test("help lists invented protocols, with their notes", async () => {
  const { stdout: overview } = await run("--help");
  assertStringIncludes(overview, "  herald       servers that nobody runs, by Herald challenges\n");
  const { stdout } = await run("scan", "--help");
  assertStringIncludes(
    stdout,
    `look for: raknet, nethernet, slp, query, sqp, herald,\n${
      " ".repeat(30)
    }ledger; default: all but sqp, ledger\n`,
  );
  assertStringIncludes(stdout, "\nLedger is sent where you name it and its ports.\n");
  assertStringIncludes(stdout, "  blocksweep scan 10.0.0.0/24 --protocol ledger -p 9000-9100\n");
});

Deno.test("completions offer invented protocols, and the schema lists them", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await run("completions", shell);
    assertEquals(code, 0);
    assertStringIncludes(stdout, "raknet nethernet slp query sqp herald ledger", shell);
  }
  const { stdout } = await run("schema");
  const { protocol } = JSON.parse(stdout).properties;
  assert(
    protocol.description.endsWith(": raknet, nethernet, slp, query, sqp, herald, ledger, lan"),
  );
});

Deno.test("a dry run refuses an invented protocol without a usual port by name", async () => {
  const refused = await run("scan", "127.0.0.1", "--protocol", "herald,ledger", "--dry-run");
  assertEquals([refused.code, refused.stdout], [2, ""]);
  assertEquals(
    refused.stderr,
    'blocksweep: Cannot use protocol "ledger" without a port: it has no default port; ' +
      "name ports with --ports, for example 9000-9100\n",
  );
  const query = await run("query", "127.0.0.1", "--protocol", "ledger");
  assertStringIncludes(query.stderr, 'protocol "ledger" without a port');
  const wrong = await run("scan", "127.0.0.1", "--protocol", "herold", "--dry-run");
  assertStringIncludes(wrong.stderr, "sqp, herald, ledger; did you mean herald?");
});

Deno.test("a dry run plans invented protocols on their usual ports or on given ports", async () => {
  const plan = async (...args: string[]) => {
    const { code, stdout, stderr } = await run("scan", "127.0.0.1", ...args, "--dry-run");
    assertEquals(code, 0, stderr);
    return stdout;
  };
  const named = await plan("--protocol", "herald,ledger", "-p", "9000");
  assertStringIncludes(named, "herald 9000; ledger 9000\n");
  assertStringIncludes(named, "herald 1, herald 1; at the same time ledger 1, ledger 1\n");
  assertStringIncludes(await plan("--protocol", "herald"), "ports        herald 7777\n");
  assertStringIncludes(
    await plan(),
    "raknet 19132; nethernet 19132; slp 25565; query 25565; herald 7777\n",
  );
  const { code, stderr } = await run("scan", "192.0.32.0/24", "--protocol", "herald");
  assertEquals(code, 2);
  assertStringIncludes(stderr, "512 datagrams would be sent (Herald challenges of 25 bytes)");
});

Deno.test("a server of an invented protocol is found over real sockets, by scan and query", async () => {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const { port } = socket.addr as Deno.NetAddr;
  const server = (async () => {
    for await (const [datagram, from] of socket) {
      const [verb, word] = String.fromCharCode(...datagram.subarray(4)).split(" ");
      const text = verb === "getchallenge"
        ? `challengeResponse 0000cafe ${word}`
        : "statusResponse Ann 7";
      await socket.send(encodeMessage(text), from);
    }
  })();
  const row = ({ stdout, stderr }: Finished) => {
    assert(stdout !== "", stderr);
    const { protocols, name, players_online } = JSON.parse(stdout);
    return [protocols, name, players_online];
  };
  const scan = ["127.0.0.1", "-p", `${port}`, "--cooldown", "200ms", "--format", "ndjson"];
  assertEquals(row(await run("scan", ...scan, "--protocol", "herald")), [["herald"], "Ann", 7]);
  const query = await run("query", `127.0.0.1:${port}`, "--protocol", "herald", "--json");
  assertEquals(row(query), [["herald"], "Ann", 7]);
  socket.close();
  await server;
});
