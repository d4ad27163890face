/** Tests of src/cli/commands/report/, with the program. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { inFolder } from "../../app/resume/stopped_programs.ts";
import { record } from "../../store/records.ts";
import { run } from "../program.ts";

const READ = ["--allow-read", "--allow-env=INIT_CWD"];

Deno.test("report writes one file about a database, or about the rows of a scan", () =>
  inFolder(async (folder) => {
    const [rows, database, output] = ["rows.ndjson", "servers.db", "report.html"]
      .map((name) => `${folder}/${name}`);
    const servers = [1, 2, 3].map((port) =>
      record(port, { players_online: port, version: "1.21" })
    );
    await Deno.writeTextFile(
      rows,
      servers.map((one) => `${JSON.stringify(one)}\n`).join("") + "{torn\n",
    );
    const write = [...READ, "--allow-write"];
    assertEquals((await run(["import", database, rows], { permissions: write })).code, 0);
    const permissions = [...READ, `--allow-write=${output}`];
    for (const source of [rows, database]) {
      const { code, stdout, stderr } = await run(["report", source, "-o", output, "--limit", "2"], {
        permissions,
      });
      assertEquals([code, stdout], [0, ""], stderr);
      const name = source.slice(folder.length + 1);
      assertStringIncludes(stderr, `${output}: 3 servers of ${name}, 2 rows\n`);
      assertEquals(stderr.includes("ignored 1 line that cannot be read"), source === rows);
      const html = await Deno.readTextFile(output);
      assertStringIncludes(html, `<h1>Servers of ${name}</h1>`);
      assertStringIncludes(html, "<dt>Players</dt><dd><strong>6</strong>");
      assert(!html.includes(folder));
    }
  }));

Deno.test("report writes to standard output with -o -, and to no file named -", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/rows.ndjson`, `${JSON.stringify(record(1))}\n`);
    const { code, stdout, stderr } = await run(["report", "rows.ndjson", "-o", "-"], {
      permissions: [...READ, "--allow-write"],
      cwd: folder,
      env: { INIT_CWD: folder },
    });
    assertEquals([code, stderr], [0, "standard output: 1 server of rows.ndjson\n"]);
    assert(stdout.startsWith("<!doctype html>"), stdout.slice(0, 40));
    assert(stdout.endsWith("</html>\n"), stdout.slice(-40));
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["rows.ndjson"]);
  }));

Deno.test("report refuses sources and outputs that it cannot use, with exit code 2", () =>
  inFolder(async (folder) => {
    const rows = `${folder}/rows.ndjson`;
    await Deno.writeTextFile(rows, `${JSON.stringify(record(1))}\n`);
    const [bad, empty] = [`${folder}/bad.json`, `${folder}/empty.csv`];
    await Deno.writeTextFile(bad, '{"a": 1}\n');
    await Deno.writeTextFile(empty, "");
    for (
      const [args, message] of [
        [[], "name a database or a file of rows"],
        [[rows], "without a file for it: -o report.html"],
        [[bad, "-o", `${folder}/r.html`], `report of "${bad}": it contains no row of a server`],
        [[empty, "-o", `${folder}/r.html`], `"${empty}": it contains no row of a server`],
        [[rows, "-o", rows], `Cannot write to "${rows}": report reads it`],
        [[rows, "-o", `${folder}/servers.db`], "which is a database"],
        [[rows, "-o", bad], `Cannot overwrite "${bad}": it is not an HTML page`],
        [[`${folder}/none.ndjson`, "-o", `${folder}/r.html`], "there is no such file"],
        [[`${folder}/none.db`, "-o", `${folder}/r.html`], "there is no such file"],
        [[rows, "-o", `${folder}/r.html`, "--geoip", rows], "it is no MaxMind DB file"],
        [[rows, "-o", `${folder}/none/r.html`], "Cannot write to"],
      ] as const
    ) {
      const { code, stdout, stderr } = await run(["report", ...args], {
        permissions: [...READ, "--allow-write"],
      });
      assertEquals([code, stdout], [2, ""], stderr);
      assertStringIncludes(stderr, message);
    }
    const left = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assertEquals(left, ["bad.json", "empty.csv", "rows.ndjson"]);
    assertEquals(await Deno.readTextFile(bad), '{"a": 1}\n');
  }));
