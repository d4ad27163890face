/** Tests of `--geoip` with the program: servers, export and serve. Covers src/app/geoip/geoip_fields.ts. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { inFolder } from "../../app/resume/stopped_programs.ts";
import { mmdbBytes } from "../../app/geoip/mmdb_writer.ts";
import { record } from "../../store/records.ts";
import { run } from "../program.ts";

const READ = ["--allow-read", "--allow-env=INIT_CWD"];

/** A database with a server at 127.0.0.1 and one at ::1, and a file with a country for the first. */
async function prepare(folder: string): Promise<{ database: string; geoip: string }> {
  const [rows, database, geoip] = ["rows.ndjson", "servers.db", "places.mmdb"]
    .map((name) => `${folder}/${name}`);
  const servers = [record(1, {}), record(2, { host: "::1" })];
  await Deno.writeTextFile(rows, servers.map((one) => `${JSON.stringify(one)}\n`).join(""));
  const permissions = [...READ, "--allow-write"];
  assertEquals((await run(["import", database, rows], { permissions })).code, 0);
  const places = { country_code: "XK", asn: "AS64500", as_name: "=Loop\u202eback" };
  const form = {
    bits: 28,
    version: 6,
    metadata: { database_type: "Own", description: { en: "Own file" } },
  } as const;
  await Deno.writeFile(
    geoip,
    mmdbBytes([{ address: 0x7f000000, prefix: 8, record: places }], form),
  );
  return { database, geoip };
}

Deno.test("--geoip appends country, asn and operator to the columns of servers and export", () =>
  inFolder(async (folder) => {
    const { database, geoip } = await prepare(folder);
    const program = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(args, { permissions: READ });
      assertEquals(code, 0, stderr);
      return { stdout, stderr };
    };
    const lines = (text: string) => text.trim().split("\r\n");
    const without = lines((await program("export", database, "--format", "csv")).stdout);
    const { stdout, stderr } = await program(
      "export",
      database,
      "--format",
      "csv",
      "--geoip",
      geoip,
    );
    assertEquals(lines(stdout), [
      `${without[0]},country,asn,operator`,
      `${without[1]},XK,64500,'=Loop\ufffdback`,
      `${without[2]},,,`,
    ]);
    assertStringIncludes(stderr, "Countries and operators: Own file\n");
    const chosen = ["--json", "--fields", "host,country", "--sort", "address"];
    assertEquals(
      (await program("servers", database, "--geoip", geoip, ...chosen)).stdout,
      '{"schema":1,"host":"127.0.0.1","country":"XK"}\n{"schema":1,"host":"::1","country":null}\n',
    );
    const table = await program("servers", database, "--geoip", geoip, "--format", "table");
    assertStringIncludes(table.stdout, "COUNTRY OPERATOR");
    assertStringIncludes(table.stdout, "XK      =Loop");
  }));

Deno.test("a file of --geoip that cannot be used is exit code 2 before the start", () =>
  inFolder(async (folder) => {
    const { database, geoip } = await prepare(folder);
    await Deno.truncate(geoip, 200);
    for (const command of ["servers", "export", "serve"]) {
      const args = [command, database, "--geoip", geoip];
      const { code, stdout, stderr } = await run(args);
      assertEquals([code, stdout], [2, ""]);
      assertStringIncludes(stderr, `Cannot use --geoip "${geoip}": it is no MaxMind DB file`);
    }
    const { code, stderr } = await run(["servers", database, "--fields", "host,asn"]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, 'Cannot write column "asn" without --geoip FILE.mmdb');
  }));
