/** SQLite in a process that has few file descriptors. */
import { assertEquals } from "@std/assert";
import { run } from "../../cli/program.ts";

const SQLITE = new URL("../../../src/store/database/sqlite.ts", import.meta.url).href;

/** Opens databases in every mode while few descriptors are left, and prints the results. */
const PROGRAM = `
import { openSqlite } from "${SQLITE}";
const [folder] = Deno.args;
const WAYS = {
  read: ["known.db", { readOnly: true }],
  write: ["known.db", { mustExist: true }],
  create: ["new.db", {}],
};
const outcomes = [];
async function attempt(left, way) {
  const [name, options] = WAYS[way];
  try {
    await using database = openSqlite(folder + "/" + name, options);
    await database.script("select count(*) from sqlite_master");
    if (way !== "read") await database.script("create table if not exists t (x); insert into t values (1)");
    outcomes.push([left, way]);
  } catch (error) {
    outcomes.push([left, way, \`\${error.name}: \${error.message.replace(folder + "/", "")}\`]);
  }
}
await attempt(Infinity, "create");
Deno.renameSync(folder + "/new.db", folder + "/known.db");
{
  await using database = openSqlite(folder + "/known.db");
  await database.script("pragma journal_mode = wal");
}
const held = [];
try {
  for (;;) held.push(Deno.openSync(folder));
} catch (error) {
  if (error.code !== "EMFILE") throw error;
}
for (let left = 0; left < 6; left++) {
  for (const way of Object.keys(WAYS)) await attempt(left, way);
  held.pop().close();
}
console.log(JSON.stringify(outcomes.slice(1)));
`;

Deno.test({
  name: "a lack of descriptors is reported as a shortage, not as a missing file (not on Windows)",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${folder}/program.js`, PROGRAM);
      const options = { main: `${folder}/program.js`, descriptors: 64 };
      const { stdout, stderr } = await run([folder], options);
      assertEquals(stderr, "");
      const outcomes: [left: number, way: string, error?: string][] = JSON.parse(stdout);
      const short = "no file descriptors left; raise the limit (ulimit -n)";
      const shortages = [
        `ShortageError: Cannot open "known.db": ${short}`,
        `ShortageError: Cannot open "new.db": ${short}`,
        `Error: ${short}`, // the store adds the name of the file
      ];
      const others = outcomes.filter(([, , error]) => error && !shortages.includes(error));
      assertEquals(others, []);
      for (const one of ["read", "write", "create"]) {
        const ends = outcomes.filter(([, way]) => way === one).map(([, , error]) => error);
        assertEquals([ends.at(0) === undefined, ends.at(-1)], [false, undefined], one);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
