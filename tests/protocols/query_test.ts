/** Covers src/protocols/query/ and src/protocols/fact_limits.ts. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { concat, Malformed, Truncated } from "../../src/core/bytes.ts";
import {
  type BasicStat,
  type Challenge,
  decodeQueryChallenge,
  decodeQueryRequest,
  decodeStat,
  encodeBasicStat,
  encodeFullStat,
  encodeQueryChallenge,
  formatPlugins,
  type FullStat,
  isCount,
  parsePlugins,
  queryProtocol,
  type Stat,
} from "../../src/protocols/query/mod.ts";
import { decodeLatin1, encodeLatin1 } from "../../src/core/text.ts";

const ID = Uint8Array.of(1, 2, 3, 4);
const SESSION = 0x01020304;
const challenge = (text: string, ...more: number[]) => concat([9], ID, encodeLatin1(text), more);

Deno.test("a request is distinguished from other datagrams, and a cut request names its missing field", () => {
  const read = (hex: string) => decodeQueryRequest(Uint8Array.fromHex(hex));
  assertEquals(read("0101020304050607"), undefined);
  assertEquals(read("fefc0901020304"), undefined);
  assertEquals(read("fefd0501020304"), undefined);
  assertEquals(read("fe"), undefined);
  const lacks = (hex: string, what: string) =>
    assertEquals(assertThrows(() => read(hex), Truncated).what, what);
  lacks("fefd", "type");
  lacks("fefd09010203", "session");
  lacks("fefd0001020304050607", "token");
});

const TOKENS: [body: string, more: number[], token: number | string, flags?: string[]][] = [
  ["0", [0], 0],
  ["-1", [0], 0xffffffff],
  ["2147483647", [0], 0x7fffffff],
  ["-2147483648", [0], 0x80000000],
  ["4294967295", [0], 0xffffffff],
  ["4294967296", [0], "a token beyond 32 bits"],
  ["-2147483649", [0], "a token beyond 32 bits"],
  ["99999999999", [0], "a token beyond 32 bits"],
  ["000000000001", [0], "a token that is not a number"], // twelve digits
  ["+1", [0], "a token that is not a number"],
  ["1x", [0], "a token that is not a number"],
  ["x1", [0], "a token that is not a number"],
  ["-", [0], "a token that is not a number"],
  ["", [0], "a token that is not a number"],
  ["", [0, 0x31, 0], "a token that is not a number"],
  ["7", [], 7, ["unterminated"]],
  ["7", [0, 9, 9], 7, ["trailingBytes"]],
  ["7", [0, 0, 0], 7],
];

Deno.test("tokens are decimal, signed or unsigned, of 32 bits", () => {
  for (const [body, more, expected, flags = []] of TOKENS) {
    const bytes = challenge(body, ...more);
    if (typeof expected === "string") {
      assertEquals(assertThrows(() => decodeQueryChallenge(bytes), Malformed).what, expected, body);
      continue;
    }
    const read = decodeQueryChallenge(bytes)!;
    assertEquals([read.token, read.raw, read.flags], [expected, false, flags], body);
  }
});

Deno.test("ten bytes that are not a number, and end with NUL, are a raw token", () => {
  const read = (...body: number[]) => {
    const found = decodeQueryChallenge(concat([9], ID, body));
    return [found?.token, found?.raw];
  };
  assertEquals(read(0xf5, 0x62, 0x32, 0xda, 0), [0xf56232da, true]); // observed from Nukkit
  assertEquals(read(0x35, 0x00, 0x7f, 0x12, 0), [0x35007f12, true]); // a NUL in the token
  assertEquals(read(0x00, 0x00, 0x00, 0x00, 0), [0, true]);
  assertEquals(read(0x00, 0x31, 0x32, 0x33, 0), [0x00313233, true]);
  // one raw token in 430,000 is misread; this is accepted
  assertEquals(read(0x31, 0x32, 0x33, 0x34, 0), [1234, false]);
  assertEquals(read(0x35, 0x00, 0x00, 0x00, 0), [5, false]);
  assertEquals(read(0x2d, 0x35, 0x00, 0x00, 0), [0xfffffffb, false]);
  for (
    const body of [[0xf5, 0x62, 0x32, 0xda, 1], [0xf5, 0x62, 0x32, 0], [
      0xf5,
      0x62,
      0x32,
      0xda,
      0,
      0,
    ]]
  ) {
    assertThrows(() => read(...body), Malformed, "not a number");
  }
});

Deno.test("tokens survive encoding and decoding", () => {
  const token = fc.integer({ min: 0, max: 0xffffffff });
  fc.assert(
    fc.property(
      token,
      fc.integer({ min: 0, max: 0xffffffff }),
      fc.nat(9),
      (value, session, fill) => {
        const written = { session, token: value, raw: false, fill };
        const text = encodeQueryChallenge(written);
        // Ten bytes of any other form are a raw token.
        if (text.length !== 10) assertEquals(decodeQueryChallenge(text), { ...written, flags: [] });
        const raw = encodeQueryChallenge({ ...written, raw: true, fill: 0 });
        const digits = /^-?\d+\0*$/.test(decodeLatin1(raw.subarray(5, 9)));
        if (!digits) assertEquals(decodeQueryChallenge(raw)?.token, value);
      },
    ),
    { seed: 1, numRuns: 2000 },
  );
});

Deno.test("a reply to another session, or of another type, is another message", () => {
  const reply = challenge("7", 0);
  assertEquals(decodeQueryChallenge(reply, SESSION)?.token, 7);
  assertEquals(decodeQueryChallenge(reply, 1), undefined);
  assertEquals(decodeQueryChallenge(challenge("broken", 0), 1), undefined);
  assertEquals(decodeQueryChallenge(Uint8Array.of(0, 1, 2, 3, 4, 0x37, 0)), undefined);
  const short = assertThrows(() => decodeQueryChallenge(reply.subarray(0, 5)), Truncated);
  assertEquals([short.what, short.offset, short.needed, short.available], ["token", 5, 1, 0]);
  assertEquals(
    assertThrows(() => decodeQueryChallenge(reply.subarray(0, 4)), Truncated).what,
    "handshake reply",
  );
});

const ascii = encodeLatin1;
const mark = concat([0], ID, ascii("splitnum"), [0, 0x80, 0]);
const tail = concat([0, 1], ascii("player_"), [0, 0]);

/** A full stat with these bytes between its header and its end. */
function full(...parts: (string | readonly number[] | Uint8Array)[]): FullStat {
  const bytes = concat(mark, ...parts.map((part) => typeof part === "string" ? ascii(part) : part));
  const stat = decodeStat(bytes, SESSION);
  assert(stat?.form === "full");
  return stat;
}

const pairsOf = ({ pairs }: FullStat) => pairs.map(([key, value]) => [key, decodeLatin1(value)]);

Deno.test("a MOTD with a NUL ends only before a known key", () => {
  const keys = [
    "gametype",
    "game_id",
    "version",
    "plugins",
    "map",
    "numplayers",
    "maxplayers",
    "hostport",
    "hostip",
    "server_engine",
    "whitelist",
  ];
  for (const key of keys) {
    const stat = full(`hostname\0A\0B\0\0C\0${key}\0x\0`, tail, [0]);
    assertEquals([pairsOf(stat), stat.flags], [[["hostname", "A\0B\0\0C"], [key, "x"]], [
      "motdNul",
    ]], key);
  }
  const twice = full("hostname\0A\0hostname\0B\0", tail, [0]); // Beta 1.9-pre4
  assertEquals([pairsOf(twice), twice.flags], [[["hostname", "A"], ["hostname", "B"]], [
    "duplicateKey",
  ]]);
});

Deno.test("only the first hostname may contain a NUL", () => {
  const other = full("motd\0A\0B\0C\0", tail, [0]);
  assertEquals([pairsOf(other), other.flags], [[["motd", "A"], ["B", "C"]], []]);
  const second = full("hostname\0A\0map\0w\0hostname\0B\0C\0D\0", tail, [0]);
  assertEquals(pairsOf(second), [["hostname", "A"], ["map", "w"], ["hostname", "B"], ["C", "D"]]);
});

Deno.test("a MOTD ends at the latest at the end of its section", () => {
  assertEquals(full("hostname\0A\0", tail, [0]).flags, []);
  assertEquals(full("hostname\0A\0\0").flags, ["noPlayerSection"]);
  assertEquals(pairsOf(full("hostname\0A\0\0")), [["hostname", "A"]]);
  assertEquals(full("hostname\0A\0xyz").flags, ["noPlayerSection", "truncated"]);
  assertEquals(pairsOf(full("hostname\0A\0xyz")), [["hostname", "A"]]);
  assertEquals(full("hostname\0A").flags, ["noPlayerSection", "truncated"]);
  assertEquals(full("hostname").flags, ["noPlayerSection", "truncated"]);
  assertEquals(full().flags, ["noPlayerSection", "truncated"]);
  assertEquals(full("map\0w\0\0x").flags, ["noPlayerSection", "trailingBytes"]);
  assertEquals(full(tail, [0]).flags, []); // no keys at all
});

Deno.test("a value that the message ends is kept and flagged", () => {
  const stat = full("numplayers\x003\0hostname\0A server");
  assertEquals(pairsOf(stat), [["numplayers", "3"], ["hostname", "A server"]]);
  assertEquals(stat.flags, ["noPlayerSection", "truncated"]);
  assertEquals(pairsOf(full("hostname\0A\0map\0world")), [["hostname", "A"], ["map", "world"]]);
  assertEquals(pairsOf(full("hostname\0A\0map\0")), [["hostname", "A"]]);
});

Deno.test("the list of players ends with an empty name; later bytes are ignored", () => {
  const names = (stat: FullStat) => stat.players?.map(decodeLatin1);
  const keys = "map\0w\0";
  assertEquals([names(full(keys, tail, "Ann\0Bob\0\0")), full(keys, tail, "Ann\0Bob\0\0").flags], [[
    "Ann",
    "Bob",
  ], []]);
  const more = full(keys, tail, "Ann\0\0numplayers\0many\0");
  assertEquals([names(more), more.flags], [["Ann"], ["trailingBytes"]]);
  const cut = full(keys, tail, "Ann\0Bo");
  assertEquals([names(cut), cut.flags], [["Ann", "Bo"], ["truncated"]]);
  const open = full(keys, tail, "Ann\0");
  assertEquals([names(open), open.flags], [["Ann"], ["truncated"]]);
});

Deno.test("players who are online are unknown if other bytes stand in place of the first name", () => {
  const players = (count: string, ...more: number[]) => {
    const stat = full(`numplayers\0${count}\0maxplayers\x0020\0`, tail, [0, ...more]);
    const status = { stat, challenge: { session: 1, token: 1, raw: false, fill: 0, flags: [] } };
    return queryProtocol.record({ ...status, fullLost: false }).columns.players;
  };
  assertEquals([players("2", 0, 65, 0), players("0", 0, 65, 0)], [null, []]);
  assertEquals(players("2"), []); // the server hides the names
});

Deno.test("the marks around the players have any width, in both byte orders", () => {
  const names = "Ann\0Bob\0";
  for (const width of [1, 2, 4, 8]) {
    for (const littleEndian of [false, true]) {
      const mark = (value: number) => {
        const bytes = new Uint8Array(width);
        bytes[littleEndian ? 0 : width - 1] = value;
        return [...bytes];
      };
      for (const last of ["world", ""]) {
        const stat = full(
          `numplayers\x002\0map\0${last}\0`,
          mark(0),
          mark(1),
          "player_\0",
          mark(0),
          names,
          mark(0),
        );
        assertEquals(stat.players?.map(decodeLatin1), ["Ann", "Bob"], `${width} ${littleEndian}`);
        assertEquals(pairsOf(stat), [["numplayers", "2"], ["map", last]]);
        assertEquals(stat.flags, width === 1 ? [] : ["oddHeader"]);
      }
    }
  }
});

Deno.test("the header word may be any eight letters, and may be cut", () => {
  const bytes = concat([0], ID, ascii("GeyserMC"), [0, 0x80, 0], ascii("map\0w\0\0"));
  const stat = decodeStat(bytes);
  assertEquals(stat?.form === "full" && stat.header, "GeyserMC");
  assertEquals(decodeStat(bytes.subarray(0, 16))?.form, "full");
  assertThrows(() => decodeStat(bytes.subarray(0, 15)), Truncated);
  assertEquals(decodeStat(bytes, 9), undefined);
  assertEquals(decodeStat(Uint8Array.of(9, 1, 2, 3, 4)), undefined);
});

/** A basic stat with these bytes after its header. */
function basic(...parts: (string | readonly number[])[]): BasicStat {
  const bytes = concat(
    [0],
    ID,
    ...parts.map((part) => typeof part === "string" ? ascii(part) : part),
  );
  // A view into a larger buffer, as a received datagram.
  const stat = decodeStat(concat([7, 7], bytes).subarray(2), SESSION);
  assert(stat?.form === "basic");
  return stat;
}

const textsOf = ({ motd, gametype, map, online, max }: BasicStat) =>
  [motd, gametype, map, online, max].map(decodeLatin1);
const PORT = [0xdd, 0x63];

Deno.test("a basic stat is decoded, complete and truncated", () => {
  const stat = basic("A\0SMP\0w\x002\x0020\0", PORT, "1.2.3.4\0");
  assertEquals(textsOf(stat), ["A", "SMP", "w", "2", "20"]);
  assertEquals([stat.port, decodeLatin1(stat.ip!), stat.flags], [25565, "1.2.3.4", []]);
  assertEquals(basic("A\0SMP\0w\x002\x0020\0", PORT, "1.2.3.4\0x").flags, ["trailingBytes"]);
  const noIp = basic("A\0SMP\0w\x002\x0020\0", PORT);
  assertEquals([noIp.port, noIp.ip, noIp.flags], [25565, null, ["truncated"]]);
  assertEquals(basic("A\0SMP\0w\x002\x0020\0", PORT, "1.2").flags, ["truncated"]);
  assertEquals(basic("A\0SMP\0w\x002\x0020\0", [0xdd]).port, null);
  const error = assertThrows(() => basic("A\0SMP\0w\x002\x0020"), Truncated);
  assertEquals([error.what, error.offset, error.needed, error.available], ["basic stat", 15, 3, 2]);
});

Deno.test("a NUL in the MOTD of a basic stat shifts the other texts, and the decoder finds them", () => {
  const stat = basic("A\0B\0C\0SMP\0w\x002\x0020\0", PORT, "1.2.3.4\0");
  assertEquals(textsOf(stat), ["A\0B\0C", "SMP", "w", "2", "20"]);
  assertEquals([stat.port, stat.flags], [25565, ["motdNul"]]);
  const wrong = basic("A\0SMP\0w\0many\x0020\0", PORT, "1.2.3.4\0");
  assertEquals([textsOf(wrong), wrong.port], [["A", "SMP", "w", "many", "20"], 25565]);
  const half = basic("A\0SMP\0w\x002\0some\0", PORT, "1.2.3.4\0");
  assertEquals([textsOf(half)[4], half.port], ["some", 25565]);
  const far = () => basic(`${"x\0".repeat(70)}5\x006\0`, PORT, "1.2.3.4\0"); // no MOTD has 67 NULs
  assertThrows(far, Malformed, "neither full nor basic");
});

Deno.test("a full stat with an unknown header is recognised by its keys", () => {
  const pairs = "hostname\0A\0numplayers\x003\0maxplayers\x0020\0\0\x01player_\0\0" +
    "123\x00456\0a\0\0";
  const names = (header: string) => {
    const stat = decodeStat(concat([0], ID, encodeLatin1(header), ascii(pairs)), SESSION);
    assert(stat?.form === "full");
    assertEquals(stat.flags, ["oddHeader"]);
    return stat.players?.map(decodeLatin1);
  };
  const marks = ["\0\0\0", "\0\x81\0", "\0\xff\0", "\0\x80\x01", "\x01\x02\x03"];
  for (const mark of marks) assertEquals(names(`splitnum${mark}`), ["123", "456", "a"], mark);
  assertEquals(names("\0".repeat(11)), ["123", "456", "a"]);
  // A basic stat is recognised with any MOTD.
  const trap = basic("0123456789ahostname\0A\0map\x002\x0020\0", PORT, "1.2.3.4\0");
  assertEquals([textsOf(trap)[0], trap.flags], ["0123456789ahostname", []]);
});

Deno.test("a count is one to nine digits", () => {
  for (
    const [text, expected] of [
      ["0", true],
      ["123456789", true],
      ["1234567890", false],
      ["", false],
      ["-1", false],
      ["1x", false],
      ["x1", false],
    ] as const
  ) {
    assertEquals(isCount(ascii(text)), expected, text);
  }
});

Deno.test("stats survive encoding and decoding", () => {
  const text = fc.string({ unit: fc.constantFrom(..."abc §é;:0"), maxLength: 8 }).map(ascii);
  fc.assert(
    fc.property(
      text,
      text,
      fc.array(text.filter((name) => name.length > 0), { maxLength: 3 }),
      (motd, map, players) => {
        const pairs = [["hostname", motd], ["map", map], ["numplayers", ascii("3")]] as const;
        const bytes = encodeFullStat({ session: SESSION, header: "splitnum", pairs, players });
        assertEquals(
          decodeStat(bytes),
          {
            form: "full",
            session: SESSION,
            header: "splitnum",
            pairs,
            players,
            flags: [],
          } as unknown as Stat,
        );
        const written = {
          session: SESSION,
          motd,
          gametype: ascii("SMP"),
          map,
          online: ascii("1"),
          max: ascii("2"),
          port: 65535,
          ip: ascii("::1"),
        };
        assertEquals(decodeStat(encodeBasicStat(written)), {
          form: "basic",
          ...written,
          flags: [],
        });
      },
    ),
    { seed: 2, numRuns: 500 },
  );
});

Deno.test("plugins are parsed in every form of the grammar", () => {
  const versions = (text: string) => {
    const { software, plugins } = parsePlugins(text);
    return [software, plugins?.map(({ name, version }) => `${name}@${version}`) ?? null];
  };
  assertEquals(versions(""), [null, null]);
  assertEquals(versions("  "), [null, null]);
  assertEquals(versions("CraftBukkit on Bukkit 1.2.5"), ["CraftBukkit on Bukkit 1.2.5", null]);
  assertEquals(versions(" Paper : "), ["Paper", []]);
  assertEquals(versions(": a 1"), [null, ["a@1"]]);
  assertEquals(versions("X: a 1;b 2 ;; c  3; d"), ["X", ["a@1", "b@2", "c@3", "d@null"]]);
  assertEquals(versions("X: a: b 1"), ["X", ["a: b@1"]]); // only the first colon separates
  assertEquals(versions("X: World Edit 7.3.0"), ["X", ["World Edit@7.3.0"]]);
  // Parentheses of the software may contain a colon. Those of a plugin have no meaning.
  const glowstone = "Glowstone git-Glowstone-607ae1e (MC: 1.12.2) on Bukkit 1.12.2-R6.1-SNAPSHOT";
  assertEquals(versions(glowstone), [glowstone, null]);
  assertEquals(versions(`${glowstone}: a (b: c) 1; d 2`), [glowstone, ["a (b: c)@1", "d@2"]]);
  assertEquals(versions("X (a: b: c 1"), ["X (a", ["b: c@1"]]);
  assertEquals(versions("X (a) y: z (b: c) 1"), ["X (a) y", ["z (b: c)@1"]]);
});

Deno.test("plugins survive formatting and parsing", () => {
  for (const text of ["", "Paper on 1.20", "Velocity: ", "X: a 1; b", "X: World Edit 7.3.0; c 2"]) {
    assertEquals(formatPlugins(parsePlugins(text)), text);
  }
  assertEquals(formatPlugins({ software: null, plugins: [] }), ": ");
});

const CHALLENGE: Challenge = { session: SESSION, token: 1, raw: false, fill: 0, flags: [] };

/** The statement of a full stat with these keys and values. */
function statement(pairs: Record<string, string>, header = "splitnum") {
  const entries = Object.entries(pairs).map(([key, value]) => [key, ascii(value)] as const);
  const stat: FullStat = {
    form: "full",
    session: 1,
    header,
    pairs: entries,
    players: null,
    flags: [],
  };
  return queryProtocol.record({ stat, challenge: CHALLENGE, fullLost: false });
}

Deno.test("the text of an invalid count stays in the facts", () => {
  const good = statement({ numplayers: "0", maxplayers: "999999999" });
  assertEquals([good.columns.players_online, good.columns.players_max, good.flags], [
    0,
    999_999_999,
    [],
  ]);
  assertEquals(good.facts.values, {});
  for (const wrong of ["-1", "1e3", "1234567890", "0x5", "5 "]) {
    const online = statement({ numplayers: wrong, maxplayers: "5" });
    assertEquals([online.columns.players_online, online.columns.players_max], [null, 5], wrong);
    assertEquals([online.flags, online.facts.values], [["badNumber"], { numplayers: wrong }]);
    const max = statement({ numplayers: "5", maxplayers: wrong });
    assertEquals([max.flags, max.facts.values], [["badNumber"], { maxplayers: wrong }]);
  }
  assertEquals(statement({ numplayers: "" }).flags, []); // an empty value is not flagged
});

Deno.test("ports, editions and software are read from a stat", () => {
  const port = (hostport: string) => statement({ hostport }).columns.port_v4;
  assertEquals(["1", "65535", "0", "65536", "x"].map(port), [1, 65535, null, null, null]);
  const edition = (game_id: string) => statement({ game_id }).columns.edition;
  assertEquals(["MINECRAFT", "MINECRAFTPE", "OTHER", ""].map(edition), [
    "java",
    "bedrock",
    null,
    null,
  ]);
  const software = (pairs: Record<string, string>) => statement(pairs).columns.software;
  assertEquals(software({ server_engine: "A", plugins: "B: c 1" }), "A");
  assertEquals(software({ plugins: "B: c 1" }), "B");
  assertEquals(software({}), null);
  const geyser = statement({ game_id: "MINECRAFT", plugins: "X" }, "GeyserMC").columns;
  assertEquals([geyser.edition, geyser.software], ["bedrock", "Geyser"]);
});

Deno.test("keys are plain data, whatever their names", () => {
  const { facts } = statement({ ["__proto__"]: "x", constructor: "y", toString: "z" });
  assertEquals(Object.entries(facts.values as object), [["__proto__", "x"], ["constructor", "y"], [
    "toString",
    "z",
  ]]);
});

Deno.test("the first value of a key is kept; a second hostname only fills a missing hostip", () => {
  const values = (...pairs: [string, string][]) => {
    const stat: FullStat = {
      form: "full",
      session: 1,
      header: "splitnum",
      players: [],
      flags: [],
      pairs: pairs.map(([key, value]) => [key, ascii(value)]),
    };
    const { columns, facts } = queryProtocol.record({
      stat,
      challenge: CHALLENGE,
      fullLost: false,
    });
    return [columns.motd, columns.map, facts.values];
  };
  assertEquals(values(["hostname", "A"], ["map", "w"], ["map", "v"], ["hostname", "1.2.3.4"]), [
    "A",
    "w",
    { hostip: "1.2.3.4" },
  ]);
  assertEquals(values(["hostname", "A"], ["hostname", "B"], ["hostip", "1.2.3.4"]), ["A", null, {
    hostip: "1.2.3.4",
  }]);
  assertEquals(values(["map", "w"], ["map", "v"]), [null, "w", {}]);
});

Deno.test("a status without a full stat is flagged", () => {
  const record = (stat: Stat | undefined, over: object = {}) =>
    queryProtocol.record({ stat, challenge: CHALLENGE, fullLost: false, ...over });
  const stat = basic("§aA\0SMP\0w\0many\x0020\0", PORT, "1.2.3.4\0");
  const lost = record(stat, { fullLost: true });
  assertEquals(lost.flags, ["badNumber", "fullLost"]);
  assertEquals(lost.facts, { form: "basic", raw_token: false, values: { hostip: "1.2.3.4" } });
  assertEquals([
    lost.columns.name,
    lost.columns.players_online,
    lost.columns.players_max,
    lost.columns.port_v4,
  ], ["A", null, 20, 25565]);
  assertEquals(record(basic("A\0SMP\0w\x001\0many\0", PORT, "x\0")).flags, ["badNumber"]);
  const cut = record(basic("\0SMP\0w\x001\x002\0"));
  assertEquals([cut.columns.motd, cut.columns.name, cut.columns.port_v4, cut.facts.values], [
    null,
    null,
    null,
    {},
  ]);
  const raw = { ...CHALLENGE, raw: true, flags: ["unterminated"] as const };
  assertEquals(record(undefined, { challenge: raw }), {
    columns: {},
    flags: ["statLost", "unterminated"],
    facts: { raw_token: true },
  });
});

Deno.test("query has the expected name and ports, and accepts no reply without its session", () => {
  assertEquals([queryProtocol.name, queryProtocol.transport], ["query", "udp"]);
  const probe = queryProtocol.probe!;
  assertEquals([probe.mayLackToken, probe.macMask], [false, 0x0f0f0f0f]);
  assertThrows(() => probe.read(Uint8Array.of(9, 1)), Truncated, "handshake reply");
});
