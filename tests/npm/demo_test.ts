/** The demo of the npm package, which install/npm/ builds. It takes half a minute. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { installPackage, runIn } from "./installed.ts";

Deno.test("npx blocksweep demo finds every server, writes into the user's folder, and names blocksweep", async () => {
  const folder = await installPackage();
  // The paths of commands start in the folder of the user, not in that of the project.
  const inner = `${folder}/inner`;
  await Deno.mkdir(inner);
  const { code, stderr, stdout } = await runIn(inner, ["npx", "blocksweep", "demo"]);
  assertEquals(code, 0, stderr + stdout);
  assertStringIncludes(stderr + stdout, "next: blocksweep lan finds");
  assert(!/deno task/.test(stderr + stdout), stderr);
  assert((await Deno.stat(`${inner}/demo/servers.csv`)).isFile);
});
