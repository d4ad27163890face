/**
 * Types of values, and the options of every command whose value is a time.
 *
 * Covers src/app/options/value_types.ts and src/app/options/domain_value_types.ts.
 */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { readCommandLine, readOptions } from "../../cli/command_line.ts";
import { parseConfig } from "../../../src/app/options/config_file.ts";
import { main } from "../../../src/cli/mod.ts";
import { type Command, COMMAND_NAMES } from "../../../src/app/options/commands.ts";
import { optionsOf } from "../../../src/app/options/option_table.ts";
import {
  AGE,
  AGE_OR_NONE,
  BITS,
  CAP,
  COUNT,
  keyOf,
  listType,
  oneOfType,
  PERCENT,
  RATE,
  RATE_OR_AUTO,
  someOf,
  timeType,
  type ValueType,
  wholeNumberType,
} from "../../../src/app/options/value_types.ts";
import { BUDGET, HOST_NAME, YIELD } from "../../../src/app/options/domain_value_types.ts";
import { InputError } from "../../../src/core/errors.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { withMessages } from "../../cli/failing_streams.ts";

/** Other arguments that a command requires before its options are read. */
const WORDS: Partial<Record<Command, readonly string[]>> = {
  scan: ["127.0.0.1"],
  query: ["127.0.0.1"],
  watch: ["127.0.0.1"],
  servers: ["/nonexistent/x.db"],
  export: ["/nonexistent/x.db"],
  prune: ["/nonexistent/x.db"],
};
/** The two possible meanings of 90 without a unit. */
const READINGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["keep", "observations", "events", "replies", "players"].map((name) => [name, "90h or 90d"]),
  ),
  since: "90m, 24h or 7d ago",
};

for (const command of COMMAND_NAMES) {
  for (const { name, takes } of optionsOf(command)) {
    if (takes?.placeholder !== "TIME") continue;
    Deno.test(`${command} --${name} refuses a number without a unit, and shows its possible meanings`, async () => {
      const args = [...command.split(" "), ...WORDS[command] ?? [], `--${name}`, "90"];
      const [code, text] = await withMessages(() => main(args));
      assertEquals(code, 2, text);
      assertStringIncludes(text, `--${name} "90": expected`);
      assertStringIncludes(text, READINGS[name] ?? "90ms or 90s");
    });
  }
}

Deno.test("an age has hours, days or years, and some ages may be 0", () => {
  const ages = (...args: string[]) => {
    const { options: { observations, players } } = readCommandLine("prune", ["a.db", ...args]);
    return [observations, players];
  };
  const HOUR = 3_600_000;
  assertEquals(ages("--keep", "90d", "--players", "0"), [90 * 24 * HOUR, 0]);
  assertEquals(ages("--observations", "12h", "--players", "2y"), [12 * HOUR, 730 * 24 * HOUR]);
  for (const wrong of [["--keep", "0d"], ["--players", "0d"], ["--players", "11y"]]) {
    assertThrows(() => ages(...wrong), InputError, "hours, days or years, such as 12h, 90d or 1y");
  }
});

Deno.test("numbers without a unit are refused in a configuration file as on the command line", () => {
  const options = (text: string) => readOptions("scan", parseConfig("scan", text, "x.json"));
  const refused = (text: string, message: string) =>
    assertThrows(() => options(text), InputError, message);
  refused('{"cooldown": 10}', '--cooldown "10": expected a unit: 10ms or 10s');
  refused('{"max-runtime": 1.5}', '--max-runtime "1.5": expected a unit: 1.5ms or 1.5s');
  refused('{"timeout": 2}', '--timeout "2": expected a unit: 2ms or 2s');
  assertEquals(options('{"timeout": "800ms"}').timeout, 800);
});

Deno.test("masscan's --wait 10 is refused; a time with a unit is read", () => {
  const scan = (...args: string[]) => readCommandLine("scan", args).options;
  const fleet = (...args: string[]) => readCommandLine("fleet", args).options;
  assertThrows(
    () => scan("--wait", "10"),
    InputError,
    'Cannot use --wait "10": expected a unit: 10ms or 10s',
  );
  assertEquals(scan("--wait", "10s").cooldown, 10_000);
  assertEquals(scan("--timeout", "800ms").timeout, 800);
  assertEquals(fleet("--delay", "20ms").delay, 20);
  assertEquals(fleet("--jitter", "1s").jitter, 1000);
  assertThrows(() => fleet("--jitter", "1d"), InputError, "a time such as 800ms");
});

const CONTEXT = { option: "--x", allProtocols: PROTOCOLS };
const HOUR = 3_600_000;

/** The value of a text, or `refused`. */
function valueOf(type: ValueType<unknown>, text: string): unknown {
  try {
    return type.parse(text, CONTEXT);
  } catch (error) {
    const { message } = error as InputError;
    if (error instanceof InputError && message.startsWith(`Cannot use --x "${text}": `)) {
      return "refused";
    }
    throw error;
  }
}

for (
  const [name, type, values, refused] of [
    ["a time", timeType(), { "0s": 0, "1.5s": 1500, "720h": 720 * HOUR, "2m": 120_000 }, [
      ...["720.1h", "43201m", "-1s", "s", "1 s", "1s2", "1e3s", ""],
    ]],
    ["a time with a minimum", timeType({ ms: 2000, text: "2s" }), { "2s": 2000 }, ["1999ms", "0s"]],
    ["an age", AGE, { "1h": HOUR, "3653d": 3653 * 24 * HOUR, "10y": 3650 * 24 * HOUR }, [
      ...["0h", "3654d", "11y", "1.5d", "5", ""],
    ]],
    ["an age or none", AGE_OR_NONE, { "0": 0, "1h": HOUR }, ["00", "0h", "1"]],
    ["a whole number", wholeNumberType(2, 40), { "2": 2, "40": 40, "007": 7 }, [
      ...["1", "41", "2.5", "-3", "1e1", " 5", "", "00000000000000007"],
    ]],
    ["a count", COUNT, { "1": 1, "1.5k": 1500, "1000M": 1e9, "2K": 2000 }, [
      ...["0", "0.5", "1.5", "1000.1M", "k", "1g", "-1", ""],
    ]],
    ["a rate", RATE, { "0.5": 0.5, "10k": 10_000, "1000M": 1e9 }, ["0", "0.0k", "1000.1M", "auto"]],
    ["a rate or auto", RATE_OR_AUTO, { "auto": { most: undefined }, "auto:5k": { most: 5000 } }, [
      ...["auto:", "auto:0", "auto5", "x"],
    ]],
    ["a bandwidth", BITS, { "1k": 1000, "1000": 1000, "1000G": 1e12, "2.5M": 2.5e6 }, [
      ...["999", "0.9k", "1000.1G", "1T", ""],
    ]],
    ["a cap", CAP, { "off": "off", "1": 1, "1M": 1e6 }, ["0", "1000001", "1.5", "on", ""]],
    [
      "a budget",
      BUDGET,
      {
        "50%": { share: 0.5 },
        "250.5%": { share: 2.505 },
        "500": { probes: 500 },
        "1.5k": { probes: 1500 },
        "200M": { probes: 2e8 },
        "2G": { probes: 2e9 },
        "12h": { ms: 43_200_000 },
        "90m": { ms: 5_400_000 },
        "800ms": { ms: 800 },
      },
      ["", "0", "0%", "0h", "-5", "5 %", "1.5", "200X", "1e6", "31d", "721h", "lots"],
    ],
    ["a yield", YIELD, { "5/M": 5, "0.5/M": 0.5 }, ["", "5", "0/M", "-1/M", "5/k", "5/m", "/M"]],
    ["a percentage", PERCENT, { "0": 0, "50%": 0.5, "100": 1, "2.5": 0.025 }, [
      ...["100.1", "-1", "%", "1%%", ""],
    ]],
    ["a host name", HOST_NAME, { "Web.Example.org.": "web.example.org", "10.0.0.1": "10.0.0.1" }, [
      ...["web.example.org:80", "a/b", "a b", "user@a", "10.1", ""],
    ]],
    ["a list of times", listType(timeType()), { "1s, 2s,": [1000, 2000] }, ["", " , "]],
    ["some words", someOf(["icons", "raw"]), { "raw, icons": ["raw", "icons"] }, ["", ",", "Raw"]],
  ] as const satisfies readonly (readonly [
    name: string,
    type: ValueType<unknown>,
    values: Readonly<Record<string, unknown>>,
    refused: readonly string[],
  ])[]
) {
  Deno.test(`${name} is read up to its limits, and refused beyond them`, () => {
    for (const [text, value] of Object.entries(values)) assertEquals(valueOf(type, text), value);
    for (const text of refused) assertEquals(valueOf(type, text), "refused", text);
  });
}

Deno.test("a wrong word is refused with all words, and with the one that was probably meant", () => {
  const types = [oneOfType(["udp", "packet"]), keyOf({ udp: 1, packet: 2 })];
  for (const type of [...types, someOf(["udp", "packet"]), listType(types[0])]) {
    const refused = (text: string) =>
      assertThrows(() => type.parse(text, CONTEXT), InputError).message;
    assertEquals(
      refused("pakcet"),
      'Cannot use --x "pakcet": expected udp, packet; did you mean packet?',
    );
    assertEquals(refused("other"), 'Cannot use --x "other": expected udp, packet');
    assertEquals([type.parse("packet", CONTEXT)].flat(), ["packet"]);
  }
});
