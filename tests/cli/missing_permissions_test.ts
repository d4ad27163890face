/** Covers src/core/errors.ts and src/cli/mod.ts with the errors of the runtime. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { inFolder } from "../app/resume/stopped_programs.ts";
import { run } from "./program.ts";

/** The permissions of the installed command. */
const INSTALLED = [
  ...["--allow-net", "--allow-read", "--allow-write"],
  "--allow-env=HOME,XDG_CONFIG_HOME,APPDATA,USERPROFILE,TERM,BLOCKSWEEP_*,PG*",
];

const WEBHOOK = ["watch", "127.0.0.1:9", "--webhook"];
const REFUSED: readonly [args: readonly string[], permissions: readonly string[], text: string][] =
  [
    [
      [...WEBHOOK, "env:NOVAR"],
      INSTALLED,
      'Cannot read the environment variable "NOVAR": the permission is missing; use a variable whose ' +
      "name starts with BLOCKSWEEP_, or add --allow-env=NOVAR to deno run or deno install",
    ],
    [
      ["scan", "127.0.0.1:9", "-oL", "/dev/full"],
      INSTALLED,
      'Cannot open "/dev/full": Deno opens such files only for programs with all permissions; use - ' +
      "and let the shell open the file, for example -o - > FILE",
    ],
    [
      [...WEBHOOK, "http://127.0.0.1:9/"],
      INSTALLED.map((one) => one === "--allow-net" ? "--allow-net=0.0.0.0" : one),
      'Cannot use the network address "127.0.0.1:9": the permission is missing; add --allow-net to ' +
      "deno run or deno install",
    ],
    [
      ["report", "rows.ndjson", "-o", "-"],
      INSTALLED.filter((one) => one !== "--allow-read"),
      'Cannot read "rows.ndjson": the permission is missing; add --allow-read=rows.ndjson to deno run',
    ],
  ];

for (const [args, permissions, text] of REFUSED) {
  Deno.test(`without permission, ${args.join(" ")} names what is missing and what to do`, () =>
    inFolder(async (folder) => {
      const env = { NOVAR: "http://127.0.0.1:9/" };
      const { code, stderr } = await run(args, { permissions, cwd: folder, env });
      assertStringIncludes(stderr, `blocksweep: ${text}`);
      assertEquals(code, 2);
      assert(!/run again|allow-all/.test(stderr), stderr);
    }));
}
