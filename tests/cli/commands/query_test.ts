/** The query command over real connections, on loopback. */
import { assertEquals, assertStringIncludes, fail } from "@std/assert";
import { parseAddress } from "../../../src/core/address.ts";
import { locate } from "../../../src/app/names/locate_server.ts";
import { denoRecords, serviceFinder } from "../../../src/app/names/dns_lookup.ts";
import { announceWait } from "../../../src/cli/commands/query.ts";
import { contextNetwork } from "../../../src/app/network/call_context.ts";
import { readQuery } from "../../../src/app/query/query_endpoints.ts";
import { readArgs, typedNames } from "../../../src/cli/options/parse_arguments.ts";
import { readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import * as slp from "../../../src/protocols/slp/mod.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { openSocket } from "../../../src/net/deno/udp_socket.ts";
import { denoDialer } from "../../../src/net/deno/tcp_dialer.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { serverId } from "../../../src/core/record.ts";
import { queryServer } from "../../../src/scan/query_server.ts";
import { openDns } from "../../fakes/dns.ts";
import { IDENTITY, listenSlp, slpServer } from "../../fakes/slp.ts";
import { run } from "../program.ts";
import { ManualClock } from "../../fakes/manual_clock.ts";
import { freePort } from "../../fakes/free_port.ts";

const SLP = ["--protocol", "slp"];
const EITHER = ["--allow-net=127.0.0.0/8,0.0.0.0,[::1]"];

for (const host of ["127.0.0.1", "[::1]"]) {
  Deno.test(`a Java server on ${host} is one row`, async () => {
    const server = slpServer("vanilla");
    await using listener = listenSlp(server, host.replace(/[[\]]/g, ""));
    const target = `${host}:${listener.port}`;
    const shown = await run(["query", target, ...SLP], { permissions: EITHER });
    assertEquals([shown.code, shown.stderr], [0, ""]);
    assertStringIncludes(shown.stdout, `${target}  slp`);
    assertStringIncludes(shown.stdout, IDENTITY.version);
    const json = await run(["query", target, ...SLP, "--json"], { permissions: EITHER });
    const [row, ...more] = readNdjson(json.stdout);
    assertEquals([serverId(row), row.protocols, row.requested_as, more], [
      target,
      ["slp"],
      null,
      [],
    ]);
  });
}

Deno.test("query shows a server that opts out, and reports the opt-out", async () => {
  const status = { version: { name: "1.21", protocol: 767 }, description: "§b§d§f§d§bA server" };
  const json = new TextEncoder().encode(JSON.stringify(status));
  const bytes = slp.encodeStatusResponse({ json, trailing: new Uint8Array() });
  const server = { accept: () => ({ opening: [], receive: () => [{ bytes }, "close" as const] }) };
  await using listener = listenSlp(server, "127.0.0.1");
  const target = `127.0.0.1:${listener.port}`;
  const printed = `blocksweep: ${target} opts out: scan, lan and watch leave its address out\n`;
  for (const [option, stderr] of [["--json", printed], ["--quiet", ""]]) {
    const shown = await run(["query", target, ...SLP, option]);
    assertEquals([shown.code, shown.stderr], [0, stderr]);
    assertStringIncludes(shown.stdout, "A server");
  }
});

Deno.test("query prints several hosts in their order, and fails if one does not reply", async () => {
  await using one = listenSlp(slpServer("vanilla"), "127.0.0.1");
  await using two = listenSlp(slpServer("paper"), "127.0.0.2");
  const hosts = [`127.0.0.1:${one.port}`, `127.0.0.2:${two.port}`];
  const both = await run(["query", ...hosts, ...SLP]);
  assertEquals([both.code, both.stderr], [0, ""]);
  const titles = both.stdout.split("\n\n").map((text) => text.split("  ")[0]);
  assertEquals(titles, hosts);
  const missing = `127.0.0.3:${freePort()}`;
  const some = await run(["query", missing, ...hosts.toReversed(), ...SLP, "--json"]);
  assertEquals(readNdjson(some.stdout).map(serverId), hosts.toReversed());
  assertEquals([some.code, some.stderr], [
    1,
    `blocksweep: no reply from ${missing} (slp refused)\n`,
  ]);
});

Deno.test("query sends nothing if one of its hosts is invalid", async () => {
  const server = slpServer("vanilla");
  await using listener = listenSlp(server, "127.0.0.1");
  const { code, stdout } = await run([
    "query",
    `127.0.0.1:${listener.port}`,
    "127.0.0.1:0",
    ...SLP,
  ]);
  assertEquals([code, stdout, server.received], [2, "", []]);
});

Deno.test("query queries the other hosts if the name of one cannot be found, and fails", async () => {
  const server = slpServer("vanilla");
  await using listener = listenSlp(server, "127.0.0.1");
  const target = `127.0.0.1:${listener.port}`;
  const query = ["query", "dead.invalid:1", target, ...SLP, "--json"];
  const { code, stdout, stderr } = await run(query, { permissions: ["--allow-net"] });
  assertEquals([code, readNdjson(stdout).map(serverId)], [1, [target]]);
  assertStringIncludes(stderr, 'blocksweep: Cannot find host "dead.invalid"');
  const none = await run(["query", "dead.invalid:1", "gone.invalid:1", ...SLP], {
    permissions: ["--allow-net"],
  });
  assertEquals([none.code, none.stdout], [2, ""]);
  assertStringIncludes(none.stderr, "blocksweep: Cannot find 2 names\n");
});

Deno.test("query names what replied in place of a server", async () => {
  const body = (text: string, type: string) =>
    `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
  const replies = {
    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n": "malformed: HTTP status 404",
    "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n":
      "malformed: HTTP status 302 (a redirect)",
    [body("<html>", "text/html")]: "malformed: a web page",
    [body("[1]", "application/json")]: "malformed: JSON that is no status",
    [body("", "text/plain")]: "reply without a status",
    "SSH-2.0-OpenSSH_9.6\r\n": "malformed: bytes that are no HTTP reply",
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{": "malformed: ends before the rest of the body",
  };
  for (const [reply, why] of Object.entries(replies)) {
    const bytes = new TextEncoder().encode(reply);
    const web = { accept: () => ({ opening: [], receive: () => [{ bytes }, "close" as const] }) };
    await using listener = listenSlp(web, "127.0.0.1");
    const target = `127.0.0.1:${listener.port}`;
    const { code, stdout, stderr } = await run(["query", target, "--protocol", "nethernet"]);
    assertEquals([code, stdout], [1, ""]);
    assertEquals(stderr, `blocksweep: no reply from ${target} (nethernet ${why})\n`);
  }
});

Deno.test("query prints how connections ended, and fails", async () => {
  const freed = freePort();
  const closes = { accept: () => ({ opening: [], receive: () => ["close" as const] }) };
  await using closing = listenSlp(closes, "127.0.0.1");
  for (const [port, why] of [[freed, "refused"], [closing.port, "closed without status"]]) {
    const { code, stdout, stderr } = await run(["query", `127.0.0.1:${port}`, ...SLP]);
    assertEquals([code, stdout], [1, ""]);
    const target = `127.0.0.1:${port}`;
    assertEquals(stderr, `blocksweep: no reply from ${target} (slp ${why})\n`);
  }
  const quiet = await run(["query", `127.0.0.1:${freed}`, ...SLP, "--quiet"]);
  assertEquals([quiet.code, quiet.stderr], [1, `blocksweep: no reply from 127.0.0.1:${freed}\n`]);
});

Deno.test("query prints what it waits for on a terminal after a second, if nothing was shown before", () => {
  const lines: string[] = [];
  const announce = (args: readonly string[], isTerminal: boolean) => {
    const clock = new ManualClock();
    const request = readQuery(readArgs("query", args), {
      allProtocols: PROTOCOLS,
      warn: fail,
      note: fail,
      nameOf: typedNames("query", args),
    }, contextNetwork);
    const network = { ...request.network, clock };
    return {
      clock,
      wait: announceWait({ ...request, network }, (line) => lines.push(line), isTerminal),
    };
  };
  const shown = announce(["127.0.0.1", "--protocol", "raknet,query"], true);
  shown.clock.move(999);
  assertEquals(lines, []);
  shown.clock.move(1);
  shown.clock.move(60_000);
  assertEquals(lines, [
    "waiting for replies in raknet, query (--protocol raknet queries only one)",
  ]);
  announce(["127.0.0.1", ...SLP], true).clock.move(1000);
  assertEquals(lines.splice(0).slice(1), ["waiting for replies in slp"]);
  announce(["127.0.0.1"], false).clock.move(1000);
  announce(["127.0.0.1", "-q"], true).clock.move(1000);
  const disposed = announce(["127.0.0.1"], true);
  disposed.wait[Symbol.dispose]();
  disposed.clock.move(1000);
  assertEquals(lines, []);
});

Deno.test("query waits for a server up to --timeout", async () => {
  await using listener = listenSlp(
    { accept: () => ({ opening: [], receive: () => [] }) },
    "127.0.0.1",
  );
  const target = `127.0.0.1:${listener.port}`;
  const { code, stderr } = await run(["query", target, ...SLP, "--timeout", "1s"]);
  assertEquals([code, stderr], [
    1,
    `blocksweep: no reply from ${target} (slp no complete reply in time)\n`,
  ]);
});

Deno.test("a name with an SRV record is queried at the record's target", async () => {
  for (const address of ["127.0.0.1", "::1"]) {
    const server = slpServer("vanilla");
    await using listener = listenSlp(server, address);
    const target = { priority: 0, weight: 0, port: listener.port, target: "mc1.example.org." };
    await using dns = openDns([target]);
    const { endpoints: [{ endpoint, first, service }], name } = await locate(
      "Play.Example.org",
      PROTOCOLS.filter((protocol) => protocol.name === "slp"),
      {
        resolve: () => Promise.resolve([parseAddress(address)!]),
        findService: serviceFinder({ recordsOf: denoRecords(dns.nameServer) }),
        note: (text) => {
          throw new Error(text);
        },
        allowPrivate: true, // the SRV record leads to this machine
      },
    );
    const { record } = await queryServer(endpoint, {
      allProtocols: PROTOCOLS,
      protocols: first,
      timeoutMs: 10_000,
      retries: 0,
      open: (bits) => openSocket({ address: bits === 4 ? 0 : 0n, port: 0 }),
      dialer: denoDialer(),
      nonce: () => 1n,
      clock: systemClock,
      signal: new AbortController().signal,
      requestedAs: name,
      service,
      scanId: "scan",
    });
    assertEquals([record!.host, record!.port, record!.requested_as], [
      address,
      listener.port,
      `play.example.org SRV mc1.example.org:${listener.port}`,
    ]);
    const { host, port } = slp.decodeStatusRequest(server.received[0])!;
    assertEquals([host, port], ["play.example.org", 25565]); // as the game sends them
  }
});

for (
  const [word, message] of [
    ["127.0.0.1:0", 'Cannot parse port of "127.0.0.1:0"'],
    ["127.0.0.1:70000", 'Cannot parse port of "127.0.0.1:70000"'],
    ["[::1]:x", 'Cannot parse port of "[::1]:x"'],
    ["[play.example.org]:1", "only an IPv6 address may be in brackets"],
    ["play..example.org", 'Cannot parse "play..example.org"'],
    ["224.0.0.1:25565", "never probed: multicast"],
  ]
) {
  Deno.test(`query refuses ${word} with exit code 2`, async () => {
    const { code, stdout, stderr } = await run(["query", word, ...SLP]);
    assertEquals([code, stdout], [2, ""]);
    assertStringIncludes(stderr, message);
  });
}
