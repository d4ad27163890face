import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { OptOutFile, parseOptOutEntries } from "../../../src/app/opt_outs/opt_out_file.ts";
import { InputError } from "../../../src/core/errors.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { parseTarget } from "../../../src/targets/parse.ts";
import { run } from "../../cli/program.ts";

/** Fails if anything is reported. */
const fail = (line: string): never => {
  throw new Error(line);
};

Deno.test("the opt-out file is read, gets each address once, and is created when missing", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/deep/opt-out.txt`;
  try {
    const list = new OptOutFile(path, fail);
    assertEquals(await list.read(), []);
    for (const text of ["10.0.0.1", "10.0.0.1", "fc00::1", "127.0.0.1"]) {
      const target = parseTarget(text);
      if ("range" in target) list.note(target.range.start);
    }
    await Promise.resolve(); // the microtask that appends
    assertEquals(
      (await Deno.readTextFile(path)).split("\n").length,
      3,
      "two lines, none for loopback",
    );
    const ranges = await new OptOutFile(path, fail).read();
    assertEquals(ranges.map(({ start }) => start), [0x0a000001, 0xfc00n << 112n | 1n]);
    await Deno.writeTextFile(path, "192.168.0.0/24  asked by mail\n", { append: true });
    assertEquals((await list.read()).length, 3);
    assertMatch(
      await Deno.readTextFile(path),
      /^10\.0\.0\.1 {2}\d{4}-\d\d-\d\d {2}the server {2}marker in its MOTD$/m,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an address is added on a new line after a last line without a line feed", async () => {
  const path = await Deno.makeTempFile();
  try {
    for (const last of ["", "10.0.0.1  asked by mail", "10.0.0.1  asked by mail\r\n"]) {
      await Deno.writeTextFile(path, last);
      const list = new OptOutFile(path, fail);
      for (const address of [0x0a000002, 0x0a000003]) {
        list.note(address);
        await Promise.resolve();
      }
      const starts = (await list.read()).map(({ start }) => start);
      assertEquals(starts, [...last === "" ? [] : [0x0a000001], 0x0a000002, 0x0a000003]);
    }
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("an unreadable opt-out file is refused by name and line", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await assertRejects(
      () => new OptOutFile(folder, fail).read(),
      InputError,
      `Cannot read "${folder}"`,
    );
    const path = `${folder}/list.txt`;
    await Deno.writeTextFile(path, "10.0.0.1\n10.0.0.0/99  typo\n");
    await assertRejects(
      () => new OptOutFile(path, fail).read(),
      InputError,
      `${path}:2: Cannot parse`,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("adding many addresses reads one byte of the file for each batch, and writes each address once", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/new/opt-out.txt`;
  const openSync = Deno.openSync;
  const steps = { opened: 0, read: 0, written: 0 };
  try {
    Deno.openSync = (...args) => {
      steps.opened++;
      const file = openSync(...args);
      const [readSync, writeSync] = [file.readSync.bind(file), file.writeSync.bind(file)];
      file.readSync = (into) => (steps.read += into.length, readSync(into));
      file.writeSync = (bytes) => (steps.written += bytes.length, writeSync(bytes));
      return file;
    };
    const list = new OptOutFile(path, fail);
    for (let burst = 0; burst < 20; burst++) {
      // half of them are already in the file
      for (let i = 0; i < 2000; i++) list.note(0x0a000000 + 1000 * burst + i);
      await Promise.resolve();
    }
    Deno.openSync = openSync;
    const text = await Deno.readTextFile(path);
    assertEquals(steps, { opened: 20, read: 19, written: text.length });
    assertEquals(text.split("\n").length, 21_001);
    assertEquals((await list.read()).length, 21_000);
    if (Deno.build.os !== "windows") {
      assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
      assertEquals((await Deno.stat(`${folder}/new`)).mode! & 0o777, 0o700);
    }
  } finally {
    Deno.openSync = openSync;
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an opt-out file that cannot be written is reported once", async () => {
  const folder = await Deno.makeTempDir();
  const reported: string[] = [];
  try {
    const list = new OptOutFile(folder, (line) => reported.push(line));
    for (const address of [1, 2]) {
      list.note(address);
      await Promise.resolve();
    }
    assertEquals(reported.length, 1);
    assertStringIncludes(reported[0], `cannot write opt-outs to "${folder}": `);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("without access to the environment the default opt-out file is refused, not read from another place", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const permissions = ["--allow-net=127.0.0.0/8,0.0.0.0", "--allow-read", "--allow-write"];
    const args = ["scan", "127.7.7.7", "--protocol", "raknet", "--cooldown", "1ms", "-q"];
    const refused = await run(args, { permissions, cwd: folder });
    assertEquals(refused.code !== 0, true, refused.stderr);
    assertEquals(refused.stderr.split("\n"), [
      "blocksweep: Cannot find the opt-out file: run again with " +
      "--allow-env=HOME,XDG_CONFIG_HOME,APPDATA,USERPROFILE, or name a file with --opt-out-file",
      "",
    ]);
    const named = await run([...args, "--opt-out-file", "none.txt"], { permissions, cwd: folder });
    assertEquals([named.code, named.stderr], [0, ""]);
    const granted = await run(args, {
      permissions: [...permissions, "--allow-env=HOME"],
      cwd: folder,
    });
    assertEquals(granted.code, 0, granted.stderr);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a removed entry leaves what another program appends meanwhile, and the other lines", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, "# é\r\n10.0.0.1  näme\r\n\n10.0.0.2  x\n10.0.0.1-10.0.0.1  y");
    const other = new OptOutFile(path, fail);
    new OptOutFile(path, fail).remove((entries) => {
      other.append("10.0.0.3  z\n");
      return entries.filter(({ ranges: [{ start }] }) => start === 0x0a000001);
    });
    assertEquals(
      await Deno.readTextFile(path),
      `# é\r\n${" ".repeat(15)}\r\n\n10.0.0.2  x\n${" ".repeat(20)}\n10.0.0.3  z\n`,
    );
    assertEquals((await other.read()).map(({ start }) => start), [0x0a000002, 0x0a000003]);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("an opt-out file that changed is read with its new lines, and its errors have the right line", async () => {
  const path = await Deno.makeTempFile();
  const list = new OptOutFile(path, fail);
  try {
    for (
      const [text, words] of [
        ["10.0.0.1\r\n# a\r\n10.0.0.2\r\n", "10.0.0.1 10.0.0.2"],
        ["10.0.0.1\r\n# a\r\n10.0.0.2\r\n10.0.0.3", "10.0.0.1 10.0.0.2 10.0.0.3"],
        ["10.0.0.1\r\n# a\r\n10.0.0.2\r\n10.0.0.33\n", "10.0.0.1 10.0.0.2 10.0.0.33"],
        ["        \r\n# a\r\n10.0.0.2\r\n10.0.0.33\n10.0.0.4\n", "10.0.0.2 10.0.0.33 10.0.0.4"],
        ["10.0.0.5\n", "10.0.0.5"],
      ]
    ) {
      await Deno.writeTextFile(path, text);
      const entries = await list.entries();
      assertEquals(entries.map(({ word }) => word).join(" "), words);
      assertEquals(entries, parseOptOutEntries(text, path));
    }
    await Deno.writeTextFile(path, "10.0.0.5\n\n10.0.0.999\n");
    await assertRejects(() => list.entries(), InputError, `${path}:3: Cannot parse`);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("a last line that is still being written opts out nothing, until it stays the same for a second", async () => {
  const path = await Deno.makeTempFile();
  const at = { now: 0 };
  const clock = { ...systemClock, now: () => at.now };
  const list = new OptOutFile(path, fail, { resolve: () => Promise.resolve([]), clock });
  const add = (text: string) => Deno.writeTextFile(path, text, { append: true });
  /** Compares versions as a scan does; returns the number of addresses that it leaves out. */
  const follow = () => {
    let [known, size] = ["", 0];
    return async () => {
      const version = await list.version();
      if (version === known) return size;
      known = version;
      const ranges = await list.read();
      return size = ranges.reduce((sum, { start, end }) => sum + Number(end) - Number(start), 0);
    };
  };
  const [first, second] = [follow(), follow()];
  const both = () => Promise.all([first(), second()]);
  try {
    await add("127.9.1.1");
    assertEquals(await first(), 1, "at the start all lines count");
    await add("\n127.9.3.0/2");
    assertEquals([await first(), await second()], [1, 1]);
    at.now = 900;
    assertEquals([await first(), await second()], [1, 1]);
    await add("8\n127.9.9.9");
    assertEquals(await both(), [17, 17]);
    at.now = 1900;
    assertEquals([await first(), await first()], [18, 18]);
    assertEquals(await second(), 18, "also for one that looks after the line was read");
    await add("\n127.9.9.10");
    at.now = 2000;
    assertEquals(await both(), [18, 18]);
    at.now = 3000;
    assertEquals(await both(), [19, 19]);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test({
  name: "an opt-out file that is a named pipe is refused, and /dev/null is empty",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const folder = await Deno.makeTempDir();
    const path = `${folder}/pipe`;
    try {
      assertEquals(
        (await new Deno.Command("sh", { args: ["-c", 'mkfifo "$0"', path] }).output()).code,
        0,
      );
      const writer = await Deno.open(path, { read: true, write: true });
      const reading = new OptOutFile(path, fail).read();
      reading.catch(() => {}).finally(() => writer.close());
      await writer.write(new TextEncoder().encode("10.0.0.1\n"));
      await assertRejects(
        () => reading,
        InputError,
        `Cannot read "${path}": it is not a regular file`,
      );
      await Deno.symlink("/dev/null", `${folder}/null`);
      for (const empty of ["/dev/null", `${folder}/null`]) {
        assertEquals(await new OptOutFile(empty, fail).entries(), []);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
