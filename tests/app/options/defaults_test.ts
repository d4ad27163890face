/**
 * Help shows the defaults that each command uses.
 *
 * Covers src/app/settings/defaults.ts and src/fleet/usual_fleet.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { commandHelp } from "../../../src/cli/options/help_text.ts";
import { type Command, COMMAND_NAMES } from "../../../src/app/options/commands.ts";
import { camelCase } from "../../../src/app/options/option.ts";
import { OPTIONS, optionsOf } from "../../../src/app/options/option_table.ts";
import { readCommandLine } from "../../cli/command_line.ts";
import { scanChoice } from "../../../src/app/scan/scan_choice.ts";
import { scanLimits, streamLimits } from "../../../src/app/engines/scan_rates.ts";
import { protocolsOf } from "../../../src/app/settings/chosen_protocols.ts";
import { DEFAULTS } from "../../../src/app/settings/defaults.ts";
import { textFor } from "../../../src/app/options/protocol_help.ts";
import { PROTOCOLS, USUAL_PROTOCOLS } from "../../../src/protocols/list.ts";
import { STREAM_LIMITS } from "../../../src/net/stream_link.ts";
import { compose } from "../../../src/targets/compose.ts";

/** The default of an option in the help. */
function reported(command: Command, option: string): string | undefined {
  const start = new RegExp(`^ +(-\\w, )?--?${option}( |$)`);
  const lines = commandHelp(command, PROTOCOLS).replaceAll(/\n {30}/g, " ").split("\n");
  const line = lines.find((one) => start.test(one));
  assert(line !== undefined, `${command} --${option}`);
  return /; default: (.*)$/.exec(line)?.[1];
}

/** Options whose defaults are described in words, because they depend on more than the command. */
const WORDED = new Set([
  ...["ports", "protocol", "rate", "net-rate", "host-rate", "timeout", "cooldown", "engine"],
  ...["interface", "gateway-mac", "software", "once", "checkpoint", "webhook-outbox", "format"],
  ...["webhook-format", "webhook-events", "threads", "budget"],
  ...["net-budget", "contact"],
]);
const WORDED_FOR = new Set([
  ...["scan seed", "watch concurrency", "export sort", "campaign submit seed"],
  ...["campaign submit name", "campaign submit parts"],
]);

Deno.test("the default that help prints is the value that a command without options has", () => {
  let compared = 0;
  for (const command of COMMAND_NAMES) {
    const { options } = readCommandLine(command, []);
    for (const { name, takes } of optionsOf(command)) {
      const printed = reported(command, name);
      const value = (options as Record<string, unknown>)[camelCase(name)];
      const what = `${command} --${name}`;
      if (printed === undefined) {
        const none = takes === undefined ? false : Array.isArray(value) ? [] : undefined;
        assertEquals(value, none, what);
      } else if (WORDED.has(name) || WORDED_FOR.has(`${command} ${name}`)) {
        assertEquals(value, undefined, what);
      } else {
        const context = { option: name, allProtocols: PROTOCOLS };
        assertEquals(takes!.parse(printed, context), value, what);
        compared++;
      }
    }
  }
  assert(compared > 20, `${compared} defaults`);
});

Deno.test("the described defaults of scan --help are those of a scan", () => {
  const { options } = readCommandLine("scan", []);
  const choice = scanChoice(options, () => 1);
  const limitsFor = (start: number) => {
    const range = { start, end: start + 1 };
    const targets = compose([{ range, port: undefined }], { never: [], private: [], chosen: [] });
    return scanLimits(options, targets, choice);
  };
  const [far, near] = [limitsFor(0x08080808), limitsFor(0x7f000001)];
  const patience = `${STREAM_LIMITS.totalMs / 1000}s`;
  assertEquals(far.streamLimits, STREAM_LIMITS);
  assertEquals(reported("scan", "timeout"), `${far.timeoutMs}ms, over TCP ${patience}`);
  for (
    const [option, cap] of [["rate", "rate"], ["net-rate", "netRate"], [
      "host-rate",
      "hostRate",
    ]] as const
  ) {
    assertEquals(near.rates[cap], undefined);
    assertEquals(reported("scan", option), `${far.rates[cap]}, loopback: no limit`);
  }
  const seconds = [far, near].map(({ cooldownMs }) => cooldownMs / 1000);
  assertEquals(reported("scan", "cooldown"), `${seconds[0]}s, loopback: ${seconds[1]}s`);
  assertEquals(choice.protocols, USUAL_PROTOCOLS);
  assertEquals(reported("scan", "protocol"), "all but sqp");
});

Deno.test("the described defaults of watch --help are those of a watch", () => {
  const { options } = readCommandLine("watch", []);
  assertEquals(streamLimits(options.timeout), STREAM_LIMITS);
  assertEquals(protocolsOf(options), USUAL_PROTOCOLS);
  assert(reported("watch", "timeout")!.startsWith(`${DEFAULTS.timeoutMs}ms`));
  assert(!commandHelp("watch", PROTOCOLS).includes("auto"), "a watch takes no --rate auto");
});

Deno.test("help shows each command's own default of a shared option", () => {
  assertEquals(reported("query", "retries"), "1");
  assertEquals([reported("fleet", "servers"), reported("demo", "servers")], ["100", "500"]);
  assertEquals([reported("servers", "limit"), reported("history", "limit")], ["100", "50"]);
  // every shared option with different defaults is checked
  assertEquals(reported("export", "limit"), undefined);
  for (const { name, help, commands } of OPTIONS) {
    for (const other of commands.length > 1 ? ["in watch", "in list", "demo:"] : []) {
      const text = textFor(help, PROTOCOLS);
      assert(!text.includes(other), `${name}: ${text}`);
    }
  }
});
