/**
 * scan() of the library, on a simulated network.
 *
 * Covers src/testing/simulated_network.ts, src/app/scan/read_scan.ts, src/app/network/call_context.ts,
 * src/app/scan/locate_targets.ts and src/scan/setup/scan_id.ts.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { readCsv } from "../../src/fleet/judge/verify_rows.ts";
import { inFolder } from "../app/resume/stopped_programs.ts";
import { serverId, type ServerRecord } from "../../src/core/record.ts";
import { scan } from "../../src/library/scan.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import type { ScanOptions } from "../../src/library/scan_options.ts";
import { startFleet } from "../../src/testing/start_fleet.ts";
import { SimulatedNetwork } from "../../src/testing/simulated_network.ts";

/** The options that public addresses need. */
const PUBLIC: ScanOptions = { iHavePermission: true, contact: "abuse@example.org" };

/** Scans a network to the end. */
function scanAll(network: SimulatedNetwork, targets: readonly string[], options: ScanOptions = {}) {
  return network.run(Array.fromAsync(scan(targets, { network, ...options })));
}

/** Scans one address of a network whose time does not pass, because the scan does not begin. */
function scanBeside(network: SimulatedNetwork, options: ScanOptions) {
  return Array.fromAsync(scan(["10.0.0.1"], { network, ...options }));
}

/** A network with Bedrock servers on addresses. */
function bedrockOn(...hosts: readonly string[]): SimulatedNetwork {
  const network = new SimulatedNetwork();
  for (const host of hosts) network.addServer({ host, software: "bds" });
  return network;
}

/** The endpoints to which a scan sent datagrams. */
function probed({ datagrams, streams }: SimulatedNetwork): Set<number | bigint> {
  return new Set([...datagrams.sent, ...streams.begun].map(({ to }) => to.address));
}

Deno.test("scan() yields each server of a range once", async () => {
  const network = new SimulatedNetwork();
  const servers = network.addFleet({ range: "10.0.0.0/26", servers: 40, hostile: 10 });
  const found = await scanAll(network, ["10.0.0.0/26"]);
  const expected = servers.filter(({ listed }) => listed).map(serverId);
  assertEquals(found.map(serverId).toSorted(), expected.toSorted());
});

Deno.test("scan() on a simulated network writes outputs and a checkpoint", async () => {
  for (const name of ["s.csv", "s.ndjson", "s.json", "s.db"]) {
    for (let run = 0; run < 10; run++) {
      await inFolder(async (folder) => {
        const path = `${folder}/${name}`;
        const options = { output: [path], checkpoint: `${folder}/scan.state` };
        const found = await scanAll(bedrockOn("10.0.0.7"), ["10.0.0.0/28"], options);
        assertEquals(found.map(serverId), ["10.0.0.7:19132"]);
        if (name === "s.db") {
          await using database = openSqlite(path);
          assertEquals(await database.rows("select port from servers"), [{ port: 19132 }]);
        } else {
          assert((await Deno.readTextFile(path)).includes("10.0.0.7"), name);
        }
      });
    }
  }
});

Deno.test("scan() accepts names, and an SRV record leads to another host", async () => {
  const network = bedrockOn("1.2.3.1");
  network.addServer({ host: "5.6.7.9", software: "vanilla" });
  network.addName("play.example.org", ["1.2.3.1"], { host: "mc.example.org", port: 25565 });
  network.addName("mc.example.org", ["5.6.7.9"]);
  const found = await scanAll(network, ["play.example.org"], PUBLIC);
  const queried = found.map(({ host, requested_as }) => `${host} ${requested_as}`).toSorted();
  assertEquals(queried, [
    "1.2.3.1 play.example.org",
    "5.6.7.9 play.example.org SRV mc.example.org:25565",
  ]);
});

Deno.test("scan() sends nothing to public addresses without permission", async () => {
  const network = bedrockOn("1.2.3.1");
  const refused = () => scanAll(network, ["1.2.3.0/24"]);
  await assertRejects(
    refused,
    InputError,
    "256 public addresses without iHavePermission",
  );
  await assertRejects(() => scanAll(network, ["10.0.0.0/8"]), InputError, "more than 1,048,576");
  assertEquals([network.datagrams.count, network.streams.begun.length], [0, 0]);
  await assertRejects(
    () => scanAll(network, ["1.2.3.0/24"], { iHavePermission: true }),
    InputError,
    "Cannot scan 256 public addresses without contact: name the e-mail address or web page",
  );
  assertEquals([network.datagrams.count, network.streams.begun.length], [0, 0]);
  const found = await scanAll(network, ["1.2.3.0/24"], PUBLIC);
  assertEquals(found.map(({ host }) => host), ["1.2.3.1"]);
});

Deno.test("scan() leaves out reserved, excluded and opted-out addresses", async () => {
  const network = bedrockOn("10.0.0.1", "10.0.0.2", "10.0.0.3");
  network.optedOut.push(0x0a000002);
  network.datagrams.record = true;
  const found = await scanAll(network, ["10.0.0.1-4", "192.0.2.1"], { exclude: ["10.0.0.3"] });
  assertEquals(found.map(({ host }) => host), ["10.0.0.1"]);
  assertEquals(probed(network), new Set([0x0a000001, 0x0a000004]));
});

Deno.test("scan() records a server whose MOTD opts out, and yields no record of it", async () => {
  const network = new SimulatedNetwork();
  const [opted] = network.addFleet({
    range: "10.0.0.0/30",
    servers: 1,
    software: ["bdsOptedOut"],
  });
  assertEquals(await scanAll(network, ["10.0.0.0/30"]), []);
  assertEquals([network.optedOut.length, opted.listed], [1, false]);
});

Deno.test("scan() sends nothing to a private address from the records of a public name", async () => {
  const network = bedrockOn("10.0.0.1");
  network.addName("trap.example.org", ["10.0.0.1"]);
  network.addName("lobby.lan", ["10.0.0.1"]);
  const refused = () => scanAll(network, ["trap.example.org"]);
  await assertRejects(refused, InputError, "trap.example.org A 10.0.0.1");
  assertEquals(network.datagrams.count, 0);
  assertEquals((await scanAll(network, ["lobby.lan"])).length, 1);
  assertEquals((await scanAll(network, ["trap.example.org"], { allowPrivate: true })).length, 1);
});

Deno.test("scan() keeps the rate limit and the cap per host of the command line", async () => {
  const network = new SimulatedNetwork();
  network.datagrams.record = true;
  await scanAll(network, ["10.0.0.1"], { ports: "19132-19151", protocol: ["raknet"], retries: 0 });
  const { sent } = network.datagrams;
  assertEquals(sent.length, 20);
  const seconds = (sent.at(-1)!.at - sent[0].at) / 1000;
  assert(seconds > 2.5, `20 packets to one host in ${seconds} s: the cap is 5 a second`);
});

Deno.test("leaving the loop ends the scan within a second, and closes its sockets", async () => {
  const network = new SimulatedNetwork();
  network.addFleet({ range: "10.0.0.0/26", servers: 40, hostile: 10 });
  let foundAt = Infinity;
  const first = async () => {
    for await (const _ of scan(["10.0.0.0/26"], { network })) return foundAt = network.clock.now();
  };
  await network.run(first());
  const waited = network.clock.now() - foundAt;
  assert(waited <= 1000, `interviews went on for ${waited} ms`);
  assertEquals([network.datagrams.ports, network.streams.open], [[], 0]);
});

Deno.test("a scan waits for a slow loop", async () => {
  const network = new SimulatedNetwork();
  const servers = network.addFleet({ range: "10.0.0.0/24", servers: 200, software: ["bds"] });
  const found: ServerRecord[] = [];
  const slowly = async () => {
    for await (const server of scan(["10.0.0.0/24"], { network, protocol: ["raknet"] })) {
      found.push(server);
      await new Promise<void>((resolve) => network.clock.after(100, resolve));
    }
  };
  await network.run(slowly());
  assertEquals(found.length, servers.length);
});

Deno.test("a signal ends the loop without an error", async () => {
  const network = bedrockOn("10.0.255.255");
  const controller = new AbortController();
  network.clock.after(2000, () => controller.abort());
  const { signal } = controller;
  assertEquals(await scanAll(network, ["10.0.0.0/16"], { signal, noRandomize: true }), []);
  assertEquals(network.datagrams.ports, []);
  assert(network.clock.now() < 20_000, "the whole range would take a minute");
  assertEquals(await scanAll(network, ["10.0.0.0/16"], { signal: AbortSignal.abort() }), []);
});

Deno.test("maxResults and maxTargets bound a scan", async () => {
  const network = new SimulatedNetwork();
  network.addFleet({ range: "10.0.0.0/26", servers: 40, software: ["bds"] });
  assertEquals((await scanAll(network, ["10.0.0.0/26"], { maxResults: 3 })).length, 3);
  network.datagrams.record = true;
  await scanAll(network, ["10.0.1.0/24"], { maxTargets: 5, retries: 0, protocol: ["raknet"] });
  assertEquals(network.datagrams.sent.length, 5);
});

Deno.test("scan() names the target or the option that it cannot use", async () => {
  const refuses = (targets: string[], options: ScanOptions, message: string) =>
    assertRejects(() => scanAll(new SimulatedNetwork(), targets, options), InputError, message);
  await refuses([], {}, "Cannot scan: name addresses");
  await refuses(
    ["10.0.0.0/33"],
    {},
    'Cannot parse range "10.0.0.0/33": the prefix must be 0 to 32',
  );
  await refuses(["none.example.org"], {}, 'Cannot find host "none.example.org"');
  await refuses(["10.0.0.1"], { protocol: ["nonsense"] }, 'protocol "nonsense"');
  await refuses(["10.0.0.1"], { protocol: ["sqp"] }, "without a port: it has no default port");
  await refuses(["10.0.0.1"], { ports: "0" }, 'Cannot parse port "0"');
  await refuses(["10.0.0.1"], { rate: 0 }, 'Cannot use rate "0": expected a number such as');
  await refuses(
    ["10.0.0.1"],
    { hostRate: 0.5 },
    'Cannot use hostRate "0.5": expected a whole number',
  );
  await refuses(
    ["10.0.0.1"],
    { cooldownMs: NaN },
    'Cannot use cooldownMs "NaNms": expected a time',
  );
  const shard = { index: 3, count: 2 };
  await refuses(["10.0.0.1"], { shard, seed: 1 }, 'Cannot use shard "3/2": expected I/N');
  await refuses(
    ["10.0.0.1"],
    { shard: { index: 1, count: 2 } },
    "Cannot use --shard without --seed",
  );
  const engine = "fast" as ScanOptions["engine"];
  await refuses(["10.0.0.1"], { engine }, 'Cannot use engine "fast": expected portable, udp');
});

Deno.test("scan() writes outputs, a status and metadata, and resumes its checkpoint, as the command does", async () => {
  const range = "127.99.3.0/26";
  await using _fleet = await startFleet({ range, servers: 40, software: ["bds"] });
  await inFolder(async (folder) => {
    const [csv, status, metadata] = ["a.csv", "a.status", "a.json"].map((name) =>
      `${folder}/${name}`
    );
    const quick: ScanOptions = { cooldownMs: 200, optOutFile: `${folder}/opt-out.txt` };
    const first = await Array.fromAsync(scan([range], {
      ...quick,
      output: [csv],
      statusFile: status,
      metadataFile: metadata,
      contact: "abuse@example.org",
      protocol: ["raknet"],
      rate: 40,
      retries: 0,
      maxRuntimeMs: 500,
    }));
    assert(first.length > 0 && first.length < 40, `${first.length} rows`);
    const rows = async () => readCsv(await Deno.readTextFile(csv)).map(serverId);
    assertEquals((await rows()).toSorted(), first.map(serverId).toSorted());
    const written = JSON.parse(await Deno.readTextFile(status));
    assertEquals([written.state, written.written], ["max-runtime", first.length]);
    const { options: { rate, contact } } = JSON.parse(await Deno.readTextFile(metadata));
    assertEquals([rate, contact], ["40", "abuse@example.org"]);
    assert((await Deno.readTextFile(`${csv}.checkpoint.list`)).includes(contact));
    const resumed: ScanOptions = { resume: `${csv}.checkpoint`, rate: 1000, maxRuntimeMs: 60_000 };
    const rest = await Array.fromAsync(scan([], resumed));
    assertEquals([first.length + rest.length, new Set(await rows()).size], [40, 40]);
    assertEquals((await rows()).length, 40);
    await assertRejects(() => Deno.stat(`${csv}.checkpoint`), Deno.errors.NotFound);
  });
});

Deno.test("a scan that cannot be resumed releases its checkpoint", async () => {
  const range = "127.99.4.0/28";
  await using _fleet = await startFleet({ range, servers: 10, software: ["bds"] });
  await inFolder(async (folder) => {
    const csv = `${folder}/a.csv`;
    const quick: ScanOptions = { cooldownMs: 200, optOutFile: `${folder}/opt-out.txt` };
    const slow: ScanOptions = { output: [csv], protocol: ["raknet"], rate: 20, retries: 0 };
    for await (const _ of scan([range], { ...quick, ...slow })) break;
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const resume = (options: ScanOptions) =>
      Array.fromAsync(scan([], { resume: `${csv}.checkpoint`, ...options }));
    await assertRejects(() => resume({ metrics: "none" }), InputError, "metrics");
    await assertRejects(
      () => resume({ metrics: listener.addr.port }),
      InputError,
      "Address already in use",
    );
    await assertRejects(() => resume({ statusFile: `${folder}/none/s` }), InputError, "none/s");
    assertEquals(await resume({ signal: AbortSignal.abort() }), []);
    await resume({ rate: 1000 });
    assertEquals(new Set(readCsv(await Deno.readTextFile(csv)).map(serverId)).size, 10);
  });
});

Deno.test("a scan that cannot begin closes its sockets and files, and its outputs keep their rows", async () => {
  const network = new SimulatedNetwork();
  await inFolder(async (folder) => {
    const [csv, status] = [`${folder}/a.csv`, `${folder}/s.json`];
    await Deno.writeTextFile(csv, "before\n");
    await Deno.mkdir(`${status}.part`);
    const refuses = (options: ScanOptions, message: string) =>
      assertRejects(() => scanBeside(network, options), InputError, message);
    await refuses({ output: [csv, `${folder}/none/b.csv`] }, "none/b.csv");
    await refuses({ output: [csv], statusFile: status }, "s.json.part");
    await refuses({ output: [csv], metadataFile: `${folder}/none/m` }, "none/m");
    assertEquals(network.datagrams.ports, []);
    assertEquals(await Deno.readTextFile(csv), "before\n");
    const left = Array.from(Deno.readDirSync(folder), ({ name }) => name);
    assertEquals(left.toSorted(), ["a.csv", "s.json", "s.json.part"]);
  });
});

Deno.test("a signal ends the wait for the reader of a pipe without an error", async () => {
  const network = new SimulatedNetwork();
  await inFolder(async (folder) => {
    const [csv, pipe] = [`${folder}/a.csv`, `${folder}/pipe.csv`];
    await new Deno.Command("sh", { args: ["-c", 'mkfifo "$0"', pipe] }).output();
    const controller = new AbortController();
    const onNote = (line: string) => {
      if (line.includes("waiting for a reader")) controller.abort();
    };
    const options = { output: [csv, pipe], signal: controller.signal, onNote };
    assertEquals(await scanBeside(network, options), []);
    assert(controller.signal.aborted);
    assertEquals(network.datagrams.ports, []);
  });
});

Deno.test("errors about options do not show passwords", async () => {
  const url = "postgres://user:secret@127.0.0.1/servers";
  const wrong: Readonly<Record<string, unknown>> = {
    output: url,
    inputFile: [url],
    checkpoint: url,
    statusFile: url,
    metadataFile: url,
    resume: url,
  };
  for (const [name, value] of Object.entries(wrong)) {
    const given = { [name]: value } as ScanOptions;
    const error = await assertRejects(
      () => scanBeside(new SimulatedNetwork(), given),
      InputError,
      `Cannot use ${name} `,
    );
    assert(!error.message.includes("secret"), error.message);
  }
});
