/** The addresses to which an untrusted DNS zone may lead, with a fake name server. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  type Address,
  formatAddress,
  formatEndpoint,
  parseAddress,
} from "../../../src/core/address.ts";
import { locate } from "../../../src/app/names/locate_server.ts";
import { lookUpName, type Lookups } from "../../../src/app/names/name_lookup.ts";
import { denoRecords, serviceFinder } from "../../../src/app/names/dns_lookup.ts";
import { readWatchTargets } from "../../../src/app/targets/watch_targets.ts";
import { composeTargets, findTargets } from "../../../src/app/targets/find_targets.ts";
import { InputError } from "../../../src/core/errors.ts";
import { PROTOCOLS, USUAL_PROTOCOLS } from "../../../src/protocols/list.ts";
import { openDns } from "../../fakes/dns.ts";
import { run } from "../../cli/program.ts";

/** Addresses to which only local names may lead, or any name with the option. */
const PRIVATE = [
  ...["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "100.64.0.1", "198.18.0.1"],
  ...["::1", "::7f00:1", "fc00::1", "fd00::1", "fec0::1"],
];
/** Addresses to which no name may lead. */
const NEVER = [
  ...["169.254.169.254", "169.254.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255"],
  ...["::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b:1::1", "::"],
  // Metadata and platform services, and link-local addresses.
  ...["168.63.129.16", "100.100.100.200", "fe80::1", "fe80::a9fe:a9fe", "::a9fe:a9fe"],
  ...["fd00:ec2::254", "fd00:c1::a9fe:a9fe", "fd00:42::42", "fd20:ce::254", "::ffff:0:a9fe:a9fe"],
  "::ffff:0:808:808",
];
const LOCAL = [
  ...["localhost", "router", "mc.localhost", "mc.local", "mc.lan", "a.b.home.arpa", "x.internal"],
];
const STRANGE = [
  ...[
    "play.example.org",
    "localhost.example.org",
    "notlocalhost.example",
    "xlan.org",
    "home.arpa.x",
  ],
  ...["evillan.com", "local.com", "internal.example"],
];

/** A name server where every name has these addresses, and an SRV record of each name leads there. */
function server(addresses: readonly string[], target?: string, allowPrivate = false) {
  const notes: string[] = [];
  const lookups: Lookups = {
    resolve: (name) =>
      target !== undefined && name !== target
        ? Promise.reject(new InputError(`Cannot find host "${name}"`))
        : Promise.resolve(addresses.map((text) => parseAddress(text)!)),
    findService: () => Promise.resolve(target === undefined ? target : { host: target, port: 9 }),
    note: (text) => notes.push(text),
    allowPrivate,
  };
  return { lookups, notes };
}

const shown = (addresses: readonly Address[]) => addresses.map(formatAddress);

Deno.test("a public name leads to no private address, by A, AAAA or CNAME records", async () => {
  for (const name of STRANGE) {
    for (const address of [...PRIVATE, ...NEVER]) {
      const { lookups, notes } = server([address]);
      const { addresses, refused } = await lookUpName(name, lookups);
      assertEquals([addresses, notes], [[], []], `${name} ${address}`);
      const record = `${name} ${address.includes(":") ? "AAAA" : "A"} ${address}`;
      assertStringIncludes(refused!.join(), `Cannot use the record "${record}": `);
      assertEquals(refused!.join().includes("--allow-private"), PRIVATE.includes(address));
    }
  }
});

Deno.test("local names, and any name with --allow-private, lead to private addresses, but never to metadata services", async () => {
  for (const [names, allowed] of [[LOCAL, false], [STRANGE, true]] as const) {
    for (const name of names) {
      const { lookups } = server(PRIVATE, undefined, allowed);
      assertEquals(shown((await lookUpName(name, lookups)).addresses), PRIVATE, name);
      for (const address of NEVER) {
        const { addresses, refused } = await lookUpName(
          name,
          server([address], undefined, allowed).lookups,
        );
        assertEquals(addresses, [], `${name} ${address}`);
        assert(refused !== undefined && !refused.join().includes("--allow-private"));
      }
    }
  }
});

Deno.test("the target of an SRV record may have the addresses that the requested name may have", async () => {
  for (const target of ["localhost", "mc.lan", "mc1.example.org"]) {
    for (const address of [...PRIVATE, ...NEVER]) {
      const { lookups, notes } = server([address], target);
      const { addresses, found, refused } = await lookUpName("play.example.org", lookups);
      assertEquals([addresses, found, refused?.length, notes], [[], undefined, 1, []]);
      assertStringIncludes(
        refused![0],
        `play.example.org SRV ${target}:9: Cannot use the record "${target} A`,
      );
    }
  }
  const { found } = await lookUpName("mc.lan", server(["10.0.0.1"], "srv.lan").lookups);
  assertEquals(shown(found!.addresses), ["10.0.0.1"]);
  const allowed = server(["10.0.0.1", "169.254.1.1"], "mc1.example.org", true);
  const led = await lookUpName("play.example.org", allowed.lookups);
  assertEquals(shown(led.found!.addresses), ["10.0.0.1"]);
  assertStringIncludes(allowed.notes.join(), "never probed by name");
});

Deno.test("of several addresses the public ones are used, and each of the others is reported", async () => {
  const { lookups, notes } = server(["127.0.0.1", "8.8.8.8", "::1", "2600::1"]);
  const { addresses, refused } = await lookUpName("play.example.org", lookups);
  assertEquals([shown(addresses), refused], [["8.8.8.8", "2600::1"], undefined]);
  assertEquals(notes, [
    'Cannot use the record "play.example.org A 127.0.0.1": loopback (RFC 1122); only a local ' +
    "name may resolve there, or any name with --allow-private",
    'Cannot use the record "play.example.org AAAA ::1": loopback (RFC 4291); only a local ' +
    "name may resolve there, or any name with --allow-private",
  ]);
  const { endpoints } = await locate("play.example.org:9", PROTOCOLS, lookups);
  assertEquals(endpoints.map(({ endpoint }) => formatEndpoint(endpoint)), ["8.8.8.8:9"]);
});

Deno.test("of many refused records ten are reported, with the number of the others", async () => {
  const many = Array.from({ length: 25 }, (_, i) => `10.0.0.${i}`);
  const { lookups, notes } = server([...many, "8.8.8.8"]);
  await lookUpName("play.example.org", lookups);
  assertEquals([notes.length, notes[10]], [11, "... and 15 more such records"]);
  assertStringIncludes(notes[9], '"play.example.org A 10.0.0.9"');
  const refusing = server(many.slice(0, 2));
  await assertRejects(
    () => locate("play.example.org", USUAL_PROTOCOLS, refusing.lookups),
    InputError,
    'Cannot use "play.example.org": all its records are refused',
  );
  assertEquals(refusing.notes.length, 2);
});

Deno.test("a name needs an address or an SRV record, and an unexpected failure is never hidden", async () => {
  const missing = new InputError('Cannot find host "play.example.org"');
  const broken = new TypeError("a bug");
  const resolve = (error: Error) => (name: string) =>
    name === "play.example.org" ? Promise.reject(error) : Promise.resolve([0x08080808]);
  const service = { host: "mc1.example.org", port: 9 };
  const look = async (error: Error, found: typeof service | undefined) => {
    const lookups = { ...server([]).lookups, resolve: resolve(error) };
    const findService = () => Promise.resolve(found);
    return await lookUpName("play.example.org", { ...lookups, findService });
  };
  const { addresses, found } = await look(missing, service);
  assertEquals([addresses, found], [[], { service, addresses: [0x08080808] }]);
  await assertRejects(() => look(missing, undefined), InputError, missing.message);
  await assertRejects(() => look(broken, undefined), TypeError, "a bug");
  await assertRejects(() => look(broken, service), TypeError, "a bug");
});

/** The servers of a watch with these words, joined, and the reported lines. */
async function watched(lookups: Lookups, ...words: string[]): Promise<string[]> {
  const notes: string[] = [];
  const servers = await readWatchTargets({
    ...{ words, files: [], lists: [], optedOut: [], allowPrivate: false, names: false },
    protocols: USUAL_PROTOCOLS,
    rules: {
      intervalMs: 60_000,
      downAfter: 3,
      scanId: "watch-1",
      newEventId: () => "event",
      allProtocols: PROTOCOLS,
    },
    lookups,
    report: (line) => notes.push(line),
    note: (text) => notes.push(text),
  });
  return [servers.map(({ endpoint }) => formatEndpoint(endpoint)).join(), ...notes];
}

Deno.test("a refused name does not end the watch of other servers", async () => {
  const { lookups } = server(["127.0.0.1"]);
  const [shown, ...notes] = await watched(lookups, "lo.evil.test", "127.0.0.5:19132");
  assertEquals([shown, notes.length], ["127.0.0.5:19132", 1]);
  assertStringIncludes(notes[0], 'Cannot use the record "lo.evil.test A 127.0.0.1": loopback');
  const refused = 'Cannot use the record "lo.evil.test A 127.0.0.1"';
  await assertRejects(() => watched(lookups, "lo.evil.test", "x.evil.test"), InputError, refused);
  const range = 'Cannot watch "127.0.0.0/24"';
  await assertRejects(() => watched(lookups, "127.0.0.0/24"), InputError, range);
});

Deno.test("a name with only a refused SRV record does not end the scan or watch of other targets", async () => {
  const lookups = () => server(["10.0.0.1"], "mc1.example.org");
  const line = 'play.example.org SRV mc1.example.org:9: Cannot use the record "mc1.example.org A';
  const scanned = async (...words: string[]) => {
    const one = lookups();
    const input = { words, files: [], exclude: [], excludeFiles: [] };
    const { targets } = composeTargets(await findTargets(input, one.lookups), []);
    return [targets.size, one.notes.map((note) => note.startsWith(line))];
  };
  assertEquals(await scanned("127.0.0.5", "play.example.org"), [1n, [true]]);
  await assertRejects(() => scanned("play.example.org"), InputError, line);
  const [shown, ...notes] = await watched(lookups().lookups, "play.example.org", "127.0.0.5:1");
  assertEquals([shown, notes.length], ["127.0.0.5:1", 1]);
  assertStringIncludes(notes[0], line);
  await assertRejects(() => watched(lookups().lookups, "play.example.org"), InputError, line);
});

Deno.test("query refuses a name without a usable record; scan skips the name", async () => {
  const { lookups } = server(["192.168.1.1"]);
  await assertRejects(
    () => locate("play.example.org", USUAL_PROTOCOLS, lookups),
    InputError,
    'Cannot use the record "play.example.org A 192.168.1.1": private use (RFC 1918)',
  );
  const scanned = (...words: string[]) => {
    const one = server(["192.168.1.1"]);
    const input = { words, files: [], exclude: [], excludeFiles: [] };
    return { ...one, found: findTargets(input, one.lookups) };
  };
  await assertRejects(
    () => scanned("play.example.org", "mc.example.org").found,
    InputError,
    'Cannot use the record "play.example.org A 192.168.1.1"',
  );
  const { found, notes } = scanned("10.0.0.1", "play.example.org");
  assertEquals([composeTargets(await found, []).targets.size, notes.length], [1n, 1]);
});

Deno.test("an exclusion may be a name of any address, because nothing is sent there", async () => {
  const { lookups } = server(["10.0.0.1"]);
  const found = await findTargets({
    ...{ words: ["10.0.0.0/30"], files: [], exclude: ["play.example.org"], excludeFiles: [] },
  }, lookups);
  assertEquals(composeTargets(found, []).targets.size, 3n);
});

Deno.test("names in databases and checkpoints are not looked up again", async () => {
  const lookups: Lookups = {
    resolve: (name) => Promise.reject(new Error(`${name} was looked up`)),
    note: () => {},
  };
  const endpoint = { address: parseAddress("10.0.0.7")!, port: 25565 };
  const servers = [{ endpoint, name: "play.example.org", protocols: ["slp"] }];
  const known = { servers, optedOut: [] };
  const input = { words: [], files: [], exclude: [], excludeFiles: [], known };
  assertEquals((await findTargets(input, lookups)).known, [{ endpoint, protocols: ["slp"] }]);
});

Deno.test("the rules for SRV records apply to replies of a real name server", async () => {
  await using dns = openDns([{ priority: 0, weight: 0, port: 25570, target: "localhost." }]);
  const { lookups, notes } = server(["127.0.0.1"], "localhost");
  const findService = serviceFinder({ recordsOf: denoRecords(dns.nameServer) });
  await assertRejects(
    () =>
      locate(
        "play.example.org",
        PROTOCOLS.filter(({ name }) => name === "raknet" || name === "slp"),
        { ...lookups, findService },
      ),
    InputError,
    'play.example.org SRV localhost:25570: Cannot use the record "localhost A 127.0.0.1"',
  );
  assertEquals([dns.queried, notes], [["_minecraft._tcp.play.example.org."], []]);
});

Deno.test("localhost is a valid target, and scan, query and watch have --allow-private", async () => {
  for (const command of ["scan", "query", "watch"]) {
    const { stdout } = await run([command, "--help"]);
    assertStringIncludes(stdout, "--allow-private");
  }
  const { stdout, code } = await run(["scan", "localhost:19132", "--list-targets"], {
    permissions: ["--allow-net", "--allow-read", "--allow-env"],
  });
  assertEquals(code, 0);
  assertStringIncludes(stdout, "127.0.0.1:19132");
});
