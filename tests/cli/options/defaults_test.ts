/** Help tells of each command the defaults that it runs with. */
import { assert, assertEquals } from "@std/assert";
import { readArgs } from "../../../src/cli/options/parse_arguments.ts";
import { commandHelp } from "../../../src/cli/options/help_text.ts";
import { type Command, OPTIONS } from "../../../src/cli/options/option_table.ts";
import { readScanSettings, speedFor } from "../../../src/app/settings/scan_settings.ts";
import { Settings } from "../../../src/app/settings/option_values.ts";
import { readWatchRules } from "../../../src/cli/commands/watch.ts";
import { readPollingSettings } from "../../../src/app/engines/watch_sockets.ts";
import { textFor } from "../../../src/cli/options/protocol_help.ts";
import { PROTOCOLS, USUAL_PROTOCOLS } from "../../../src/protocols/list.ts";
import { compose } from "../../../src/targets/compose.ts";

/** What help says that an option is without being given. */
function told(command: Command, option: string): string | undefined {
  const start = new RegExp(`^ +(-\\w, )?--${option} `);
  const line = commandHelp(command).split("\n").find((one) => start.test(one));
  assert(line !== undefined, `${command} --${option}`);
  return /default: ([^;]*)/.exec(line)?.[1];
}

const settings = (command: Command) => new Settings(readArgs(command, []));

Deno.test("scan --help tells what a scan does", () => {
  const chosen = readScanSettings(settings("scan"), () => 1);
  assertEquals(told("scan", "retries"), `${chosen.retries}`);
  assertEquals(told("scan", "concurrency"), `${chosen.concurrency}`);
  assertEquals(told("scan", "timeout"), `${chosen.timeoutMs}ms`);
  assertEquals(told("scan", "threads"), `${chosen.threads}, the program's own`);
  const speed = (start: number) => {
    const range = { start, end: start + 1 };
    return speedFor(
      compose([{ range, port: undefined }], { never: [], private: [], chosen: [] }),
      chosen,
    );
  };
  const [far, near] = [speed(0x08080808), speed(0x7f000001)];
  assertEquals(near.limits.rate, undefined);
  assertEquals(told("scan", "rate"), `${far.limits.rate}, loopback: no limit`);
  assertEquals(told("scan", "net-rate"), `${far.limits.netRate}`);
  assertEquals(told("scan", "host-rate"), `${far.limits.hostRate}`);
  const seconds = [far, near].map(({ cooldownMs }) => cooldownMs / 1000);
  assertEquals(told("scan", "cooldown"), `${seconds[0]}s, loopback: ${seconds[1]}s`);
});

Deno.test("watch --help tells what a watch does", () => {
  const asking = readPollingSettings(settings("watch"), USUAL_PROTOCOLS);
  const rules = readWatchRules(settings("watch"));
  assertEquals(told("watch", "retries"), `${asking.retries}`);
  assertEquals(told("watch", "timeout"), `${asking.timeoutMs}ms`);
  assertEquals(told("watch", "interval"), `${rules.intervalMs / 1000}s`);
  assertEquals(told("watch", "down-after"), `${rules.downAfter}`);
  assert(!commandHelp("watch").includes("auto"), "a watch takes no --rate auto");
});

Deno.test("an option that several commands have tells each its own default", () => {
  assertEquals(told("query", "retries"), "1");
  assertEquals([told("fleet", "servers"), told("demo", "servers")], ["100", "500"]);
  assertEquals([told("servers", "limit"), told("history", "limit")], ["100", "50"]);
  assertEquals(told("export", "limit"), undefined); // all are written
  for (const { name, help, commands } of OPTIONS) {
    for (const other of commands.length > 1 ? ["in watch", "in list", "demo:"] : []) {
      const text = textFor(help, PROTOCOLS);
      assert(!text.includes(other), `${name}: ${text}`);
    }
  }
});
