/** Options of every command whose value is a time. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { readCommandLine, readOptions } from "../../cli/command_line.ts";
import { parseConfig } from "../../../src/app/options/config_file.ts";
import { main } from "../../../src/cli/mod.ts";
import { type Command, COMMAND_NAMES } from "../../../src/app/options/commands.ts";
import { optionsOf } from "../../../src/app/options/option_table.ts";
import { InputError } from "../../../src/core/errors.ts";
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
