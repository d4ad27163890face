/**
 * Covers src/app/targets/scan_plan.ts, src/app/targets/require_permission.ts,
 * src/app/scan/scan_choice.ts, src/scan/setup/requested_names.ts, src/targets/shipped_lists.ts,
 * src/targets/permission.ts and src/targets/density.ts.
 */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { type Address, endpointKey, parseAddress } from "../../../src/core/address.ts";
import { readCommandLine } from "../../cli/command_line.ts";
import { planLines } from "../../../src/cli/commands/scan/dry_run.ts";
import { planScan } from "../../../src/app/targets/scan_plan.ts";
import { requirePermission } from "../../../src/app/targets/require_permission.ts";
import { clockTime } from "../../../src/core/quantities.ts";
import { scanChoice, scanSelection } from "../../../src/app/scan/scan_choice.ts";
import { scanLimits } from "../../../src/app/engines/scan_rates.ts";
import {
  composeTargets,
  findTargets,
  type NamedTargets,
  type TargetInput,
} from "../../../src/app/targets/find_targets.ts";
import { type Lookups, MistakenName } from "../../../src/app/names/name_lookup.ts";
import { requestedName } from "../../../src/scan/setup/requested_names.ts";
import { parseTargets } from "../../../src/targets/parse.ts";
import type { Range } from "../../../src/targets/ranges.ts";
import { InputError } from "../../../src/core/errors.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const NAMES: Record<string, readonly string[]> = {
  "two.example": ["10.0.0.1", "fc00::1"],
  "same.example": ["10.0.0.1"],
};

const resolve = (name: string) => {
  const found = NAMES[name];
  if (found === undefined) return Promise.reject(new InputError(`Cannot find host "${name}"`));
  return Promise.resolve(found.map((text) => parseAddress(text)!));
};

const collect = async (
  { optedOut = [], ...input }: Partial<TargetInput & { optedOut: readonly Range[] }>,
) =>
  composeTargets(
    await findTargets({ words: [], files: [], exclude: [], excludeFiles: [], ...input }, {
      resolve,
      note: unexpected,
      allowPrivate: true,
    }),
    optedOut,
  );

const unexpected = (text: string) => {
  throw new Error(text);
};

Deno.test("words, lists, files and names become targets", async () => {
  const { targets, names } = await collect({
    words: ["10.0.0.0/30,10.0.0.9", "two.example"],
    files: [{ text: "10.0.1.1:99 # home\n10.0.1.2", source: "list.txt" }],
  });
  assertEquals(targets.size, 4n + 1n + 1n + 2n);
  assertEquals([...names], [[0x0a000001, "two.example"], [
    parseAddress("fc00::1")!,
    "two.example",
  ]]);
  assert(
    targets.groups.some(({ ports, usesScanPorts }) => ports.join() === "99" && !usesScanPorts),
  );
});

Deno.test("each known server keeps the name that it has, also beside another server of its address", async () => {
  const address = 0x0a000063;
  const at = (port: number) => ({ address, port });
  const service = { name: "srv.example", service: { host: "mc.example", port: 3 } };
  const servers = [
    { endpoint: at(1), protocols: [], name: "play.example" },
    { endpoint: at(2), protocols: [] },
    { endpoint: at(3), protocols: [], service },
    { endpoint: at(4), protocols: [] }, // a second row of this endpoint has a name
    { endpoint: at(4), protocols: [], name: "other.example" },
    { endpoint: { address: 0x0a000001, port: 1 }, protocols: [], name: "old.example" },
  ];
  const known = { servers, optedOut: [] };
  const targets = await collect({ words: ["same.example"], known });
  const requested = [1, 2, 3, 4].map((port) => requestedName(targets, at(port)).column);
  assertEquals(requested, [
    "play.example",
    null,
    "srv.example SRV mc.example:3",
    "other.example",
  ]);
  assertEquals(requestedName(targets, at(2)).sent, null);
  assertEquals(requestedName(targets, at(3)).sent, "srv.example");
  // The name on the command line comes first.
  const { column } = requestedName(targets, { address: 0x0a000001, port: 1 });
  assertEquals(column, "same.example");
});

Deno.test("names that lead to one address are all requests of it, those of known servers too", async () => {
  const address = 0x0a000001;
  const servers = [
    { endpoint: { address, port: 4 }, protocols: [], name: "old.example" },
    { endpoint: { address, port: 5 }, protocols: [] },
    { endpoint: { address: 0x0a000063, port: 5 }, protocols: [], name: "single.example" },
    { endpoint: { address: 0x0a000064, port: 5 }, protocols: [] },
  ];
  const known = { servers, optedOut: [] };
  const { requests } = await collect({ words: ["same.example:4", "two.example"], known });
  assertEquals([...requests!], [[address, [
    { address, port: 4, requestedAs: "same.example" },
    { address, port: undefined, requestedAs: "two.example" },
    { address, port: 4, requestedAs: "old.example" },
    { address, port: 5, requestedAs: null },
  ]]]);
  assertEquals((await collect({ words: ["same.example", "10.0.0.1"] })).requests, undefined);
});

Deno.test("the target of an SRV record is a target of the scan when the name has no port", async () => {
  const queried: string[] = [];
  const service = { host: "two.example", port: 25570 };
  const findService = (name: string) => {
    queried.push(name);
    return Promise.resolve(name.startsWith("same") ? service : undefined);
  };
  const collectLed = async (words: string[], exclude: string[] = []) =>
    composeTargets(
      await findTargets({ words, files: [], exclude, excludeFiles: [] }, {
        resolve,
        findService,
        note: unexpected,
        allowPrivate: true,
      }),
      [],
    );
  const { targets, names, services } = await collectLed(["same.example", "two.example:9"]);
  const fc = parseAddress("fc00::1")!;
  const portsOf = (address: Address) =>
    targets.groups.filter(({ addresses }) => [...addresses].some(({ start }) => start === address))
      .map(({ ports, usesScanPorts }) => `${ports.join()} ${usesScanPorts}`);
  assertEquals([portsOf(0x0a000001), portsOf(fc)], [["9,25570 true"], ["9,25570 false"]]);
  assertEquals(names.get(0x0a000001), "two.example"); // the last one is used
  const named = { name: "same.example", service };
  assertEquals(
    [...services],
    [0x0a000001, fc].map((address) => [
      endpointKey({ address, port: 25570 }),
      named,
    ]),
  );
  assertEquals(queried, ["same.example"]);
  queried.length = 0;
  const typed = await collectLed(["same.example:25565", "same.example"]); // as in the game
  assertEquals([[...typed.services], queried], [[...services], ["same.example"]]);
  queried.length = 0;
  const excluded = await collectLed(["10.0.0.0/30"], ["same.example"]);
  assertEquals([excluded.targets.size, queried, excluded.services.size], [3n, [], 0]);
  const lines = dryRun(await collectLed(["same.example"]));
  assert(lines.includes("SRV records  same.example SRV two.example:25570"));
  const without = dryRun(await collectLed(["two.example"]));
  assert(!without.some((line) => line.startsWith("SRV")));
});

/** The lines of a dry run. */
function dryRun(named: NamedTargets): string[] {
  const { options } = readCommandLine("scan", ["--protocol", "slp"]);
  const choice = scanChoice(options, () => 1);
  const limits = scanLimits(options, named.targets, choice);
  const selection = scanSelection(choice, named);
  return planLines({
    plan: planScan({ ...selection, limits }),
    whole: named.targets,
    named,
    selection,
    limits,
    options,
    outputs: [],
    databases: { locations: [], downAfter: 3 },
    threads: 0,
    engine: { name: "portable" },
  });
}

Deno.test("exclusions come from words, files and names", async () => {
  const { targets } = await collect({
    words: ["10.0.0.0/24"],
    exclude: ["10.0.0.0/28", "same.example"],
    excludeFiles: [{ text: "10.0.0.128/25\n", source: "no.txt" }],
  });
  assertEquals(targets.size, 256n - 16n - 128n);
});

Deno.test("an IPv4-mapped exclusion excludes its IPv4 addresses, from words, files and names", async () => {
  const mapped = ["::ffff:10.0.0.0/124", "::ffff:10.0.0.32-::ffff:10.0.0.47", "mapped.example"];
  const found = await findTargets({
    ...{ words: ["10.0.0.0/24"], files: [], exclude: mapped },
    excludeFiles: [{ text: "::ffff:a00:80/121\n::/64\n", source: "no.txt" }],
  }, { resolve: () => Promise.resolve([parseAddress("::ffff:10.0.0.64")!]), note: () => {} });
  const words = ["10.0.0.0/28", "10.0.0.32-10.0.0.47", "10.0.0.64", "10.0.0.128/25", "::/64"];
  const ranges = words.flatMap((word) => parseTargets(word)).map((one) =>
    "range" in one && one.range
  );
  assertEquals<unknown>(found.excluded, ranges);
});

Deno.test("a range of an exclusion file with tabs or a hyphen between its addresses is whole", async () => {
  const files = ["10.0.0.4\t\t10.0.0.6\tArmy", "10.0.0.4 - 10.0.0.6", "10.0.0.4-10.0.0.6 # x"];
  for (const text of files) {
    const input = { words: ["10.0.0.0/28"], excludeFiles: [{ text, source: "no.txt" }] };
    const found = await findTargets({ files: [], exclude: [], ...input }, {
      resolve: () => Promise.reject(new Error("no name is looked up")),
      note: () => {},
    });
    assertEquals<unknown>(found.excluded, [{ start: 0x0a000004, end: 0x0a000007 }], text);
  }
});

Deno.test("an opted-out address keeps its position in the order, and is counted", async () => {
  const input = { words: ["10.0.0.0/24"], optedOut: [{ start: 0x0a000020, end: 0x0a000022 }] };
  const { targets, optedOut, optedOutSize } = await collect(input);
  assertEquals([targets.size, optedOut, optedOutSize], [256n, input.optedOut, 2n]);
});

Deno.test("a target that must not be probed is refused with the reason", async () => {
  const refused = (input: Partial<TargetInput>, message: string) =>
    assertRejects(() => collect(input), InputError, message);
  await refused({}, "Cannot scan: name addresses");
  await refused({ words: ["unknown.example"] }, 'Cannot find host "unknown.example"');
  await refused({ words: ["224.0.0.1"] }, "never probed: multicast");
  await refused(
    { words: ["10.0.0.1"], exclude: ["10.0.0.0/8"] },
    "no target is left (excluded, or opted out)",
  );
  await refused(
    { words: ["9.255.255.255-10.0.0.1"], exclude: ["9.0.0.0/8"] },
    "private; name a range inside",
  );
  await refused(
    { files: [{ text: "10.0.0.1\n10.0.0.0/33", source: "list.txt" }] },
    "list.txt:2: Cannot parse",
  );
  await refused(
    { files: [{ text: "", source: "standard input" }] },
    "Cannot use standard input: it contains no targets",
  );
});

Deno.test("targets, exclusions and files share one limit on octet ranges", async () => {
  const wide = (n: number) => `11-74.0-255.${n}.1-254`; // 16,384 ranges
  const file = (...texts: string[]) => [{ text: texts.join("\n"), source: "list.txt" }];
  const refused = (input: Partial<TargetInput>, word: string) =>
    assertRejects(
      () => collect(input),
      InputError,
      `Cannot parse range "${word}": together with the words before it, it expands to more than`,
    );
  const five = [1, 2, 3, 4, 5].map(wide);
  await refused({ words: five }, wide(5));
  await refused({ files: file(...five) }, wide(5));
  await refused({ words: five.slice(0, 2), files: file(...five.slice(2)) }, wide(5));
  await refused({ words: ["10.0.0.1"], exclude: five }, wide(5));
  await refused({ words: five.slice(0, 4), excludeFiles: file(wide(6)) }, wide(6));
  const many = Array.from(
    { length: 66_000 },
    (_, i) => `${10 + (i >> 16)}.${i >> 8 & 255}.${i & 255}.1-2`,
  );
  assertEquals((await collect({ files: file(...many) })).targets.size, 132_000n); // one range each
});

async function plan(words: string[], rates = { rate: 1000, netRate: 50, hostRate: 5 }, over = {}) {
  const named = await collect({ words });
  const given = scanChoice(readCommandLine("scan", []).options, () => 1);
  const chosen = { ...given, protocols: PROTOCOLS.slice(0, 1), ...over };
  const limits = { retries: 1, rates };
  return { ...named, plan: planScan({ ...scanSelection(chosen, named), limits }) };
}

Deno.test("the plan names the limit that determines the duration", async () => {
  const wide = await plan(["10.0.0.0/16"]);
  assertEquals([wide.plan.limitedBy, wide.plan.passes.udp.sizes], ["rate", [65536, 65536]]);
  assertEquals(wide.plan.seconds, 2 * 65.536);
  const narrow = await plan(["10.0.0.0/24"]);
  assertEquals([narrow.plan.limitedBy, narrow.plan.seconds], ["net-rate", 2 * 256 / 50]);
  const ports = () => Array.from({ length: 1000 }, (_, i) => i + 1);
  const host = await plan(["10.0.0.1"], undefined, { ports });
  assertEquals([host.plan.limitedBy, host.plan.seconds], ["host-rate", 2 * 1000 / 5]);
  const none = { rate: undefined, netRate: undefined, hostRate: undefined };
  assertEquals((await plan(["127.0.0.1"], none as never)).plan.limitedBy, "nothing");
  assertEquals([clockTime(0.2), clockTime(3725), clockTime(Infinity)], [
    "00:00:01",
    "01:02:05",
    "?",
  ]);
});

Deno.test("public addresses, and more than a million private ones, need the user's confirmation", async () => {
  const queries = async (...words: string[]) => {
    const made = await plan(words);
    assertThrows(
      () => requirePermission(made.targets, made.plan, false),
      InputError,
      "--i-have-permission",
    );
    requirePermission(made.targets, made.plan, true);
  };
  await queries("8.8.8.8");
  await queries("10.0.0.0/8");
  await queries("2600::/120");
  for (const free of ["10.0.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "fc00::/112"]) {
    const made = await plan([free]);
    requirePermission(made.targets, made.plan, false);
  }
});

/** The sizes and lines of a search for names, of which dead ones are missing. */
async function searched(
  input: Partial<TargetInput>,
  options: { strict?: boolean; resolve?: Lookups["resolve"] } = {},
) {
  const [notes, warnings]: string[][] = [[], []];
  const { inclusions } = await findTargets(
    { words: [], files: [], exclude: [], excludeFiles: [], ...input },
    {
      resolve,
      note: (line) => notes.push(line),
      warn: (line) => warnings.push(line),
      allowPrivate: true,
      ...options,
    },
  );
  return { found: inclusions.length, notes, warnings };
}

const LIST = {
  text: "dead.example\n10.0.1.1\nsame.example\ngone.example:25565 dead.example\n",
  source: "list.txt",
};

Deno.test("names that are not found are counted, named with their lines, and left out", async () => {
  assertEquals(await searched({ files: [LIST], words: ["off.example"] }), {
    found: 2,
    warnings: ["blocksweep: left out 3 names that cannot be found"],
    notes: [
      'Cannot find host "off.example"',
      'list.txt:1: Cannot find host "dead.example"',
      'list.txt:4: Cannot find host "gone.example"',
    ],
  });
  const many = Array.from({ length: 30 }, (_, i) => `dead${i}.example`).join("\n");
  const { notes, warnings } = await searched({ files: [{ text: `${many}\n::1`, source: "a" }] });
  assertEquals(warnings, ["blocksweep: left out 30 names that cannot be found"]);
  assertEquals([notes.length, notes[9], notes[10]], [
    11,
    'a:10: Cannot find host "dead9.example"',
    "... and 20 more such names",
  ]);
});

Deno.test("names that are not found are refused when no target is left, and with strict", async () => {
  const dead = { text: "# none\ndead.example", source: "list.txt" };
  const refused: readonly (readonly [Parameters<typeof searched>, string])[] = [
    [[{ files: [dead] }], 'list.txt:2: Cannot find host "dead.example"'],
    [[{ files: [dead], words: ["dead.example", "off.example"] }], "Cannot find 2 names"],
    [[{ files: [LIST] }, { strict: true }], "Cannot find 2 names"],
    [[{ files: [dead], words: ["::1"] }, { strict: true }], 'list.txt:2: Cannot find host "dead'],
    // without the exclusion, the scan would probe what it must not
    [[{ words: ["::1"], exclude: ["off.example"] }], 'Cannot find host "off.example"'],
    [[{ words: ["::1"], excludeFiles: [dead] }], 'list.txt:2: Cannot find host "dead.example"'],
  ];
  for (const [args, message] of refused) {
    await assertRejects(() => searched(...args), InputError, message);
  }
});

Deno.test("a protocol that is read as a name is refused, whatever other targets are left", async () => {
  const resolveHere = () => Promise.reject(new MistakenName('Cannot find host "slp": hint'));
  const found = searched({ words: ["::1", "slp"] }, { resolve: resolveHere });
  await assertRejects(() => found, MistakenName, "hint");
});

Deno.test("a list's names are looked up at the same time, each once, and no more than 16", async () => {
  let [pending, most, count] = [0, 0, 0];
  const slowly = async () => {
    count++;
    most = Math.max(most, ++pending);
    await Promise.resolve();
    pending--;
    return [0x0a000001];
  };
  const names = Array.from({ length: 100 }, (_, i) => `host${i % 50}.example:${i + 1}`);
  const { found } = await searched({ words: names }, { resolve: slowly });
  assertEquals([found, count, most], [100, 50, 16]);
});
