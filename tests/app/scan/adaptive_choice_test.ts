/**
 * The budgets, ports and known servers of an adaptive scan.
 *
 * Covers src/app/scan/adaptive_choice.ts, src/app/targets/adaptive_plan.ts,
 * src/app/scan/open_discovery.ts, src/scan/setup/adaptive_setup.ts and src/app/scan/read_scan.ts.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type PreparedScan, prepareScan } from "../../../src/app/scan/prepare_scan.ts";
import { readScan } from "../../../src/app/scan/read_scan.ts";
import { formatEndpoint, parseAddress, parseEndpoint } from "../../../src/core/address.ts";
import { emptyRecord } from "../../../src/core/record.ts";
import { InputError } from "../../../src/core/errors.ts";
import { callContext } from "../../../src/library/common_options.ts";
import { givenOptions } from "../../../src/library/given_options.ts";
import type { ScanOptions } from "../../../src/library/scan_options.ts";
import { budgetProbes, passProbes } from "../../../src/scan/setup/adaptive_setup.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { openStore } from "../../../src/store/open_store.ts";
import { connectionEnvironment } from "../../../src/app/options/connection_environment.ts";
import { Store } from "../../../src/store/store.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { networkOf } from "../../../src/targets/shards.ts";
import { record } from "../../store/records.ts";
import { inFolder } from "../resume/stopped_programs.ts";

/** A prepared adaptive scan, which was not run. */
async function prepared(options: ScanOptions, words: readonly string[] = ["10.0.0.0/16"]) {
  const all = { network: new SimulatedNetwork(), adaptive: true, ...options };
  const context = {
    ...callContext("scan", all),
    program: "1.0.0",
    takesRows: true,
    writeRows: () => Promise.resolve(0),
  };
  const { request } = await readScan(givenOptions("scan", words, all), context);
  return await prepareScan(request);
}

/** The ports of a protocol: the first, and the range of all. */
async function windowOf(options: ScanOptions, protocol: string) {
  const { selection } = await prepared(options);
  const ports = selection.targets.ports(protocol, 4);
  assertEquals(new Set(ports).size, ports.length);
  return [ports[0], Math.min(...ports), Math.max(...ports), ports.length];
}

Deno.test("an adaptive scan probes 100 ports on either side of the usual port, the usual port first", async () => {
  assertEquals(await windowOf({}, "raknet"), [19132, 19032, 19232, 201]);
  assertEquals(await windowOf({}, "slp"), [25565, 25465, 25665, 201]);
});

Deno.test("with --ports, the first port is the usual one, else the one that is named first", async () => {
  const ports = "9000,T:25570,25560-25567,U:8000-8003";
  assertEquals(await windowOf({ ports }, "slp"), [25565, 9000, 25570, 10]);
  assertEquals(await windowOf({ ports }, "raknet"), [9000, 8000, 9000, 5]);
  assertEquals(await windowOf({ ports: "9001,9000" }, "raknet"), [9001, 9000, 9001, 2]);
  assertEquals(await windowOf({ ports: "1-1024" }, "slp"), [1, 1, 1024, 1024]);
});

Deno.test("the budgets of an adaptive scan are those of its options, or the defaults", async () => {
  const setupOf = ({ adaptive }: PreparedScan) => {
    const { discovery: _, protocols, earlier, ...setup } = adaptive!;
    assertEquals(earlier, []);
    return { ...setup, protocols: protocols.map(({ name }) => name) };
  };
  const protocols = ["raknet", "nethernet", "slp"];
  assertEquals(setupOf(await prepared({})), {
    protocols,
    budget: { share: 0.5 },
    stopBelow: 0,
    netBudget: 16_384,
    known: [],
  });
  const options = { budget: "12h", stopBelow: 5, netBudget: 300, protocol: ["slp", "query"] };
  const given = await prepared(options);
  const { choice } = given;
  const expected = {
    protocols: ["slp"],
    budget: { ms: 43_200_000 },
    stopBelow: 5,
    netBudget: 300,
    known: [],
  };
  assertEquals(setupOf(given), expected);
  assertEquals(choice.protocols.map(({ name }) => name), ["slp", "query"]);
  const { adaptive: none } = await prepared({ adaptive: false });
  assertEquals(none, undefined);
});

Deno.test("the plan counts the passes that spend the budget", async () => {
  // A = 65,536 addresses in three protocols; the least pass has 5 s of 1,000/s.
  const { plan, selection } = await prepared({ budget: "50%" });
  const { adaptive: { bytes, ...adaptive } = { bytes: 0 }, limitedBy, seconds } = plan;
  assert(bytes > 0);
  const evenSweep = 3 * 65_536;
  assertEquals(adaptive, {
    evenSweep,
    rate: 1000,
    endpoints: 201 * evenSweep,
    budget: evenSweep / 2,
    known: 0,
    passes: 20, // 19 of 5,000 probes, and the rest
    perNetwork: 16_384,
    stopBelow: 0,
  });
  assertEquals([limitedBy, seconds], ["rate", 98.304]);
  assertEquals(plan.passes.udp.probes, [98_304]);
  assertEquals(selection.order.from, {
    udp: { pass: 1, position: 0 },
    tcp: { pass: 1, position: 0 },
  });
  const { plan: { adaptive: whole } } = await prepared({ budget: "12h", ports: "9000" });
  assertEquals([whole?.budget, whole?.perNetwork], [evenSweep, 3 * 2 * 256 + 16_384 / 64]);
  const { plan: { adaptive: capped } } = await prepared({ netBudget: 300 });
  assertEquals(capped?.perNetwork, 298); // the protocols share it
});

Deno.test("a pass has a twentieth of the probes so far, and at least 5 s at the rate", () => {
  const scale = { evenSweep: 1e9, rate: 10_000 };
  assertEquals([0, 1e7, 4e7].map((spent) => passProbes(spent, scale)), [500_000, 500_000, 2e6]);
  assertEquals(passProbes(0, { evenSweep: 1, rate: undefined }), 500_000);
  assertEquals(budgetProbes({ share: 1.5 }, scale), 1.5e9);
  assertEquals(budgetProbes({ ms: 2000 }, { ...scale, rate: undefined }), 200_000);
});

Deno.test("a default budget below one pass is not refused: its only pass is smaller", async () => {
  const { plan: { adaptive } } = await prepared({}, ["10.0.0.0/28"]);
  assertEquals([adaptive?.budget, adaptive?.passes], [24, 1]);
});

Deno.test("--known reads the servers of a file that speak a protocol of the scan", () =>
  inFolder(async (folder) => {
    const path = `${folder}/known.ndjson`;
    const row = (endpoint: string, protocol: string) =>
      JSON.stringify({
        ...emptyRecord(parseEndpoint(endpoint)!, 1),
        protocol,
        protocols: [protocol],
      });
    await Deno.writeTextFile(
      path,
      [
        row("10.0.0.7:19132", "raknet"),
        row("10.0.9.9:25570", "slp"),
        "10.0.0.9:19140",
        "[fd00::1]:19132",
      ].join(
        "\n",
      ),
    );
    const notes: string[] = [];
    const onNote = (line: string) => notes.push(line);
    const knownOf = async (options: ScanOptions) => {
      const { adaptive, named, plan } = await prepared({ known: path, onNote, ...options });
      assertEquals([named.first, plan.adaptive?.known], [[], adaptive!.known.length]);
      return adaptive!.known.map(({ endpoint, protocol }) =>
        `${protocol} ${formatEndpoint(endpoint)}`
      );
    };
    assertEquals(await knownOf({}), [
      "raknet 10.0.0.7:19132",
      "nethernet 10.0.0.7:19132",
      "slp 10.0.9.9:25570",
      "raknet 10.0.0.9:19140",
      "nethernet 10.0.0.9:19140",
      "slp 10.0.0.9:19140",
    ]);
    const { plan } = await prepared({ known: path, budget: "20k" });
    assertEquals(plan.adaptive?.passes, 5); // one for the known servers, and four of 5,000 probes
    assertEquals(notes, [`${path}: ignored 1 IPv6 server: adaptive scans are for IPv4`]);
    assertEquals(await knownOf({ protocol: ["slp"] }), [
      "slp 10.0.9.9:25570",
      "slp 10.0.0.9:19140",
    ]);
    await Deno.writeTextFile(path, row("10.0.0.7:19132", "raknet"));
    await assertRejects(
      () => prepared({ known: path, protocol: ["slp"] }),
      InputError,
      `Cannot use --known ${path}: its servers are known of another protocol; the scan probes slp`,
    );
    await Deno.writeTextFile(path, "");
    await assertRejects(
      () => prepared({ known: path }),
      InputError,
      "there is no server with an IPv4 address in it",
    );
  }));

Deno.test("--known reads the servers of a database, and excludes those that opted out", () =>
  inFolder(async (folder) => {
    const path = `${folder}/known.db`;
    await using database = await openStore(
      parseDatabaseLocation(path)!,
      connectionEnvironment(() => {}),
    );
    const rows = [[7, "raknet"], [8, "raknet"], [9, "slp"]] as const;
    const records = rows.map(([port, protocol]) =>
      record(port, { host: `10.0.0.${port}`, protocol, protocols: [protocol] })
    );
    await new Store(database, () => Promise.resolve()).write(records);
    await database.script("insert into opt_outs (address, noted_at) values ('10.0.0.8', 1)");
    const { adaptive, named } = await prepared({ known: path, protocol: ["raknet"] });
    assertEquals(adaptive!.known.map(({ endpoint }) => formatEndpoint(endpoint)), ["10.0.0.7:7"]);
    assertEquals(named.targets.omitted.chosen, 1n);
  }));

Deno.test("the shards of an adaptive scan are large networks, and their budgets those of their targets", async () => {
  const shards = await Promise.all(
    [1, 2].map((index) =>
      prepared({ shard: { index, count: 2 }, seed: 7, protocol: ["raknet"] }, ["10.0.0.0/15"])
    ),
  );
  const networks = shards.map(({ named: { targets } }) =>
    new Set(
      targets.groups.flatMap(({ addresses }) =>
        [...addresses].flatMap((
          { start, end },
        ) => [networkOf(start, 4096), networkOf(Number(end) - 1, 4096)])
      ),
    )
  );
  assert(networks[0].isDisjointFrom(networks[1]));
  const first = networkOf(parseAddress("10.0.0.0")!, 4096) as number;
  assert([...networks[0]].every((one) => one >= first && Number(one) < first + 32));
  const sizes = shards.map(({ plan }) => plan.adaptive!.evenSweep);
  assertEquals(sizes, [2 ** 16, 2 ** 16]);
  assertEquals(shards.map(({ plan }) => plan.adaptive!.budget), [2 ** 15, 2 ** 15]);
});
