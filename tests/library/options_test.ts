/**
 * The options of the library have the names and defaults of the command line.
 *
 * Covers src/library/.
 */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { camelCase, propertyName } from "../../src/app/options/option.ts";
import { optionsOf, type ProgramNamesOf } from "../../src/app/options/option_table.ts";
import { readOptions } from "../../src/app/options/read_options.ts";
import { InputError } from "../../src/core/errors.ts";
import { givenOptions, programNameOf } from "../../src/library/given_options.ts";
import type { CommonOptions } from "../../src/library/common_options.ts";
import { lan, type LanOptions } from "../../src/library/lan.ts";
import { query } from "../../src/library/query.ts";
import type { QueryOptions } from "../../src/library/query_host.ts";
import { scan } from "../../src/library/scan.ts";
import type { ScanOptions } from "../../src/library/scan_options.ts";
import { watch } from "../../src/library/watch.ts";
import type { WatchOptions } from "../../src/library/watch_options.ts";
import { SimulatedNetwork } from "../../src/testing/simulated_network.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { readCommandLine } from "../cli/command_line.ts";

/** Options that only the library has. */
const OF_PROGRAMS = ["network", "onNote", "signal"];

interface Interface {
  readonly properties: readonly { readonly name: string }[];
  readonly extends?: readonly { readonly repr: string }[];
}

/** The interfaces that the library exports, by name. */
async function interfaces(): Promise<Map<string, Interface>> {
  const path = new URL("../../src/mod.ts", import.meta.url).pathname;
  const { stdout } = await new Deno.Command("deno", { args: ["doc", "--json", path] }).output();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  const modules: { symbols: { name: string; declarations: { def: Interface }[] }[] }[] = Object
    .values(nodes);
  return new Map(
    modules.flatMap(({ symbols }) =>
      symbols.map(({ name, declarations: [{ def }] }) => [name, def])
    ),
  );
}

/** The names of an interface's properties, including inherited ones. */
function properties(all: ReadonlyMap<string, Interface>, name: string): string[] {
  const { properties: own, extends: parents = [] } = all.get(name)!;
  return [...own.map((one) => one.name), ...parents.flatMap(({ repr }) => properties(all, repr))];
}

Deno.test("options of the library have the names of the command line", async () => {
  const all = await interfaces();
  for (const command of ["scan", "query", "lan", "watch"] as const) {
    const known = optionsOf(command).map(({ name }) => camelCase(name));
    const given = properties(all, `${command[0].toUpperCase()}${command.slice(1)}Options`);
    const unknown = given.filter((name) => !OF_PROGRAMS.includes(name))
      .filter((name) => !known.includes(name.replace(/Ms$/, "")));
    assertEquals(unknown, [], command);
  }
});

type Same<A, B> = [A] extends [B] ? [B] extends [A] ? true : false : false;

/** The names of the options that only one function has, or some. */
type OwnNames<Options> = Exclude<keyof Options, keyof CommonOptions>;

Deno.test("the options of a function are exactly those of its command that are for programs", () => {
  const scan: Same<OwnNames<ScanOptions>, ProgramNamesOf<"scan">> = true;
  const query: Same<OwnNames<QueryOptions>, ProgramNamesOf<"query">> = true;
  const lan: Same<OwnNames<LanOptions>, ProgramNamesOf<"lan"> | "onceMs"> = true;
  const watch: Same<OwnNames<WatchOptions>, ProgramNamesOf<"watch">> = true;
  assert(scan && query && lan && watch);
});

/** The values of a command's options from a program. */
function fromProgram(command: typeof COMMANDS[number][0], options: object) {
  const given = givenOptions(command, ["10.0.0.1"], options);
  return readOptions(command, given, {
    allProtocols: PROTOCOLS,
    nameOf: programNameOf(command),
  });
}

/** Options of a program, and the arguments with the same meaning. */
type Both<Options> = readonly (readonly [Options, readonly string[]])[];

/** Each option of a scan. */
const SCAN: Both<ScanOptions> = [
  [{}, []],
  [{ inputFile: ["a", "b"] }, ["--input-file", "a", "--input-file", "b"]],
  [{ rescan: "a.db" }, ["--rescan", "a.db"]],
  [{ exclude: ["10.0.0.1", "10.0.0.2"] }, ["--exclude", "10.0.0.1", "--exclude", "10.0.0.2"]],
  [{ excludeFile: ["a"] }, ["-b", "a"]],
  [{ ports: "19132,T:25565" }, ["-p", "19132,T:25565"]],
  [{ protocol: ["slp", "raknet"] }, ["--protocol", "slp,raknet"]],
  [{ allowPrivate: true, iHavePermission: true }, ["--allow-private", "--i-have-permission"]],
  [{ contact: "https://example.org/scan" }, ["--contact", "https://example.org/scan"]],
  [{ allowPrivate: false, strict: true }, ["--strict"]],
  [{ seed: 7, shard: { index: 2, count: 3 } }, ["--seed", "7", "--shard", "2/3"]],
  [{ noRandomize: true }, ["--no-randomize"]],
  [{ from: "2:15,T:1:3", seed: 1 }, ["--from", "2:15,T:1:3", "--seed", "1"]],
  [{ rate: 0.5, netRate: "off", hostRate: 3 }, [
    ...["--rate", "0.5", "--net-rate", "off", "--host-rate", "3"],
  ]],
  [{ rate: "auto" }, ["--rate", "auto"]],
  [{ rate: "auto:5000", bandwidth: 1e6 }, ["--rate", "auto:5000", "--bandwidth", "1M"]],
  [{ concurrency: 9, timeoutMs: 250.5, retries: 3, cooldownMs: 0 }, [
    ...["-c", "9", "-t", "250.5ms", "--retries", "3", "--cooldown", "0ms"],
  ]],
  [{ noFollow: true, verify: true, noPlayers: true }, ["--no-follow", "--verify", "--no-players"]],
  [{ engine: "xdp", threads: 2, interface: "eth0" }, [
    ...["--engine", "xdp", "--threads", "2", "--interface", "eth0"],
  ]],
  [{ gatewayMac: "02:00:5e:10:00:01", sourcePort: 40000, sourceIp: "10.0.0.9" }, [
    ...["--gateway-mac", "02:00:5e:10:00:01", "--source-port", "40000", "--source-ip", "10.0.0.9"],
  ]],
  [{ output: ["a.csv", "b.db"], format: "csv", append: true, fields: ["host", "port"] }, [
    ...["-o", "a.csv", "-o", "b.db", "--format", "csv", "--append", "-f", "host,port"],
  ]],
  [{ downAfter: 2, keepMs: 90 * 86_400_000, textIndex: true, partitionByMonth: true }, [
    ...["--down-after", "2", "--keep", "90d", "--text-index", "--partition-by-month"],
  ]],
  [{ adaptive: true, budget: "50%", stopBelow: 0.5, known: "k.csv", netBudget: 512 }, [
    ...["--adaptive", "--budget", "50%", "--stop-below", "0.5/M", "--known", "k.csv"],
    ...["--net-budget", "512"],
  ]],
  [{ adaptive: true, budget: 5000 }, ["--adaptive", "--budget", "5k"]],
  [{ maxTargets: 5, maxResults: 6, maxRuntimeMs: 90_000 }, [
    ...["--max-targets", "5", "--max-results", "6", "--max-runtime", "90s"],
  ]],
  [{ optOutFile: "o", checkpoint: "c", statusFile: "s", metadataFile: "m" }, [
    ...["--opt-out-file", "o", "--checkpoint", "c", "--status-file", "s", "--metadata-file", "m"],
  ]],
  [{ resume: "r", metrics: 9100 }, ["--resume", "r", "--metrics", "9100"]],
  [{ tag: ["a", "b, c"] }, ["--tag", "a", "--tag", "b, c"]],
];

/** Each option of a query. */
const QUERY: Both<QueryOptions> = [
  [{}, []],
  [{ protocol: ["slp", "raknet"], allowPrivate: true }, [
    ...["--protocol", "slp,raknet", "--allow-private"],
  ]],
  [{ timeoutMs: 250.5, retries: 3 }, ["-t", "250.5ms", "--retries", "3"]],
  [{ verify: true, noPlayers: true }, ["--verify", "--no-players"]],
];

/** Each option of a discovery. */
const LAN: Both<LanOptions> = [
  [{}, []],
  [{ ports: "19132,19140-19142", noSweep: true }, ["-p", "19132,19140-19142", "--no-sweep"]],
  [{ noPlayers: true, optOutFile: "o" }, ["--no-players", "--opt-out-file", "o"]],
];

/** Each option of a watch. */
const WATCH: Both<WatchOptions> = [
  [{}, []],
  [{ inputFile: ["-"] }, ["-iL", "-"]],
  [{ inputFile: ["a"] }, ["--input-file", "a"]],
  [{ protocol: ["raknet"], allowPrivate: true }, ["--protocol", "raknet", "--allow-private"]],
  [{ intervalMs: 5000.5, downAfter: 100, backoff: true }, [
    ...["--interval", "5000.5ms", "--down-after", "100", "--backoff"],
  ]],
  [{ rate: 0.5, concurrency: 9, timeoutMs: 250, retries: 0 }, [
    ...["--rate", "0.5", "-c", "9", "-t", "250ms", "--retries", "0"],
  ]],
  [{ tag: ["a", "b, c"] }, ["--tag", "a", "--tag", "b, c"]],
  [{ names: true, strict: true, optOutFile: "o" }, ["--names", "--strict", "--opt-out-file", "o"]],
  [{ contact: "abuse@example.org" }, ["--contact", "abuse@example.org"]],
  [{ output: ["a.db", "b.db"], keepMs: 90 * 86_400_000 }, [
    ...["-o", "a.db", "-o", "b.db", "--keep", "90d"],
  ]],
  [{ textIndex: true, partitionByMonth: true }, ["--text-index", "--partition-by-month"]],
  [{ metrics: 9100, metricsInfo: true, probe: true }, [
    ...["--metrics", "9100", "--metrics-info", "--probe"],
  ]],
  [{ metrics: "0.0.0.0:9100", probeAllow: ["10.0.0.0/24", "a.example"], probeTokenFile: "t" }, [
    ...["--metrics", "0.0.0.0:9100", "--probe-allow", "10.0.0.0/24"],
    ...["--probe-allow", "a.example", "--probe-token-file", "t"],
  ]],
  [{ webhook: "https://u:p@h.example/s", webhookFormat: "discord", webhookOutbox: "s" }, [
    ...["--webhook", "https://u:p@h.example/s", "--webhook-format", "discord"],
    ...["--webhook-outbox", "s"],
  ]],
  [{ webhookEvents: ["online", "offline"], webhookTemplate: "t", webhookSecret: "env:KEY" }, [
    ...["--webhook-events", "online,offline", "--webhook-template", "t"],
    ...["--webhook-secret", "env:KEY"],
  ]],
  [{ webhook: "@u", webhookSecret: "@k", webhookHeader: ["a=@f", "b=env:B"] }, [
    ...["--webhook", `@${absolute("u")}`, "--webhook-secret", `@${absolute("k")}`],
    ...["--webhook-header", `a=@${absolute("f")}`, "--webhook-header", "b=env:B"],
  ]],
];

/** Options whose values are paths. */
const PATHS = new Set([
  ...["--input-file", "--rescan", "--known", "-b", "-o", "--opt-out-file", "--checkpoint"],
  ...["--status-file", "--metadata-file", "--resume"],
  ...["--probe-token-file", "--webhook-template", "--webhook-outbox"],
]);

/** The absolute path of a file. Paths of programs do not depend on the folder of a task. */
function absolute(name: string): string {
  return `${Deno.cwd()}/${name}`;
}

const COMMANDS = [["scan", SCAN], ["query", QUERY], ["lan", LAN], ["watch", WATCH]] as const;

for (const [command, each] of COMMANDS) {
  Deno.test(`each option of ${command} has the same value from a program and the command line`, () => {
    const named = new Set(each.flatMap(([options]) => Object.keys(options)));
    for (const [options, args] of each) {
      const paths = args.map((arg, i) => PATHS.has(args[i - 1]) ? absolute(arg) : arg);
      const { options: expected } = readCommandLine(command, ["10.0.0.1", ...paths]);
      assertEquals(fromProgram(command, options), expected, JSON.stringify(options));
    }
    const all = optionsOf(command).filter(({ forPrograms = true }) => forPrograms).map(
      propertyName,
    );
    assertEquals(all.filter((name) => !named.has(name)), []);
  });
}

Deno.test("wrong values of a program are refused by the names of its options", () => {
  const refused: readonly (readonly [object, string])[] = [
    [{ retries: 9 }, 'Cannot use retries "9": expected a whole number from 0 to 3'],
    [{ timeoutMs: 0 }, 'Cannot use timeoutMs "0ms": it must be at least 1 ms'],
    [{ timeoutMs: NaN }, 'Cannot use timeoutMs "NaNms"'],
    [{ maxRuntimeMs: Infinity }, 'Cannot use maxRuntimeMs "Infinityms"'],
    [{ timeoutMs: "2s" }, "Cannot use timeoutMs 2s: expected a number"],
    [{ rate: -1 }, 'Cannot use rate "-1"'],
    [{ rate: {} }, "Cannot use rate [object Object]: expected a text or a number"],
    [{ verify: "yes" }, "Cannot use verify yes: expected true or false"],
    [{ exclude: "10.0.0.1" }, "Cannot use exclude 10.0.0.1: expected a list of texts"],
    [{ exclude: [["10.0.0.1"]] }, "Cannot use exclude [10.0.0.1]: expected a list of texts"],
    [{ exclude: [undefined] }, "Cannot use exclude [undefined]: expected a list of texts"],
    [{ tag: [""] }, "Cannot use tag: it is empty"],
    [{ protocol: "raknet" }, "Cannot use protocol raknet: expected a list of texts"],
    [{ protocol: [] }, "Cannot use protocol: it is empty"],
    [{ fields: [] }, "Cannot use fields: it is empty"],
    [{ checkpoint: "" }, "Cannot use checkpoint: it is empty"],
    [{ rescan: ["a.db"] }, "Cannot use rescan [a.db]: expected a text or a number"],
    [{ ports: null }, "Cannot use ports null: expected a text or a number"],
    [{ shard: "1-2" }, 'Cannot use shard "1-2"'],
    [{ signal: new AbortController() }, "Cannot use signal [object AbortController]: expected an"],
    [{ onNote: "x" }, "Cannot use onNote x: expected a function"],
    [{ network: {} }, "Cannot use network [object Object]: expected a network"],
    [["10.0.0.1"], "Cannot use the options of scan() [10.0.0.1]: expected an object"],
    [{ excludes: ["10.0.0.1"] }, "Unknown option excludes of scan(); did you mean exclude?"],
    [{ "i-have-permission": true }, "did you mean iHavePermission?"],
    [{ timeout: 5 }, "did you mean timeoutMs?"],
    [{ json: true }, "Unknown option json of scan(); see docs/library.md"],
    [{ onceMs: 5 }, "Unknown option onceMs of scan()"],
    [{ shard: { index: 5, count: 3 } }, 'Cannot use shard "5/3"'],
    [{ engine: "fast" }, 'Cannot use engine "fast"'],
  ];
  for (const [options, message] of refused) {
    assertThrows(() => fromProgram("scan", options), InputError, message);
  }
});

Deno.test("every function refuses unknown options, and targets of a wrong type", async () => {
  const network = new SimulatedNetwork({ local: "10.0.0.2/24" });
  const options = { network, retry: 1 } as never;
  const calls: readonly (readonly [() => Promise<unknown>, string])[] = [
    [() => Array.fromAsync(scan(["10.0.0.7"], options)), "Unknown option retry of scan()"],
    [() => Array.fromAsync(watch(["10.0.0.7"], options)), "Unknown option retry of watch()"],
    [() => Array.fromAsync(lan(options)), "Unknown option retry of lan()"],
    [() => query("10.0.0.7", options), "Unknown option retry of query()"],
    [
      () => Array.fromAsync(scan("10.0.0.7" as never, { network })),
      "Cannot use targets 10.0.0.7: expected a list of texts",
    ],
    [
      () => Array.fromAsync(watch([7] as never, { network })),
      "Cannot use servers [7]: expected a list of texts",
    ],
    [
      () => query(["10.0.0.7"] as never, { network }),
      "Cannot use host [10.0.0.7]: expected a text",
    ],
    [() => Array.fromAsync(lan({ network, onceMs: "3" as never })), "expected a number"],
  ];
  for (const [call, message] of calls) {
    await assertRejects(() => network.run(call()), InputError, message);
  }
});

Deno.test("every function names the setting of deno.json without which there are no UDP sockets", async () => {
  const program = `
    import { lan, query, scan, watch } from "${new URL("../../src/mod.ts", import.meta.url)}";
    const targets = ["127.0.0.1:1"];
    const calls = [scan(targets), watch(targets), lan()].map((one) => () => Array.fromAsync(one));
    for (const call of [...calls, () => query(targets[0])]) {
      await call().catch(({ name, message }) => console.log(name, message));
    }`;
  const path = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(path, program);
    const args = ["run", "--no-config", "--import-map=std/imports.json", "-A", path];
    const { stdout, stderr } = await new Deno.Command("deno", { args }).output();
    const line =
      'InputError Cannot open UDP sockets: write "unstable": ["net"] into deno.json, or run with --unstable-net\n';
    const [out, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assertEquals(out, line.repeat(4), error);
  } finally {
    await Deno.remove(path);
  }
});
