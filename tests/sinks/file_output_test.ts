/** Covers src/sinks/file_identity.ts and src/sinks/read_endpoints.ts. */
import { assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { emptyRecord, FIELDS, type ServerRecord } from "../../src/core/record.ts";
import { csvFormat } from "../../src/sinks/csv.ts";
import { jsonFormat, ndjsonFormat } from "../../src/sinks/json.ts";
import { readEndpoints } from "../../src/sinks/read_endpoints.ts";
import { serverTable } from "../../src/app/outputs/table_format.ts";
import { grepFormat, hostPortFormat } from "../../src/sinks/text_formats.ts";
import { openFile } from "../../src/sinks/file_output.ts";
import {
  type Format,
  type Output,
  OutputLostError,
  TextSink,
  WriteError,
} from "../../src/sinks/sink.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const tableFormat = serverTable(Infinity);

const record = (port: number): ServerRecord => ({
  ...emptyRecord({ address: 0x7f000001, port }, 5),
  protocol: "raknet",
  motd: "é".repeat(port % 7),
});

/** An output with a limited capacity, which accepts at most seven bytes per write. */
class SmallDisk implements Output {
  readonly name = '"disk"';
  bytes: number[] = [];
  closed = false;

  constructor(readonly room: number) {}

  write(bytes: Uint8Array): Promise<number> {
    const taken = bytes.subarray(0, Math.min(7, this.room - this.bytes.length));
    if (taken.length === 0) return Promise.reject(new Error("No space left on device"));
    this.bytes.push(...taken);
    return Promise.resolve(taken.length);
  }

  truncate(length: number): Promise<void> {
    this.bytes.length = length;
    return Promise.resolve();
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  get text(): string {
    return new TextDecoder().decode(Uint8Array.from(this.bytes));
  }
}

const ndjson = ndjsonFormat(FIELDS);

Deno.test("a full disk contains complete rows, exactly those that were accepted", async () => {
  for (let room = 0; room < 4000; room += 61) {
    const disk = new SmallDisk(room);
    const sink = new TextSink(disk, ndjson);
    let accepted = 0;
    const error = await assertRejects(
      async () => {
        for (;; accepted++) await sink.write([record(accepted + 1)]);
      },
      WriteError,
      'Cannot write to "disk": No space left on device',
    );
    assertEquals(error.cause instanceof Error, true);
    const lines = disk.text.split("\n");
    assertEquals(lines.pop(), "");
    assertEquals(
      lines.map((line) => JSON.parse(line).port),
      Array.from({ length: accepted }, (_, i) => i + 1),
    );
    assertEquals(sink.position(), disk.bytes.length);
    await sink[Symbol.asyncDispose]();
    assertEquals([disk.closed, disk.text.split("\n").length - 1], [true, accepted]);
  }
});

/** Writes rows to a file and returns the file's text. */
async function write(
  path: string,
  format: Format,
  append: boolean,
  ports: number[],
): Promise<string> {
  const { output, length, separator } = await openFile(path, format, append);
  await output.truncate(length);
  {
    await using sink = new TextSink(output, format, length, separator);
    await sink.write([]);
    for (const port of ports) await sink.write([record(port)]);
  }
  return await Deno.readTextFile(path);
}

const ports = (text: string) =>
  [...text.matchAll(/127\.0\.0\.1"?,?"?(?:port"?:)?(\d+)/g)].map(([, port]) => Number(port));

Deno.test("files are overwritten, or appended to after the last complete line", async () => {
  const folder = await Deno.makeTempDir();
  try {
    for (
      const format of [
        csvFormat(FIELDS),
        ndjson,
        hostPortFormat,
        grepFormat(PROTOCOLS),
        tableFormat,
      ]
    ) {
      const path = `${folder}/rows.${format.name}`;
      await write(path, format, false, [1, 2]);
      const text = await write(path, format, false, [3]);
      assertEquals(text.split("\n").filter((line) => line.includes("127.0.0.1")).length, 1);
      await Deno.writeTextFile(path, "127.0.0.1,torn", { append: true });
      await write(path, format, true, [4, 5]);
      assertEquals((await readEndpoints(path, format.name)).map(({ port }) => port), [3, 4, 5]);
    }
    assertEquals(ports(await Deno.readTextFile(`${folder}/rows.csv`)), [3, 4, 5]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a last line without a line feed is kept if it is complete, otherwise removed", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const formats = [csvFormat(FIELDS), ndjson, hostPortFormat, grepFormat(PROTOCOLS), tableFormat];
    for (const format of formats) {
      const path = `${folder}/rows.${format.name}`;
      const full = await write(path, format, false, [1, 2]);
      const last = full.trimEnd().lastIndexOf("\n") + 1;
      const kept = format === tableFormat ? full.slice(0, last) : full.trimEnd();
      await Deno.writeTextFile(path, full.trimEnd());
      assertEquals(await write(path, format, true, []), kept, format.name);
      const row = format.row(record(3), false);
      const separator = format === tableFormat ? "" : "\n";
      assertEquals(await write(path, format, true, [3]), `${kept}${separator}${row}`, format.name);
      const torn = full.slice(0, last + 7);
      await Deno.writeTextFile(path, torn);
      assertEquals(await write(path, format, true, [3]), full.slice(0, last) + row, format.name);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an incomplete header is rewritten; another first line is refused and kept", async () => {
  const folder = await Deno.makeTempDir();
  const format = csvFormat(FIELDS.slice(0, 2));
  try {
    for (const torn of ["ho", "host,po", "host,port", "host,port\r"]) {
      await Deno.writeTextFile(`${folder}/a.csv`, torn);
      assertEquals(await write(`${folder}/a.csv`, format, true, []), "host,port\r\n");
    }
    for (const other of ["notes", "port,host"]) {
      await Deno.writeTextFile(`${folder}/a.csv`, other);
      await assertRejects(() => openFile(`${folder}/a.csv`, format, true), InputError, "columns");
      assertEquals(await Deno.readTextFile(`${folder}/a.csv`), other);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("rows are appended to NDJSON with equal keys in any order", async () => {
  const path = await Deno.makeTempFile();
  const [host, port, guid] = ["host", "port", "guid"].map((name) =>
    FIELDS.find((field) => field.name === name)!
  );
  try {
    const first = await write(path, ndjsonFormat([port, host]), false, [1]);
    const other = ndjsonFormat([host, port]);
    assertEquals(await write(path, other, true, [2]), first + other.row(record(2), false));
    for (const fields of [[host], [host, guid], [host, port, guid]]) {
      await assertRejects(() => openFile(path, ndjsonFormat(fields), true), InputError, "columns");
    }
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("readEndpoints() skips incomplete last lines and lines that are not rows", async () => {
  const path = await Deno.makeTempFile();
  const known = async (format: string, text: string) => {
    await Deno.writeTextFile(path, text);
    return (await readEndpoints(path, format)).map(({ port }) => port);
  };
  try {
    const csv = 'host,port,motd\r\n::1,1,"a ""b"", c"\r\n';
    assertEquals(await known("csv", `${csv}::1,2,`), [1, 2]);
    assertEquals(await known("csv", `${csv}::1,2`), [1]);
    assertEquals(await known("csv", `${csv}::1,2,"tor`), [1]);
    assertEquals(await known("csv", `${csv}::1\n::1,3,x\n`), [1, 3]);
    assertEquals(await known("hostport", "[::1]:1\n[::1]:2"), [1, 2]);
    assertEquals(await known("ndjson", '{"host":"::1","port":1}\n{"host":"::1","port":2}'), [1, 2]);
    const grep = (port: number) =>
      grepFormat(PROTOCOLS).row({ ...record(port), host: "::1" }, false);
    assertEquals(await known("grep", `# ours\n${grep(1)}${grep(2).trimEnd()}`), [1, 2]);
    assertEquals(await known("grep", `${grep(1)}${grep(2).trimEnd().slice(0, -1)}`), [1]);
    const table = (port: number) => tableFormat.row({ ...record(port), host: "fd00::1" }, false);
    assertEquals(await known("table", tableFormat.head + table(1) + table(2).trimEnd()), [1]);
    for (const format of ["csv", "ndjson", "hostport", "grep", "table"]) {
      assertEquals(await known(format, ""), []);
    }
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("a file without rows has the header and the footer of its format", async () => {
  const folder = await Deno.makeTempDir();
  try {
    assertEquals(
      await write(`${folder}/a.csv`, csvFormat(FIELDS.slice(0, 2)), false, []),
      "host,port\r\n",
    );
    assertEquals(await write(`${folder}/a.json`, jsonFormat(FIELDS), false, []), "[\n]\n");
    assertEquals(
      await write(`${folder}/a.csv`, csvFormat(FIELDS.slice(0, 2)), true, [7]),
      "host,port\r\n127.0.0.1,7\r\n",
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("files that cannot be opened for rows give clear errors and stay unchanged", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await assertRejects(
      () => openFile(`${folder}/no/x.csv`, ndjson, false),
      InputError,
      "No such file",
    );
    await assertRejects(() => openFile(folder, ndjson, false), InputError, "Cannot write to");
    await Deno.writeTextFile(`${folder}/x.csv`, "port,host\r\n1,127.0.0.1\r\n");
    await assertRejects(
      () => openFile(`${folder}/x.csv`, csvFormat(FIELDS), true),
      InputError,
      "it does not start with the columns",
    );
    for (const first of ['{"schema":1,"host":"::1"}', '{"schema":1,"host":"::1"}\n', "hosts\n"]) {
      await Deno.writeTextFile(`${folder}/x.ndjson`, first);
      await assertRejects(
        () => openFile(`${folder}/x.ndjson`, ndjson, true),
        InputError,
        "it does not start with the columns",
      );
      assertEquals(await Deno.readTextFile(`${folder}/x.ndjson`), first);
    }
    const { output } = await openFile(`${folder}/x.csv`, csvFormat(FIELDS), false);
    await output[Symbol.asyncDispose]();
    assertEquals(await Deno.readTextFile(`${folder}/x.csv`), "port,host\r\n1,127.0.0.1\r\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an incomplete last line of several chunks is found", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, `first\n${"x".repeat(200_000)}`);
    const { output, length } = await openFile(path, hostPortFormat, true);
    await output.truncate(length);
    await output[Symbol.asyncDispose]();
    assertEquals([length, (await Deno.readTextFile(path)).length], [6, 6]);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("readEndpoints() returns nothing for missing files and other formats", async () => {
  assertEquals(await readEndpoints("/nonexistent/x.csv", "csv"), []);
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(
      path,
      '{"host":"nonsense","port":1}\nnot json\n{"host":"::1","port":2}\n{"ho',
    );
    assertEquals(await readEndpoints(path, "ndjson"), [{ address: 1n, port: 2 }]);
    assertEquals(await readEndpoints(path, "table"), []);
    assertEquals(await readEndpoints(path, "json"), []);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("deletion, replacement, truncation and writes of other programs to an output are detected", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/rows.ndjson`;
  const changes: Record<string, [change: () => Promise<unknown>, fate: string | undefined]> = {
    "nothing": [() => Promise.resolve(), undefined],
    "deleted": [() => Deno.remove(path), "it was deleted or renamed since it was opened"],
    "renamed": [() => Deno.rename(path, `${folder}/rows.1`), "it was deleted or renamed"],
    "its folder renamed": [async () => {
      await Deno.rename(folder, `${folder}.away`);
      await Deno.mkdir(folder);
    }, "it was deleted or renamed"],
    "made anew": [async () => {
      const content = await Deno.readFile(path);
      await Deno.rename(path, `${folder}/rows.1`);
      await Deno.writeFile(path, content);
    }, "another file has taken its place"],
    "replaced by a link": [async () => {
      await Deno.rename(path, `${folder}/rows.1`);
      await Deno.symlink("/dev/null", path);
    }, "another file has taken its place"],
    "moved, and linked to": [async () => {
      await Deno.rename(path, `${folder}/rows.1`);
      await Deno.symlink(`${folder}/rows.1`, path);
    }, undefined],
    "emptied": [
      () => Deno.truncate(path),
      "another program changed it: it has ",
    ],
    "cut": [() => Deno.truncate(path, 100), "another program changed it: it has "],
    "added to": [
      () => Deno.writeTextFile(path, "x", { append: true }),
      "another program changed it",
    ],
  };
  for (const [what, [change, fate]] of Object.entries(changes)) {
    for (const last of ["check", "a row behind it", "close"]) {
      const { output, length } = await openFile(path, ndjson, false);
      await output.truncate(length);
      const sink = new TextSink(output, ndjson, length);
      await sink.write([record(1)]);
      await sink.check();
      await change();
      if (last === "a row behind it") await sink.write([record(2)]);
      const look = () => last === "close" ? sink[Symbol.asyncDispose]() : sink.check();
      if (fate === undefined) await look();
      else await assertRejects(look, OutputLostError, `Cannot write to "${path}": ${fate}`, what);
      if (last !== "close") await sink[Symbol.asyncDispose]().catch(() => {}); // the error was asserted above
      for (const one of [folder, `${folder}.away`]) {
        await Deno.remove(one, { recursive: true }).catch(() => {});
      }
      await Deno.mkdir(folder);
    }
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("rows written after a truncation leave no gap of zeros", async () => {
  const path = await Deno.makeTempFile();
  try {
    const { output } = await openFile(path, ndjson, false);
    const sink = new TextSink(output, ndjson);
    await sink.write([record(1), record(2)]);
    await Deno.truncate(path);
    await sink.write([record(3)]);
    assertEquals(await Deno.readTextFile(path), ndjson.row(record(3), false));
    await assertRejects(() => sink[Symbol.asyncDispose](), OutputLostError);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("the check allows a row that is being written", async () => {
  const path = await Deno.makeTempFile();
  try {
    await using sink = new TextSink((await openFile(path, ndjson, false)).output, ndjson);
    for (let port = 1; port < 300; port++) {
      await Promise.all([sink.check(), sink.write([record(port)]), sink.check()]);
    }
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("only regular files are checked", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/rows`;
  try {
    await Deno.symlink("/dev/null", path);
    const { output, regular } = await openFile(path, ndjson, false);
    await using sink = new TextSink(output, ndjson);
    await Deno.remove(path);
    await sink.write([record(1)]);
    await sink.check();
    assertEquals([regular, output.currentSize], [false, undefined]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
