/** Files that users, other scanners and earlier runs have written. */
import { readCrawlFile } from "../../../src/app/crawl/crawl_file.ts";
import { formatConfig, parseConfig } from "../../../src/app/options/config_file.ts";
import { optOutLine, parseOptOutEntries } from "../../../src/app/opt_outs/opt_out_file.ts";
import { optionsOf } from "../../../src/app/options/option_table.ts";
import { readOptions } from "../../../src/app/options/read_options.ts";
import {
  formatConfiguration,
  parseConfiguration,
} from "../../../src/app/resume/scan_configuration.ts";
import { FieldError } from "../../../src/core/checked_values.ts";
import { formatAddress, parseAddress } from "../../../src/core/address.ts";
import { InputError } from "../../../src/core/errors.ts";
import { parseManifest } from "../../../src/fleet/manifest.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { formatPassRecord, parsePassRecord } from "../../../src/scan/adaptive/pass_record.ts";
import {
  countersOf,
  formatCheckpoint,
  parseCheckpoint,
  sha256,
} from "../../../src/scan/checkpoint/checkpoint_file.ts";
import { ResumedRows } from "../../../src/scan/checkpoint/resumed_rows.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { readForeignFile } from "../../../src/sinks/foreign/foreign_files.ts";
import { XmlError } from "../../../src/sinks/foreign/xml_tags.ts";
import type { DiskFile } from "../../../src/sinks/file_operations.ts";
import { parseRangeList, parseTargetList } from "../../../src/targets/parse.ts";
import { parsePorts } from "../../../src/targets/ports.ts";
import golden from "../../campaign/golden_spec.json" with { type: "json" };
import { FakeDisk } from "../../fakes/disk.ts";
import { BrokenRule, refusal, requireSame, seedsOf, type Subject, textReader } from "../subject.ts";

const TARGETS = [
  "10.0.0.0/24, 10.0.0.1-254:19132 # comment\r\n[2001:db8::1]:25565\nPlay.Example.org.:19133\n",
  "10.0-3.1,7.0-255\n::ffff:1.2.3.4\n2001:db8::-2001:db8::ff\nxn--a.example\n",
  "http://user:secret@host/x\n",
];

/** Requires that the written range of each target is read as the same one. */
function checkTargets(text: string): string {
  const targets = parseTargetList(text, "targets.txt");
  for (const target of targets) {
    if (!("range" in target)) continue;
    const { start, end } = target.range;
    if (!(start < end)) throw new BrokenRule(`an empty range: ${target.text}`);
    for (const address of [start, typeof end === "number" ? end - 1 : end - 1n]) {
      requireSame(parseAddress(formatAddress(address)), address, "an address");
    }
  }
  return `${targets.length > 1}`;
}

const DEFAULTS = { port: 19132, seenAt: 1 };
const FOREIGN = new URL("../../sinks/foreign/", import.meta.url);

async function foreignSeeds(): Promise<Uint8Array[]> {
  const seeds = seedsOf(
    "10.0.0.1:19132\n[::1]:25565\nplay.example.org\n",
    '{"schema":1,"host":"10.0.0.1","port":19132,"protocol":"raknet","protocols":["raknet"]}\n',
    '[\n  {\n    "ip": "10.0.0.7",\n    "ports": [\n      {\n        "port": 5\n      }\n    ]\n  }\n]\n',
    'sep=;\ntitle;hostname;port;tags\n"a;b";play.example.org;25565;x|y\nc;::ffff:1.2.3.4;5;\n',
    "Discovered open port 25565/tcp on 10.0.0.7   \r\n10.0.0.7,,,25565\nip,port\n10.0.0.9,5\n",
    'host,port,protocols,name\n10.0.0.1,19132,"[""raknet""]","\'=1"\n',
  );
  for await (const { name } of Deno.readDir(FOREIGN)) {
    if (!name.endsWith(".ts")) {
      seeds.push((await Deno.readFile(new URL(name, FOREIGN))).slice(0, 6000));
    }
  }
  return seeds;
}

/** A file of other scanners, which is read in two chunks. */
const foreignFile: Subject = {
  name: "foreignFile",
  from: "a file of another scanner",
  seeds: await foreignSeeds(),
  async check(bytes) {
    const text = new TextDecoder().decode(bytes);
    const middle = text.length >> 1;
    const chunks = ReadableStream.from([text.slice(0, middle), text.slice(middle)]);
    let [servers, refused] = [0, 0];
    try {
      for await (const line of readForeignFile(chunks, DEFAULTS)) {
        if (line.servers === undefined) refused++;
        for (const { record: { host, port } } of line.servers ?? []) {
          servers++;
          const address = parseAddress(host);
          if (
            address === undefined || formatAddress(address) !== host || !(port >= 1 && port < 65536)
          ) {
            throw new BrokenRule(`a server at ${host}:${port}`);
          }
        }
      }
    } catch (error) {
      return refusal(error, [XmlError]);
    }
    return servers > 0 ? `+${refused > 0}` : "-";
  },
};

const CHECKPOINT = formatCheckpoint({
  ...{ program: "1.0.0", savedAt: 1, scanId: "00000000-0000-7000-8000-000000000001" },
  ...{ configuration: sha256(""), seed: 7, shard: "1/1", key: "0123456789abcdef" },
  state: "running",
  marks: { udp: { pass: 1, position: 0 }, tcp: { pass: 1, position: 0 } },
  outputs: [null, 12],
  rows: 0,
  list: { bytes: 1, sha256: sha256("") },
  counters: { ...countersOf(newState("", 0)), firstProbeAt: 1, lastRowAt: 2 },
});

/** A checkpoint whose checksum is right, although its content may have been changed. */
function checkCheckpoint(text: string): string {
  parse(text, true);
  const [body] = text.split(/^sha256 /m);
  const whole = `${body}sha256 ${sha256(body)}\n`;
  requireSame(parse(whole, false), parse(formatCheckpoint(parse(whole, false)!), false), "it");
  return "";
}

function parse(text: string, mayBeChanged: boolean) {
  try {
    return parseCheckpoint(text, "1.0.0", "a", PROTOCOLS);
  } catch (error) {
    if (mayBeChanged && error instanceof InputError) return undefined;
    throw error;
  }
}

const LIST = "blocksweep rows {}\n+ 5120,- 10.0.0.1:19132 [::1]:25565\n! 10.0.0.9\n= {}\n";

const listFile: Subject = {
  name: "listFile",
  from: "a user of the machine",
  seeds: seedsOf(LIST),
  check(bytes) {
    const list = { bytes: bytes.length, sha256: sha256(bytes) };
    try {
      const rows = new ResumedRows(
        {} as DiskFile,
        bytes,
        { list, outputs: [5120, null], rows: 2 },
        "a",
      );
      return `+${rows.servers.length}${rows.optedOut.length}${rows.passes.length}`;
    } catch (error) {
      return refusal(error);
    }
  },
};

const SCAN_OPTIONS = optionsOf("scan");
const CONTEXT = { allProtocols: PROTOCOLS };
const { configuration: CONFIGURATION } = golden as { readonly configuration: string };
const PASS = formatPassRecord(
  {
    pass: 1,
    input: { probes: 9, perNetwork: 2, perHost: Infinity, lossPerMille: 3 },
    digest: "0123456789abcdef",
    elapsedMs: 4,
    found: [{ hits: [], endedHosts: [], endedNetworks: [] }],
  } as unknown as Parameters<typeof formatPassRecord>[0],
);

const crawlFile: Subject = {
  name: "crawlFile",
  from: "a user of the machine",
  seeds: seedsOf('{"crawl":1,"discovery":[[10,2],[7,0]]}\n'),
  async check(bytes) {
    const disk = new FakeDisk();
    disk.put("a", bytes);
    try {
      return `+${(await readCrawlFile(disk, "a")).length}`;
    } catch (error) {
      return refusal(error);
    }
  },
};

/** The readers of files. */
export const FILE_SUBJECTS: readonly Subject[] = [
  textReader("targets", "a file of targets", TARGETS, checkTargets),
  textReader(
    "ranges",
    "a user of the machine",
    ["10.0.0.7  a reason\n# x\n2001:db8::/32 owner\n10.0.0.1-9 x\n"],
    (text) => `${parseRangeList(text, "exclude.txt").length}`,
  ),
  textReader(
    "optOuts",
    "a user of the machine",
    [`10.0.0.7  marker in its MOTD\n# x\n${optOutLine("2001:db8::/32", "2026-11-26", "a@b", "c")}`],
    (text) => {
      for (const { word, date, from, why } of parseOptOutEntries(text, "opt-out.txt")) {
        if (date === null || from === null || from === "") continue;
        const [again] = parseOptOutEntries(optOutLine(word, date, from, why), "opt-out.txt");
        requireSame([word, date], [again.word, again.date], "the opt-out");
      }
      return "";
    },
  ),
  textReader("ports", "a user", ["U:19132,25565-25575,T:1", "1-65535", "-", "0"], (text) => {
    const { udp, tcp } = parsePorts(text);
    for (const ports of [udp, tcp]) {
      const isAscending = ports.every((port, i) => port > (ports[i - 1] ?? 0) && port < 65536);
      if (!isAscending) throw new BrokenRule("the ports are not ascending");
    }
    return `${udp.length === tcp.length}`;
  }),
  foreignFile,
  textReader("checkpoint", "a user of the machine", [CHECKPOINT], checkCheckpoint),
  listFile,
  textReader("passRecord", "a user of the machine", [PASS], (line) => {
    const record = parsePassRecord(line, "a");
    requireSame(record, parsePassRecord(formatPassRecord(record), "a"), "the pass");
    return "";
  }),
  textReader("configuration", "a user of the machine", [CONFIGURATION], (text) => {
    const value = parseConfiguration(text, SCAN_OPTIONS, PROTOCOLS);
    const again = parseConfiguration(formatConfiguration(value), SCAN_OPTIONS, PROTOCOLS);
    requireSame(formatConfiguration(value), formatConfiguration(again), "the configuration");
    return "";
  }, FieldError),
  textReader(
    "options",
    "a user",
    [
      '{"targets":["10.0.0.0/24"],"rate":"10k","port":["19132","25565-25570"],"protocol":"raknet"}',
      '{"max-runtime":"5min","net-rate":"off","bandwidth":"1M","append":true,"columns":"host,port"}',
      '{"seed":7,"shard":"1/2","webhook":"https://a.example/","metrics":"127.0.0.1:9150"}',
    ],
    (text) => {
      const given = parseConfig("scan", text, "a.json");
      const written = formatConfig("scan", given);
      const again = formatConfig("scan", parseConfig("scan", written, "a.json"));
      requireSame(written, again, "the options");
      readOptions("scan", given, CONTEXT);
      return [...given.given.keys()].join();
    },
  ),
  textReader(
    "manifest",
    "a user of the machine",
    ['{"host":"127.0.0.1","port":1,"listed":true,"software":"a","truth":{}}\n'],
    (text) => `${parseManifest(text).length > 0}`,
    SyntaxError,
  ),
  crawlFile,
];
