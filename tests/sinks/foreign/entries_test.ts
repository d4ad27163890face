import { assertEquals } from "@std/assert";
import { emptyRecord } from "../../../src/core/record.ts";
import { file, readAlike, readFile } from "./reading.ts";

Deno.test("JSON is read in one line, over several lines, and without its end", async () => {
  const masscan = (await file("masscan-json.txt")).replace("{finished: 1}", "").replace(
    /,\s*\]/,
    "]",
  );
  const expected = [4, 2, 3].map((host) => `10.77.0.${host}:25565`);
  const value = JSON.parse(masscan);
  const own = (port: number) => ({
    ...emptyRecord({ address: 1n, port }, 9),
    extras: { query: { '{"]\\': ["}", { a: "\n{" }] } },
  });
  for (const indent of [undefined, 1, 4, "\t"]) {
    assertEquals(await readAlike(JSON.stringify(value, null, indent)), expected);
    const rows = JSON.stringify([own(1), own(2)], null, indent);
    assertEquals(await readAlike(rows), ["[::1]:1", "[::1]:2"]);
    assertEquals(await readAlike(rows.slice(1, -1)), ["[::1]:1", "[::1]:2"]); // as of jq '.[]'
  }
  const cut = JSON.stringify(value, null, 2).split("\n").slice(0, -4).join("\n");
  const third = JSON.stringify(value.slice(0, 2), null, 2).split("\n").length;
  assertEquals(await readAlike(cut), [...expected.slice(0, 2), `? ${third}`]);
});

Deno.test("a JSON object that is cut off is counted, and the next lines are read", async () => {
  const next = '\n{"ip":"10.0.0.1","port":5}\n10.0.0.2:5';
  for (const cut of ['{"torn', '{"a":[', '{"a":', '{"a":{"b":1,', "{", '{"a":"\\"']) {
    assertEquals(await readAlike(`10.0.0.3:5\n${cut}${next}`), [
      ...["10.0.0.3:5", "? 2", "10.0.0.1:5", "10.0.0.2:5"],
    ], cut);
  }
  const long = `{"a":"${"x".repeat(5000)}"}\n10.0.0.1:5\n{"b":[\n${" ".repeat(5000)}]}\n10.0.0.2:5`;
  for (const size of [1, 1000, long.length]) {
    assertEquals(await readFile(long, size, 100), ["? 1", "10.0.0.1:5 5", "? 3", "10.0.0.2:5 5"]);
  }
});
