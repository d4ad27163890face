/** Covers src/cli/commands/history_events.ts. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { storedEventLine } from "../../../src/cli/term/event_lines.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { writeEvents } from "../../../src/store/events/write_events.ts";
import { newEventId } from "../../../src/store/rows/uuid.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { record, scanId } from "../../store/records.ts";
import { PrintedText, run, start } from "../program.ts";

const server = "127.0.0.1:1";

Deno.test("history --events shows, selects and follows the events of a database", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/a.db`;
    await using store = new Store(openSqlite(path), () => Promise.resolve());
    await createTables(store.database);
    const write = (port: number, at: number, motd: string) =>
      store.write([record(port, { seen_at: at, motd, scan_id: scanId(1), name: "Lobby" })]);
    await write(1, 1000, "one");
    await write(2, 2000, "one");
    await write(1, 3000, "two\u001b[2J");
    const permissions = [`--allow-read=${folder}`, `--allow-write=${folder}`, "--allow-env"];
    const shown = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(["history", path, "--events", ...args], {
        permissions,
      });
      assertEquals(code, 0, stderr);
      return stdout.trimEnd().split("\n");
    };
    assertEquals(await shown(), [
      "1970-01-01 00:00:03  changed    127.0.0.1:1            motd one -> two␛[2J",
      "1970-01-01 00:00:02  new        127.0.0.1:2            found for the first time",
      "1970-01-01 00:00:01  new        127.0.0.1:1            found for the first time",
    ]);
    const hint = async (...args: string[]) =>
      (await run(["history", path, "--events", ...args], { permissions })).stderr.trim();
    assertEquals(await hint("--limit", "2"), "the newest 2 events; raise --limit for more");
    assertEquals(await hint("--limit", "3"), "");
    assertEquals(
      await hint("--after", "0-1", "--limit", "1"),
      "1 event; --after 0-2 shows later ones",
    );
    const json = (await shown("--json", server, "--limit", "1")).map((line) => JSON.parse(line));
    const { id, ...last } = json[0];
    assertEquals(id[14], "7");
    assertEquals(last, {
      schema: 1,
      event: "changed",
      at: 3000,
      server,
      name: "Lobby",
      scan_id: scanId(1),
      position: "0-3",
      data: { changes: { motd: ["one", "two\u001b[2J"] } },
    });
    const child = start(["history", path, "--events", "--after", "0-2", "--follow"], {
      permissions,
    });
    const printed = new PrintedText(child, child.stdout);
    await printed.until("motd one -> two");
    await write(2, 4000, "three");
    await printed.until("motd one -> three");
    child.kill("SIGINT");
    await printed.rest();
    await child.stderr.cancel();
    assertEquals((await child.status).code, 130);
    assertEquals(printed.text.trimEnd().split("\n").length, 2);
    for (
      const [args, message] of [
        [["--follow"], "Cannot use --follow without --events"],
        [["--after", "0-2"], "Cannot use --after without --events"],
        [["--events", "--after", "2"], 'Cannot use --after "2": expected a position'],
      ] as const
    ) {
      const { code, stderr } = await run(["history", path, ...args], { permissions });
      assertEquals(code, 2);
      assertStringIncludes(stderr, message);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("events of a machine whose clock is slow are followed without repetition", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/a.db`;
    await using store = new Store(openSqlite(path), () => Promise.resolve());
    await createTables(store.database);
    await store.write([record(1, { seen_at: 1000 })]);
    const [{ id }] = await store.database.rows("select id from servers");
    const write = (kind: string, at: number) =>
      writeEvents(store.database, [
        { id: newEventId(at), at, server: Number(id), scan: null, kind, data: {} },
      ]);
    await write("second", 3000);
    await write("third", 2000);
    const child = start(["history", path, server, "--events", "--follow"], {
      permissions: [`--allow-read=${folder}`, `--allow-write=${folder}`, "--allow-env"],
    });
    const printed = new PrintedText(child, child.stdout);
    await printed.until("third");
    await write("fourth", 1500);
    await printed.until("fourth");
    child.kill("SIGINT");
    await printed.rest();
    await Promise.all([child.stderr.cancel(), child.status]);
    const kinds = printed.text.trimEnd().split("\n").map((line) => line.split(/\s+/)[2]);
    assertEquals(kinds, ["new", "second", "third", "fourth"]); // the order of transactions
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a line tells why a watch was offline, and for how long", () => {
  const base = { tx: "0", seq: 1, id: "", at: 0, scan_id: null, name: null, server: null };
  const line = (kind: string, data: unknown) =>
    storedEventLine({ ...base, kind, data } as never).split(/\s{2,}/).at(-1);
  assertEquals(line("watcher_offline", { since: 5, reason: "no_route" }), "no route to servers");
  assertEquals(line("watcher_offline", { since: 5, reason: "no_reply" }), "no server replies");
  assertEquals(line("watcher_online", { offline_ms: 47132 }), "servers reply again after 47 s");
});

Deno.test("an event that another program wrote is one line, whatever it contains", () => {
  const base = { tx: "0", seq: 1, id: "", at: 0, scan_id: null, name: null };
  for (
    const data of [null, 5, "x\n", ["a"], { a: "\u001b[2J", changes: null }, { changes: [1, 2] }]
  ) {
    const name = "\u202eLobby\n";
    const event = { ...base, server: "\u202ea\nb", name, kind: "\u0007", data } as never;
    for (const columns of [80, 120]) {
      const line = storedEventLine(event, columns);
      assertEquals(/\p{Cc}|\p{Bidi_Control}/u.test(line), false, line);
      assertEquals(line.includes("Lobby"), columns >= 100, line);
    }
  }
});
