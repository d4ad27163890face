import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { serverId } from "../../../src/core/record.ts";
import {
  readCsv,
  readNdjson,
  verifyAgainstManifest,
} from "../../../src/fleet/judge/verify_rows.ts";
import { Random } from "../../../src/fleet/random.ts";
import { sha256 } from "../../../src/scan/checkpoint/checkpoint_file.ts";
import { run, start, until } from "../../cli/program.ts";
import { fleetAt, inFolder, kill, listed, put, SELECTION, text } from "./stopped_programs.ts";
import { longTest } from "../../long.ts";

const FLEET = fleetAt(0x7f240000, 10);
const TARGETS = "127.36.0.0/23";

async function withFleet(test: () => Promise<void>): Promise<void> {
  await using _fleet = await FLEET.open();
  await test();
}

/**
 * Waits until a program creates, changes or renames a file. Returns false if the program ends
 * before.
 */
async function touched(child: Deno.ChildProcess, folder: string, path: string): Promise<boolean> {
  using watcher = Deno.watchFs(folder);
  void child.status.then(() => watcher[Symbol.dispose]());
  for await (const { paths } of watcher) if (paths.includes(path)) return true;
  return false;
}

const SCAN_ARGS = ["scan", TARGETS, "--cooldown", "500ms", "--timeout", "1s"];

longTest(
  "a scan that is killed at random moments and resumed finds every server once",
  async () => {
    await inFolder((folder) =>
      withFleet(async () => {
        const [csv, ndjson] = [`${folder}/rows.csv`, `${folder}/rows.ndjson`];
        const checkpoint = `${csv}.checkpoint`;
        const random = new Random(9);
        const begin = [...SCAN_ARGS, "--rate", "900", "-o", csv, "-o", ndjson];
        const goOn = ["scan", "--resume", checkpoint];
        const moments: ((child: Deno.ChildProcess) => Promise<boolean>)[] = [5, 15, 25, 35, 45].map(
          (rows) => {
            const least = rows + random.below(8);
            return async () => await listed(`${checkpoint}.list`) >= least;
          },
        );
        // This kill is during a save: the next checkpoint has not replaced the old one yet.
        moments.splice(2, 0, (child) => touched(child, folder, `${checkpoint}.part`));
        for (const [i, moment] of moments.entries()) {
          const child = start(i === 0 ? begin : goOn);
          await until(child, async () => (await Deno.stat(checkpoint)).isFile);
          await until(child, () => moment(child));
          await kill(child);
        }
        const { mode } = await Deno.stat(checkpoint);
        assertEquals(mode! & 0o777, 0o600);
        const last = await run([...goOn, "--rate", "1M"]);
        assertEquals(last.code, 0, last.stderr);
        assertMatch(
          last.stderr,
          /^resuming "\S+" \(scan \S+, killed, saved \S+\): \d+ rows written/,
        );
        const rows = readNdjson(await Deno.readTextFile(ndjson));
        const servers = rows.map(serverId);
        assertEquals(servers.toSorted(), [...new Set(servers)].toSorted());
        assertEquals(readCsv(await Deno.readTextFile(csv)).map(serverId), servers);
        const { found, faults } = verifyAgainstManifest(FLEET.entries, rows, SELECTION, "ndjson");
        assertEquals([found, servers.length, faults], [60, 60, []]);
        assertEquals(new Set(rows.map(({ scan_id }) => scan_id)).size, 1);
        const done = await run(goOn);
        assertEquals([done.code, done.stdout], [2, ""]);
        assertMatch(
          done.stderr,
          /there is no such file; a scan that finishes removes its checkpoint\n$/,
        );
        const names = [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();
        assertEquals(names, ["rows.csv", "rows.ndjson"]);
      })
    );
  },
);

longTest("a scan that cannot be resumed is refused in one line, and no file changes", async () => {
  await inFolder((folder) =>
    withFleet(async () => {
      const csv = `${folder}/rows.csv`;
      const [checkpoint, list] = [`${csv}.checkpoint`, `${csv}.checkpoint.list`];
      const child = start([...SCAN_ARGS, "--rate", "250", "-o", csv]);
      await until(child, async () =>
        JSON.parse((await text(checkpoint)).split("sha256 ")[0]).rows >= 5);
      const busy = await run(["scan", "--resume", checkpoint]);
      assertEquals([busy.code, busy.stdout], [2, ""]);
      assertStringIncludes(busy.stderr, "a scan that is running has it open");
      await kill(child);
      const whole = await text(checkpoint);
      const [body] = whole.split("sha256 ");
      const signed = (text: string) =>
        `${text}sha256 ${sha256(text)}\n`;
      const rows = await text(list);
      const csvText = await text(csv);
      const bad: [what: string, change: () => Promise<void>, args: string[], message: string][] = [
        [
          "missing",
          () => Deno.remove(checkpoint),
          [],
          "a scan that finishes removes its checkpoint",
        ],
        ["rows", () => put(checkpoint, csvText), [], "it is not a checkpoint"],
        ["empty", () => put(checkpoint, ""), [], "it is not a checkpoint"],
        ["truncated", () => put(checkpoint, whole.slice(0, -9)), [], "it is incomplete"],
        ["half", () => put(checkpoint, body.slice(0, 300)), [], "it is incomplete"],
        [
          "edited",
          () => put(checkpoint, whole.replace('"rows": ', '"rows": 1')),
          [],
          "was changed",
        ],
        [
          "another form",
          () => put(checkpoint, signed(body.replace(/"checkpoint": \d+/, '"checkpoint": 1'))),
          [],
          "its format has version 1, and this program reads version 10",
        ],
        [
          "another program",
          () => put(checkpoint, signed(body.replace(/"program": "[^"]*"/, '"program": "0.0.9"'))),
          [],
          "blocksweep 0.0.9 wrote it, and this is",
        ],
        [
          "no list",
          () => Deno.remove(list),
          [],
          'rows.csv.checkpoint.list": there is no such file',
        ],
        ["a cut list", () => put(list, rows.slice(0, 300)), [], "when the checkpoint was saved"],
        ["an edited list", () => put(list, rows.replace("127.36.", "127.37.")), [], "was changed"],
        ["a foreign line", () => put(list, `${rows}? x\n`), [], '"? x" is not a line of a list'],
        [
          "a list of another configuration",
          () => put(checkpoint, signed(body.replace(/(?<="configuration": ")\w+/, sha256("")))),
          [],
          "the list beside it belongs to another scan",
        ],
        ["no output", () => Deno.remove(csv), [], `Cannot continue "${csv}": No such file`],
        [
          "a shorter output",
          () => put(csv, csvText.slice(0, 900)),
          [],
          "but the scan had written",
        ],
        ["targets", noChange, ["10.0.0.0/8"], `with 10.0.0.0/8 (it has ${TARGETS}):`],
        ["ports", noChange, ["-p", "9"], "with --ports 9 (it has none): these options cannot be"],
        [
          "several",
          noChange,
          ["--retries", "3", "--cooldown", "1s"],
          "--cooldown 1s (it has 500ms)",
        ],
        ["a flag", noChange, ["--verify"], "with --verify (it has none)"],
      ];
      for (const [what, change, args, message] of bad) {
        await change();
        const before = await contents(folder);
        const { code, stdout, stderr } = await run(["scan", "--resume", checkpoint, ...args]);
        assertEquals([code, stdout], [2, ""], what);
        assertStringIncludes(stderr, message);
        assertMatch(stderr, /^blocksweep: Cannot [^\n]*\n$/);
        assertEquals(await contents(folder), before, what);
        await put(checkpoint, whole);
        await put(list, rows);
        await put(csv, csvText);
      }
      const same = await run(["scan", TARGETS, "--resume", checkpoint, "-o", csv, "--rate", "1M"]);
      assertEquals(same.code, 0, same.stderr);
      assertEquals(readCsv(await text(csv)).length, 60);
    })
  );
});

const noChange = () => Promise.resolve();

async function contents(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const { name } of Deno.readDir(folder)) files[name] = await text(`${folder}/${name}`);
  return files;
}

longTest("rows on standard output may repeat after a kill, and never after Ctrl-C", async () => {
  await inFolder((folder) =>
    withFleet(async () => {
      const checkpoint = `${folder}/scan.checkpoint`;
      const args = [
        ...SCAN_ARGS,
        "--format",
        "ndjson",
        "--rate",
        "500",
        "--checkpoint",
        checkpoint,
      ];
      const child = start(args);
      const first = collect(child);
      await until(child, async () => await listed(`${checkpoint}.list`) >= 10);
      child.kill("SIGINT");
      assertEquals((await child.status).code, 130);
      const again = start(["scan", "--resume", checkpoint]);
      const second = collect(again);
      const before = await listed(`${checkpoint}.list`);
      await until(again, async () => (await text(checkpoint)).includes('"running"'));
      await until(again, async () => await listed(`${checkpoint}.list`) >= before + 5);
      again.kill("SIGKILL");
      await again.status;
      const third = await run(["scan", "--resume", checkpoint, "--rate", "1M"]);
      assertEquals(third.code, 0, third.stderr);
      assertStringIncludes(third.stderr, "blocksweep: standard output may get some servers twice");
      const [one, two] = await Promise.all([first, second]);
      assertEquals(one.stderr.includes("some servers"), false);
      assert(one.ids.length >= 10 && two.ids.every((id) => !one.ids.includes(id)));
      const three = readNdjson(third.stdout).map(serverId);
      assertEquals(new Set([...one.ids, ...two.ids, ...three]).size, 60);
      assertEquals([...Deno.readDirSync(folder)], []);
    })
  );
});

/** The complete rows in the output of a process that may be killed. */
async function collect({ stdout, stderr }: Deno.ChildProcess) {
  const [rows, printed] = await Promise.all(
    [stdout, stderr].map((one) => new Response(one).text()),
  );
  const ids = readNdjson(rows.slice(0, rows.lastIndexOf("\n") + 1)).map(serverId);
  return { ids, stderr: printed };
}
