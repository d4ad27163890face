/** Covers src/app/names/imported_names.ts. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { nameInLine, resolveImportedName } from "../../../src/app/names/imported_names.ts";
import type { Lookups } from "../../../src/app/names/name_lookup.ts";
import { InputError } from "../../../src/core/errors.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { run, SCAN } from "../../cli/program.ts";
import { all } from "../../store/databases.ts";

Deno.test("a line is a name if it has a port or a dot", () => {
  assertEquals(nameInLine(" play.example.org:7 "), { name: "play.example.org", port: 7 });
  assertEquals(nameInLine("play.example.org"), { name: "play.example.org", port: undefined });
  assertEquals(nameInLine("localhost:7"), { name: "localhost", port: 7 });
  for (
    const text of ["hello", "{}", "a b.c", "host,port", "10.0.0.1:7", "http://a.b/", "a.b:0", ""]
  ) {
    assertEquals(nameInLine(text), undefined, text);
  }
});

Deno.test("an imported name gets its first address, its port or that of its SRV record", async () => {
  const lookups: Lookups = {
    resolve: (name) => {
      if (name === "inside.example") return Promise.resolve([0x0a000001]);
      if (!name.startsWith("a.")) {
        return Promise.reject(new InputError(`Cannot find host "${name}"`));
      }
      return Promise.resolve([0x08080808, 0x08080809]);
    },
    findService: (name) =>
      Promise.resolve(name === "b.example" ? { host: "a.example", port: 77 } : undefined),
    note: () => {},
  };
  const found = async (name: string, own?: number, port?: number) => {
    const { record } = await resolveImportedName({ name, port: own }, { port, seenAt: 9 }, lookups);
    const { host, port: used, requested_as: queried, protocol, seen_at } = record;
    return [host, used, queried, protocol, seen_at].join(" ");
  };
  assertEquals(await found("a.example", 7), "8.8.8.8 7 a.example  9");
  assertEquals(await found("a.example", undefined, 5), "8.8.8.8 5 a.example  9");
  assertEquals(await found("b.example"), "8.8.8.8 77 b.example SRV a.example:77  9");
  assertEquals(await found("b.example", 25565), "8.8.8.8 77 b.example SRV a.example:77  9");
  await assertRejects(() => found("a.example"), InputError, "give NAME:PORT, or --port");
  await assertRejects(() => found("c.example", 7), InputError, 'Cannot find host "c.example"');
  await assertRejects(() => found("inside.example", 7), InputError, "inside.example A 10.0.0.1");
});

Deno.test("import keeps titles as notes and tags, and counts what it leaves out", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [list, db] = [`${folder}/list.csv`, `${folder}/a.db`];
    const bad = "x".repeat(65);
    await Deno.writeTextFile(
      list,
      `title,hostname,port,tags,id\nLobby,127.0.0.1,5,"eu, ${bad}",42\n=B,127.0.0.2,6,,43\n`,
    );
    const plain = await run(["import", db, list, "--json"]);
    const result = JSON.parse(plain.stdout);
    assertEquals([result.servers, result.ignored_columns, result.ignored_tags], [
      ...[2, ["title", "id"], 1],
    ]);
    const rows = async () => {
      const { stdout } = await run(["servers", db, "--format", "ndjson"]);
      return stdout.trim().split("\n").map((line) => JSON.parse(line))
        .map(({ port, tags, notes }) => [port, tags, notes]).sort();
    };
    assertEquals(await rows(), [[5, ["eu"], null], [6, [], null]]);
    await run(["import", db, list, "--columns", "notes=title,notes=id,tags=id"]);
    const noted = [[5, ["42", "eu"], "Lobby; 42"], [6, ["43"], "=B; 43"]];
    assertEquals(await rows(), noted);
    const csv = `${folder}/copy.csv`;
    await run(["export", db, "-o", csv]);
    await Deno.writeTextFile(csv, (await Deno.readTextFile(csv)).replace("Lobby; 42", "Other"));
    await run(["import", db, csv]); // notes of a file replace none, unless they are chosen
    assertEquals(await rows(), noted);
    await run(["import", db, csv, "--columns", "notes=notes"]);
    assertEquals(await rows(), [[5, ["42", "eu"], "Other"], noted[1]]);
    const wrong = await run(["import", db, list, "--columns", "notes=titel"]);
    assertEquals(wrong.code, 2);
    await Deno.writeTextFile(list, "name;Wo (intern);Port\nA;127.0.0.1;5\n");
    const { code, stderr } = await run(["import", db, list]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, "no column of a host in: name, Wo (intern), Port; choose it with");
    const chosen = await run(["import", db, list, "--columns", "host=wo (intern)"]);
    assertEquals(chosen.code, 0, chosen.stderr);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("import takes names, and reports each line whose name has no address", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const list = `${folder}/a.db`;
    const stdin = "localhost:7\n127.0.0.1:7\nLOCALHOST:7\nhello\nnowhere.invalid:7\n127.0.0.9\n";
    const { code, stderr } = await run(["import", list, "-"], {
      stdin,
      permissions: [...SCAN, "--allow-net=localhost"], // the other name is not looked up
    });
    assertEquals(code, 0, stderr);
    assertStringIncludes(stderr, "-: line 5: ");
    assertStringIncludes(stderr, "nowhere.invalid");
    assertStringIncludes(stderr, "ignored 1 line that cannot be read, the first in line 4");
    assertStringIncludes(stderr, "ignored 2 lines with a host without a port (see --port) or an");
    const shown = await run(["history", list, "localhost:7"]);
    assertEquals(shown.code, 0, shown.stderr);
    await using database = openSqlite(list);
    const rows = await all(database, "select key, hostname from servers order by key");
    assertEquals(rows.map(Object.values), [["127.0.0.1:7", null], ["localhost:7", "localhost"]]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
