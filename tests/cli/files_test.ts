import { assertThrows } from "@std/assert";
import { refuseFiles } from "../../src/cli/files.ts";
import { InputError } from "../../src/errors.ts";

const THIS = new URL(import.meta.url).pathname;

Deno.test("a target that is a file is refused, with the option that reads it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [list, database] = [`${folder}/my targets.txt`, `${folder}/servers.db`];
    for (const path of [list, database]) await Deno.writeTextFile(path, "");
    assertThrows(
      () => refuseFiles(["127.0.0.1", list]),
      InputError,
      `Cannot scan "${list}": it is a file; -iL '${list}' reads targets from a file (--rescan`,
    );
    assertThrows(() => refuseFiles([database]), InputError, `--rescan ${database} probes`);
    refuseFiles([folder, `${folder}/none`, "example.org"]); // no files: judged as targets later
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test({
  name: "where files may not be read, no target is taken for one, and nobody is asked",
  permissions: { read: false },
  fn: () => refuseFiles([THIS, "example.org"]),
});
