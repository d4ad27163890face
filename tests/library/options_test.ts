/** The options of the library have the names and defaults of the command line. */
import { assertEquals } from "@std/assert";
import { scanSettings } from "../../src/app/settings/scan_settings.ts";
import { camelCase } from "../../src/app/options/option.ts";
import { optionsOf } from "../../src/app/options/option_table.ts";
import { readCommandLine } from "../cli/command_line.ts";
import { settingsOf } from "../../src/library/scan_options.ts";

/** Options that only the library has. */
const OF_PROGRAMS = ["allProtocols", "network", "onNote", "signal"];

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

Deno.test("a scan without options is the same from a program and the command line", () => {
  const { options } = readCommandLine("scan", ["10.0.0.1"]);
  const comparable = (settings: ReturnType<typeof settingsOf>) => ({
    ...settings,
    seed: undefined,
    ports: ["raknet", "slp", "query"].map((name) => settings.ports(name, 4)),
  });
  assertEquals(comparable(settingsOf({})), comparable(scanSettings(options, () => 1)));
});
