/** query() of the npm package in Node and Bun, on simulated servers and on sockets of the programs. */
import { assert, assertEquals } from "@std/assert";
import { startFleet } from "../../src/testing/start_fleet.ts";
import { installPackage, runIn } from "./installed.ts";
import { runtimesIn } from "./runtimes.ts";

const FOLDER = await installPackage();
const { Deno: DENO, ...RUNTIMES } = await runtimesIn(FOLDER);

/** Runs a program, which has to end by itself and write nothing to standard error. */
async function run(words: readonly string[], code: string, ...args: string[]): Promise<string> {
  const path = `${FOLDER}/${crypto.randomUUID()}.mjs`;
  await Deno.writeTextFile(path, code);
  const { code: exit, stdout, stderr } = await runIn(FOLDER, [...words, path, ...args]);
  assertEquals([exit, stderr], [0, ""], `${words}: ${stdout}`);
  return stdout;
}

/** Prints the records of many hosts, without what differs between two queries. */
const QUERY_ALL = `
import { readFileSync } from "node:fs";
import { query } from "blocksweep";
const hosts = JSON.parse(readFileSync(process.argv[2], "utf8"));
const found = [];
const left = hosts.entries();
const work = async () => {
  for (const [i, host] of left) found[i] = await query(host);
};
await Promise.all(Array.from({ length: Number(process.argv[3]) }, work));
const differing = ["latency_ms", "scan_id", "seen_at"];
const plain = (name, value) =>
  differing.includes(name) ? undefined : typeof value === "bigint" ? String(value) : value;
console.log(JSON.stringify(found, plain));
`;

type Found = readonly (readonly { readonly protocol: string }[])[];

/** The records of hosts in a runtime, so many hosts at the same time. */
async function queryAll(words: readonly string[], hosts: readonly string[], atOnce: number) {
  const file = `${FOLDER}/hosts.json`;
  await Deno.writeTextFile(file, JSON.stringify(hosts));
  return JSON.parse(await run(words, QUERY_ALL, file, String(atOnce))) as Found;
}

Deno.test("query() has the records of Deno for 300 servers and 20 hostile ones in Node and Bun", async () => {
  await using fleet = await startFleet({ range: "127.89.0.0/22", servers: 300, hostile: 20 });
  const hosts = fleet.servers.map(({ host, port }) => `${host}:${port}`);
  const deno = [...DENO, "--unstable-net", "--allow-net", "--allow-read"];
  const expected = await queryAll(deno, hosts, 64);
  assertEquals([...new Set(expected.flat().map(({ protocol }) => protocol))].sort(), [
    "nethernet",
    "query",
    "raknet",
    "slp",
  ]);
  assert(expected.filter(({ length }) => length > 0).length >= 300);
  for (const [runtime, words] of Object.entries(RUNTIMES)) {
    const found = await queryAll(words, hosts, 64);
    assertEquals(found.length, hosts.length);
    // A busy machine delays replies, and a query waits only briefly for further protocols.
    const again = hosts.filter((_, i) => JSON.stringify(found[i]) !== JSON.stringify(expected[i]));
    assert(again.length < 20, `${runtime}: ${again}`);
    assertEquals(await queryAll(words, again, 1), await queryAll(deno, again, 1), runtime);
  }
});

/** Prints the error of a query, and what it sent to sockets of the program before. */
const ABORTED = `
import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { query } from "blocksweep";

const report = (promise) => promise.then((list) => console.log(list.length), (error) => console.log(error.message));
await report(query("127.90.0.1", { signal: AbortSignal.abort(new Error("before")) }));

const socket = createSocket("udp4");
await new Promise((resolve) => socket.bind(0, "127.90.0.1", resolve));
const [datagram, stream] = [new AbortController(), new AbortController()];
socket.once("message", () => datagram.abort(new Error("datagram")));
const options = { timeoutMs: 3_600_000 };
const udp = "127.90.0.1:" + socket.address().port;
await report(query(udp, { ...options, signal: datagram.signal, protocol: ["raknet", "query"] }));
socket.close();

const server = createServer(() => stream.abort(new Error("connection")));
await new Promise((resolve) => server.listen(0, "127.90.0.1", resolve));
const tcp = "127.90.0.1:" + server.address().port;
await report(query(tcp, { ...options, signal: stream.signal, protocol: ["slp"] }));
server.close();
`;

Deno.test("an AbortSignal ends query() with its reason, and nothing keeps the program running", async () => {
  for (const [runtime, words] of Object.entries(RUNTIMES)) {
    assertEquals(await run(words, ABORTED), "before\ndatagram\nconnection\n", runtime);
  }
});

/** Prints what query() refuses. Name lookups have the replies of a table. */
const REFUSED = `
import dns from "node:dns/promises";

const globalFunctions = () =>
  [globalThis, Promise, Object, Uint8Array.prototype, Set.prototype, Symbol, Map.prototype]
    .map((one) => Object.getOwnPropertyNames(one).join()).join("; ");
const before = globalFunctions();
const { InputError, query, scan } = await import("blocksweep");
const { parseTarget } = await import("blocksweep/targets");

const NAMES = { "lan.example.org": "192.168.1.5", "meta.example.org": "169.254.169.254" };
NAMES["mc.example.org"] = "10.0.0.5";
dns.lookup = async (name) => {
  if (name in NAMES) return [{ address: NAMES[name], family: 4 }];
  throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
};
dns.Resolver = class {
  cancel() {}
  async resolveSrv(name) {
    if (name !== "_minecraft._tcp.srv.example.org") throw Object.assign(new Error(), { code: "ENODATA" });
    return [{ name: "mc.example.org", port: 25565, priority: 0, weight: 0 }];
  }
};
const hosts = ["224.0.0.1", "10.0.0.0/8", "lan.example.org", "srv.example.org"];
for (const host of [...hosts, "meta.example.org", "missing.example.org", ""]) {
  const options = host === "meta.example.org" ? { allowPrivate: true } : {};
  await query(host, options).then(
    (list) => console.log("sent", list.length),
    (error) => console.log(error instanceof InputError, error.message),
  );
}
for (const options of [{ timeOut: 1 }, { protocol: ["ftp"] }, { retries: 9 }, { signal: 1 }]) {
  await query("127.0.0.1", options).catch(({ name, message }) => console.log(name, message));
}
try {
  parseTarget("10.0.0.0/33");
} catch (error) {
  console.log(error instanceof InputError);
}
try {
  scan(["127.0.0.1"]);
} catch (error) {
  console.log(error.message);
}
if (globalFunctions() !== before) console.log(before, globalFunctions());
`;

/** The lines of {@linkcode REFUSED}. */
const PRIVATE = "private use (RFC 1918); only a local name may resolve there, or any name with " +
  "--allow-private";
const REFUSALS = [
  'true Cannot query "224.0.0.1": never probed: multicast (RFC 5771)',
  'true Cannot query "10.0.0.0/8": it is a range; use scan for ranges',
  `true Cannot use the record "lan.example.org A 192.168.1.5": ${PRIVATE}`,
  "true srv.example.org SRV mc.example.org:25565: Cannot use the record " +
  `"mc.example.org A 10.0.0.5": ${PRIVATE}`,
  'true Cannot use the record "meta.example.org A 169.254.169.254": link-local, metadata services ' +
  "(RFC 3927), never probed by name",
  'true Cannot find host "missing.example.org": the name does not exist',
  'true Cannot parse "": expected an address, a range (10.0.0.0/24, 10.0.0.1-254) or a host name',
  "InputError Unknown option timeOut of query(); see docs/library.md",
  'InputError Cannot use protocol "ftp": expected one of raknet, nethernet, slp, query, sqp',
  'InputError Cannot use retries "9": expected a whole number from 0 to 3',
  "InputError Cannot use signal 1: expected an AbortSignal",
  "true",
  "scan() needs Deno, because it uses Deno's sockets and files. In Node and Bun, blocksweep has " +
  "query(), and you can run the command blocksweep.",
  "",
];

Deno.test("query() refuses the hosts and options that it refuses in Deno, and changes nothing global", async () => {
  for (const [runtime, words] of Object.entries(RUNTIMES)) {
    assertEquals((await run(words, REFUSED)).split("\n"), REFUSALS, runtime);
  }
});
