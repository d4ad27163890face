/** Of src/campaign/part_request.ts: a part of a campaign is the shard of a scan. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { readScan, type ScanContext, WRITES_NOTHING } from "../../src/app/scan/read_scan.ts";
import { type PreparedScan, prepareScan } from "../../src/app/scan/prepare_scan.ts";
import { runPreparedScan } from "../../src/app/scan/run_scan.ts";
import {
  partRequest,
  type PartToScan,
  type WorkerChoice,
  workerExclusions,
} from "../../src/campaign/part_request.ts";
import { formatSpec, parseSpec, type Spec, specOf } from "../../src/campaign/spec.ts";
import { formatEndpoint, parseAddress } from "../../src/core/address.ts";
import { InputError } from "../../src/core/errors.ts";
import { callContext } from "../../src/library/common_options.ts";
import { givenOptions } from "../../src/library/given_options.ts";
import type { ScanOptions } from "../../src/library/scan_options.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { START } from "../../src/scan/setup/low_water_mark.ts";
import { SimulatedNetwork } from "../../src/testing/simulated_network.ts";
import { inFolder } from "../app/resume/stopped_programs.ts";

const SCAN_ID = "01928d5e-0000-7000-8000-000000000000";
const DETAILS = { name: "lab", submittedAt: 0, parts: 3, maxRunning: 2, ackWaitMs: 30_000 };
const WORDS = ["10.0.0.0/21", "10.9.0.5:7777", "fd00::1"];

function contextFor(network: SimulatedNetwork): ScanContext {
  return {
    ...callContext("scan", { network }),
    program: "1.0.0",
    takesRows: true,
    writeRows: () => Promise.resolve(0),
  };
}

/** A scan of the targets, as `scan` and `campaign submit` prepare it. */
async function prepared(options: ScanOptions = {}, words = WORDS): Promise<PreparedScan> {
  const network = new SimulatedNetwork();
  const given = givenOptions("scan", words, { seed: 7, exclude: ["10.0.0.9"], ...options });
  const { request } = await readScan(given, contextFor(network));
  return await prepareScan(request);
}

/** The specification of a campaign, as workers read it. */
async function submitted(options: ScanOptions = {}, words = WORDS): Promise<Spec> {
  const scan = await prepared(options, words);
  return parseSpec(formatSpec(specOf(scan, SCAN_ID, DETAILS)), PROTOCOLS);
}

const WORKER: WorkerChoice = {
  engine: undefined,
  interface: undefined,
  gatewayMac: undefined,
  sourceIp: undefined,
  optOutFile: undefined,
  quiet: true,
};

/** The scan of a part, prepared on a network. */
async function preparedPart(
  spec: Spec,
  part: Partial<PartToScan>,
  network = new SimulatedNetwork(),
): Promise<PreparedScan> {
  const whole = { part: 1, from: START, worker: WORKER, excluded: [], ...part };
  return await prepareScan(partRequest(spec, whole, contextFor(network)));
}

Deno.test("a part has the targets, order and plan of the shard with its number", async () => {
  const spec = await submitted();
  for (let part = 1; part <= 3; part++) {
    const shard = await prepared({ shard: { index: part, count: 3 } });
    const { named, whole, selection, plan, limits } = await preparedPart(spec, { part });
    assertEquals([named.targets, whole], [shard.named.targets, shard.whole]);
    assertEquals(selection.order, shard.selection.order);
    assertEquals(plan.passes, shard.plan.passes);
    // A part has its share of the rate; caps hold in each part by themselves.
    const { rate, ...caps } = shard.limits.rates;
    assertEquals(limits.rates, { ...caps, rate: rate! / 2 });
  }
});

Deno.test("a part is scanned with the options of the submitter", async () => {
  const submitter = { protocol: ["raknet"], ports: "U:19133", retries: 3, netRate: 7, rate: 100 };
  const { options, limits, selection } = await preparedPart(await submitted(submitter), {});
  assertEquals([options.retries, limits.retries, limits.rates.netRate], [3, 3, 7]);
  assertEquals(limits.rates.rate, 50);
  assertEquals(selection.targets.protocols.map(({ name }) => name), ["raknet"]);
  assertEquals(selection.targets.ports("raknet", 4), [19_133]);
});

Deno.test("the bandwidth of a campaign is divided like its rate", async () => {
  const spec = await submitted({ bandwidth: 100_000 });
  assert(spec.rate! < 1000);
  const { limits } = await preparedPart(spec, {});
  assertEquals(limits.rates.rate, spec.rate! / 2);
});

Deno.test("exclusions of a worker are not probed, and keep the order", async () => {
  const spec = await submitted();
  const start = parseAddress("10.0.0.0") as number;
  const excluded = [{ start, end: start + 1024 }];
  const part = await preparedPart(spec, { excluded });
  assertEquals(part.named.targets, (await preparedPart(spec, {})).named.targets);
  assertEquals([...part.selection.targets.optedOut], excluded);
});

Deno.test("the exclusions of a worker come from words, files and names", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/no.txt`;
    await Deno.writeTextFile(file, "10.0.1.0/24\n");
    const resolve = (name: string) => Promise.resolve(name === "a.example" ? [5] : []);
    const exclude = ["10.0.0.0/30", "a.example"];
    assertEquals(await workerExclusions({ exclude, excludeFile: [file] }, resolve), [
      { start: 0x0a000000, end: 0x0a000004 },
      { start: 5, end: 6 },
      { start: 0x0a000100, end: 0x0a000200 },
    ]);
  });
});

Deno.test("a worker chooses engine, route and opt-out file by itself", async () => {
  const worker = { ...WORKER, engine: "packet" as const, interface: "eth9", optOutFile: "/x" };
  const spec = await submitted();
  const request = { part: 2, from: START, worker, excluded: [] };
  const { options } = partRequest(
    spec,
    request,
    contextFor(new SimulatedNetwork()),
  );
  assertEquals([options.engine, options.interface, options.optOutFile], ["packet", "eth9", "/x"]);
  assertThrows(
    () =>
      partRequest(
        spec,
        { ...request, worker: { ...worker, engine: undefined } },
        contextFor(new SimulatedNetwork()),
      ),
    InputError,
    "Cannot use --interface",
  );
});

Deno.test("a part whose targets have another order than the campaign's is refused", async () => {
  const spec = await submitted();
  const configuration = { ...spec.configuration, order: "00".repeat(32) };
  await assertRejects(
    () => preparedPart({ ...spec, configuration }, {}),
    InputError,
    "Cannot scan: this program's default ports, or the addresses that are never probed, differ",
  );
});

Deno.test("a part needs the permission that the submitter confirmed", async () => {
  const spec = await submitted({ iHavePermission: true, contact: "abuse@example.org" }, [
    "8.8.8.0/22",
  ]);
  assertEquals((await preparedPart(spec, {})).whole.publicSize, 1024n);
  const { words, given } = spec.configuration.given;
  const options = new Map(given);
  options.delete("i-have-permission");
  const configuration = { ...spec.configuration, given: { words, given: options } };
  await assertRejects(
    () => preparedPart({ ...spec, configuration }, {}),
    InputError,
    "Cannot scan 1,024 public addresses without iHavePermission",
  );
});

Deno.test("a part continues at the positions of its lease, which have to exist", async () => {
  const spec = await submitted({ protocol: ["raknet"], retries: 0 });
  const from = { udp: { pass: 1, position: 100 }, tcp: START.tcp };
  assertEquals((await preparedPart(spec, { from })).selection.order.from, from);
  const far = { ...from, udp: { pass: 1, position: 1e6 } };
  await assertRejects(() => preparedPart(spec, { from: far }), InputError, "Cannot start from");
});

Deno.test("the parts of a campaign find every server, from where earlier workers stopped", async () => {
  const spec = await submitted({ protocol: ["raknet"], retries: 0, rate: 400 });
  const found: string[] = [];
  let expected: string[] = [];
  for (let part = 1; part <= 3; part++) {
    const network = new SimulatedNetwork();
    const servers = network.addFleet({ range: "10.0.0.0/21", servers: 60, software: ["bds"] });
    expected = servers.map(({ host, port }) => `${host}:${port}`);
    let from = START;
    for (const seconds of [1, 1e6]) {
      const scan = await preparedPart(spec, { part, from }, network);
      const limits = { ...scan.limits, maxRuntimeMs: seconds * 1000 };
      const signal = new AbortController().signal;
      const { end } = await network.run(runPreparedScan({ ...scan, limits }, WRITES_NOTHING, {
        signal,
        begin: () => [{
          write: (rows) => {
            found.push(
              ...rows.map(({ host, port }) =>
                formatEndpoint({ address: parseAddress(host)!, port })
              ),
            );
            return Promise.resolve();
          },
          flush: () => Promise.resolve(),
          position: () => 0,
          [Symbol.asyncDispose]: () => Promise.resolve(),
        }],
      }));
      assertEquals(end.reason, seconds === 1 ? "max-runtime" : "done");
      assert(end.marks.udp.position + end.marks.udp.pass > 1, "nothing was visited");
      from = end.marks;
    }
  }
  assertEquals([...new Set(found)].toSorted(), expected.toSorted());
});
