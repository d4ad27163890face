import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { type Address, endpointKey, parseAddress } from "../../../src/core/address.ts";
import { readArgs } from "../../../src/cli/options/parse_arguments.ts";
import {
  formatConfiguration,
  fullPath,
  lastingOptions,
  orderDigest,
  parseConfiguration,
} from "../../../src/app/resume/scan_configuration.ts";
import { optionsOnResume } from "../../../src/app/resume/read_resumed_scan.ts";
import { scanChoice } from "../../../src/app/scan/scan_choice.ts";
import { composeTargets } from "../../../src/app/targets/find_targets.ts";
import { readOptions } from "../../cli/command_line.ts";
import { optionsOf } from "../../../src/app/options/option_table.ts";
import { InputError } from "../../../src/core/errors.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const address = (text: string): Address => parseAddress(text)!;
/** The options of a scan. */
const OPTIONS = optionsOf("scan");
const values = (...args: string[]) => readArgs("scan", args);

const FOUND = {
  inclusions: [
    { range: { start: 0, end: 2 ** 32 }, port: undefined },
    { range: { start: address("10.0.0.1"), end: address("10.0.0.2") }, port: 25570 },
    { range: { start: address("fe80::"), end: 2n ** 128n }, port: undefined },
  ],
  excluded: [{ start: address("10.0.0.7"), end: address("10.0.1.0") }],
  known: [
    { endpoint: { address: address("fe80::1"), port: 9 }, protocols: ["sqp"] },
    { endpoint: { address: 7, port: 8 }, protocols: [] },
    { endpoint: { address: 8, port: 8 }, protocols: ["raknet", "query"] },
  ],
  names: new Map([[address("::1"), "a.example"]]),
  services: new Map([[endpointKey({ address: address("::1"), port: 9 }), {
    name: "play.example",
    service: { host: "mc.example", port: 9 },
  }]]),
};
/** Requests of an address by two names, and by no name. */
const REQUESTS = new Map([[7 as Address, [
  { address: 7, port: undefined, requestedAs: "a.example" },
  { address: 7, port: 8, requestedAs: "b.example SRV mc.example:8" },
  { address: 7, port: 8, requestedAs: null },
]]]);

Deno.test("a configuration is unchanged after writing and reading", () => {
  const configuration = {
    given: values("10.0.0.0/8", "::1", "-o", "a.csv", "-o", "b.json", "--verify", "--seed", "7"),
    found: FOUND,
    responders: [{ address: address("::1"), port: 9 }, { address: 1, port: 65535 }],
    scanId: "01928d5e-0000-7000-8000-000000000000",
    order: "0a".repeat(32),
  };
  const text = formatConfiguration(configuration);
  assertEquals(text.includes("\n"), false);
  assertEquals(parseConfiguration(text, OPTIONS, PROTOCOLS), configuration);
  const shared = { ...configuration, found: { ...FOUND, requests: REQUESTS } };
  assertEquals(parseConfiguration(formatConfiguration(shared), OPTIONS, PROTOCOLS), shared);
});

Deno.test("stored options have absolute paths and the random seed, and name no configuration file", () => {
  const { words, given } = lastingOptions(
    values("10.0.0.0/30", "-o", "a.csv", "-o", "-", "-p", "7", "--config", "x.json", "-iL", "/b"),
    42,
    OPTIONS,
  );
  assertEquals([words, Object.fromEntries(given)], [["10.0.0.0/30"], {
    "input-file": ["/b"],
    "ports": ["7"],
    "output": [`${Deno.cwd()}/a.csv`, "-"],
    "seed": ["42"],
  }]);
  assertEquals(lastingOptions(values(), undefined, OPTIONS).given.size, 0);
});

Deno.test("options of speed and display may change on resuming; every other change is refused by name", () => {
  const scan = values("10.0.0.0/30", "--rate", "5", "-p", "7", "--verify");
  const merged = optionsOnResume(
    scan,
    values("--rate", "9", "-q", "-p", "7", "10.0.0.0/30"),
    "x",
    OPTIONS,
  );
  assertEquals([merged.given.get("rate"), merged.given.has("quiet"), merged.given.get("ports")], [
    ["9"],
    true,
    ["7"],
  ]);
  assertThrows(
    () =>
      optionsOnResume(
        scan,
        values("10.0.0.0/31", "-p", "8", "--no-follow", "--from", "1:0"),
        "x",
        OPTIONS,
      ),
    InputError,
    'Cannot resume "x" with 10.0.0.0/31 (it has 10.0.0.0/30), --ports 8 (it has 7), ' +
      "--from 1:0 (it has none), --no-follow (it has none): these options cannot be changed",
  );
});

Deno.test("the digest of the order changes with targets and ports", () => {
  const order = (args: string[], excluded = FOUND.excluded) => {
    const chosen = scanChoice(readOptions("scan", values(...args)), () => 1);
    const inclusions = [{ range: { start: 0x0a000000, end: 0x0a010000 }, port: undefined }];
    const { targets } = composeTargets({ ...FOUND, inclusions, excluded }, []);
    return orderDigest(targets, chosen);
  };
  assertEquals(order([]), order(["--rate", "7"]));
  for (const other of [order(["-p", "7"]), order(["--protocol", "slp"]), order([], [])]) {
    assertNotEquals(other, order([]));
  }
});

Deno.test("a configuration has absolute paths, also of SQLite files, and URLs as they are", () => {
  const url = "postgres://writer@db.example.org/servers";
  for (const path of ["-", "/data/a.db", "sqlite:/data/a.db", url]) {
    assertEquals(fullPath(path), path);
  }
  assertEquals(fullPath("/data/../a.db"), "/a.db");
  assertEquals(fullPath("sqlite:/data/../a.db"), "sqlite:/a.db");
});
