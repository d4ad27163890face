/** Passwords and tokens in URLs on the command line are neither shown nor stored. */
import { assert, assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { optionsOf } from "../../../src/app/options/option_table.ts";
import { readArgs } from "../../../src/cli/options/parse_arguments.ts";
import { readCommandLine } from "../../cli/command_line.ts";
import { formatConfig, parseConfig } from "../../../src/app/options/config_file.ts";
import { formatConfiguration, lastingOptions } from "../../../src/app/resume/scan_configuration.ts";
import { main } from "../../../src/cli/mod.ts";
import { withoutSecrets } from "../../../src/app/options/connection_environment.ts";
import { onInterrupt } from "../../../src/app/interrupt_signals.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { WatchDatabases } from "../../../src/app/watch/watch_databases.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { leaksOf, secret, urlsWith } from "../../fakes/secrets.ts";
import { all } from "../../store/databases.ts";
import { watchId } from "../../store/records.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

/** A port on loopback without a listener. */
const HOST = "127.0.0.1:1";

/** Runs a command in this process. Returns its output and its exit code. */
async function reported(args: readonly string[]): Promise<{ text: string; code: number }> {
  const writers = [Deno.stderr.writeSync, Deno.stdout.writeSync, Deno.stdout.write] as const;
  let text = "";
  const take = (bytes: Uint8Array) => {
    text += new TextDecoder().decode(bytes);
    return bytes.length;
  };
  try {
    [Deno.stderr.writeSync, Deno.stdout.writeSync] = [take, take];
    Deno.stdout.write = (bytes) => Promise.resolve(take(bytes));
    const code = await main(args).catch((error) => {
      text += `${error.stack} ${Deno.inspect(error)}`;
      return -1;
    });
    return { text, code };
  } finally {
    [Deno.stderr.writeSync, Deno.stdout.writeSync, Deno.stdout.write] = writers;
  }
}

Deno.test("no command shows a secret of a URL, wherever the URL is given", async () => {
  const folder = await Deno.makeTempDir();
  const commands = (url: string) => [
    ...[[url], ["servers", url], ["history", url, "127.0.0.1:5"], ["export", url], ["import", url]],
    ["servers", "a.db", url],
    ["export", `${folder}/a.db`, "-o", url],
    ["prune", url, "--keep", "9d", "--quite"],
    ["scan", "127.0.0.1", "-o", url, "--dry-run"],
    ["scan", "127.0.0.1", "-o", url, "-o", url],
    ["scan", "127.0.0.1", "--echo-config", `--output=${url}`],
    ["scan", "127.0.0.1", `-o${url}`, "--echo-config"],
    ["scan", url, "--dry-run"],
    ...["scan", "query", "watch"].map((command) => [command, url]),
    ["scan", "127.0.0.1", "--exclude", url, "--dry-run"],
    ["scan", "127.0.0.1", "--rescan", url, "--shard", "1/2"],
    ["watch", "127.0.0.1", "-o", url, "--interval", "1s"],
    ["watch", "127.0.0.1", "-o", "a.csv", "--webhook", url],
    ["watch", "127.0.0.1", "--webhook", url, "--webhook", url],
    ["watch", "127.0.0.1", "--webhok", url, `--json=${url}`],
  ];
  try {
    await fc.assert(
      fc.asyncProperty(secret, fc.nat(), async (text, pick) => {
        const urls = urlsWith(text, HOST).filter((url) => url !== "");
        for (const command of commands(urls[pick % urls.length])) {
          const result = await reported(command);
          assertEquals(leaksOf(result.text), [], `${command.join(" ")}: ${result.text}`);
          assert(result.code >= 0, result.text); // no stack trace
        }
      }),
      { seed: 6, numRuns: 40 },
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a stored configuration contains no secret, and names the outputs", () => {
  fc.assert(
    fc.property(secret, (text) => {
      for (const url of urlsWith(text)) {
        let place;
        try {
          place = parseDatabaseLocation(url);
        } catch (error) {
          assertEquals(leaksOf((error as Error).message), []);
        }
        if (place?.postgres !== undefined) {
          const values = withoutSecrets(
            readArgs("scan", ["10.0.0.0/30", "-o", url, "--rescan", url]),
            optionsOf("scan"),
          );
          const found = { inclusions: [], excluded: [], known: [], names: new Map() };
          const stored = formatConfiguration({
            ...{ given: lastingOptions(values, 1, optionsOf("scan")), responders: [], order: "" },
            scanId: "",
            found: { ...found, services: new Map() },
          });
          for (const one of [formatConfig("scan", values), stored]) assertEquals(leaksOf(one), []);
          const { password: _, ...rest } = place.postgres;
          const { password, ...again } = parseDatabaseLocation(values.given.get("output")![0])!
            .postgres!;
          assertEquals([again, password], [rest, undefined]);
        }
        const hook = withoutSecrets(
          readArgs("watch", ["127.0.0.1", `--webhook=${url}`]),
          optionsOf("watch"),
        );
        if (/^\s*http/i.test(url)) assertEquals(leaksOf(formatConfig("watch", hook)), [], url);
        const broken = `{"webhook": ${JSON.stringify(url)}, "output": "x}`;
        try {
          parseConfig("watch", broken, "x");
        } catch (error) {
          assertEquals(leaksOf((error as Error).message), []);
        }
      }
    }),
    { seed: 7, numRuns: 100 },
  );
});

Deno.test("a watched database stores only the host of a webhook's URL", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const list = `${folder}/a.db`;
    const args = [list, "--webhook", "https://u:Kq7xWv@h.example/s/Zj3tRb"];
    const { words, options, given } = readCommandLine("watch", args);
    {
      await using created = openSqlite(list);
      await createTables(created);
    }
    {
      const rules = {
        intervalMs: 60_000,
        downAfter: 3,
        scanId: watchId(1),
        newEventId: () => "event",
        allProtocols: PROTOCOLS,
      };
      await using lists = await WatchDatabases.open({ ...options, words }, rules, {
        warn: () => {},
        listenForInterrupt: () => onInterrupt(() => {}),
        clock: systemClock,
      });
      await lists.begin(formatConfig("watch", withoutSecrets(given, optionsOf("watch"))));
    }
    await using database = openSqlite(list, { readOnly: true });
    const [{ config }] = await all(database, "select config from scans");
    assertEquals(JSON.parse(String(config)), { targets: [list], webhook: "https://h.example/…" });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
