/** Covers src/targets/octet_ranges.ts and src/targets/ports.ts. */
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { Address4, Address6 } from "npm:ip-address@10.7.6";
import { formatAddress, parseAddress } from "../../src/core/address.ts";
import { InputError } from "../../src/core/errors.ts";
import {
  parseRangeList,
  parseTarget,
  parseTargetList,
  parseTargets,
  splitWords,
  withTabSpans,
} from "../../src/targets/parse.ts";
import { parsePort, parsePorts } from "../../src/targets/ports.ts";

const v4 = fc.ipV4();
const v6 = fc.ipV6();

Deno.test("addresses are parsed and formatted as by ip-address", () => {
  fc.assert(
    fc.property(v4, (text) => {
      assertEquals(BigInt(parseAddress(text) as number), new Address4(text).bigInt());
      assertEquals(formatAddress(parseAddress(text)!), new Address4(text).correctForm());
    }),
    { seed: 1, numRuns: 2000 },
  );
  fc.assert(
    fc.property(v6, (text) => {
      const address = parseAddress(text) as bigint;
      assertEquals(address, new Address6(text).bigInt());
      const mapped = address >> 32n === 0xffffn;
      if (!mapped) assertEquals(formatAddress(address), new Address6(text).correctForm());
      assertEquals(parseAddress(formatAddress(address)), address);
    }),
    { seed: 2, numRuns: 5000 },
  );
});

Deno.test("prefixes cover the addresses that ip-address gives", () => {
  const check = (
    text: string,
    cidr: { startAddress(): { bigInt(): bigint }; endAddress(): { bigInt(): bigint } },
  ) => {
    const target = parseTarget(text);
    assert("range" in target);
    assertEquals(BigInt(target.range.start), cidr.startAddress().bigInt());
    assertEquals(BigInt(target.range.end) - 1n, cidr.endAddress().bigInt());
  };
  fc.assert(
    fc.property(v4, fc.nat(32), (text, prefix) => {
      check(`${text}/${prefix}`, new Address4(`${text}/${prefix}`));
    }),
    { seed: 3, numRuns: 2000 },
  );
  fc.assert(
    fc.property(v6, fc.nat(128), (text, prefix) => {
      check(`${text}/${prefix}`, new Address6(`${text}/${prefix}`));
    }),
    { seed: 4, numRuns: 2000 },
  );
});

Deno.test("targets of every form are parsed", () => {
  const range = (start: number, end: number, port?: number) => ({ range: { start, end }, port });
  const rangeOf = (text: string) => {
    const target = parseTarget(text);
    assert("range" in target, text);
    return { range: target.range, port: target.port };
  };
  assertEquals(rangeOf("10.0.0.1"), range(0x0a000001, 0x0a000002));
  assertEquals(rangeOf("10.0.0.1:19132"), range(0x0a000001, 0x0a000002, 19132));
  assertEquals(rangeOf("10.0.0.9/24"), range(0x0a000000, 0x0a000100));
  assertEquals(rangeOf("10.0.0.0/24:7"), range(0x0a000000, 0x0a000100, 7));
  assertEquals(rangeOf("0.0.0.0/0"), range(0, 2 ** 32));
  assertEquals(rangeOf("10.0.0.1-10.0.1.0"), range(0x0a000001, 0x0a000101));
  assertEquals(rangeOf("[::1]:19133"), { range: { start: 1n, end: 2n }, port: 19133 });
  assertEquals(rangeOf("::1-::f"), { range: { start: 1n, end: 16n }, port: undefined });
  assertEquals(rangeOf("::/0"), { range: { start: 0n, end: 1n << 128n }, port: undefined });
  assertEquals(parseTarget("Play.Example.ORG."), { name: "play.example.org", port: undefined });
  assertEquals(parseTarget("3-kings.example:5"), { name: "3-kings.example", port: 5 });
  assertEquals(parseTarget("my-host"), { name: "my-host", port: undefined });
  assertEquals(parseTarget("bücher.example"), { name: "bücher.example", port: undefined });
});

const WRONG: [text: string, message: string][] = [
  ["10.0.0.0/33", 'Cannot parse range "10.0.0.0/33": the prefix must be 0 to 32'],
  ["10.0.0.0/", "the prefix must be 0 to 32"],
  ["10.0.0.0/-1", "the prefix must be 0 to 32"],
  ["10.0.0.0/1e1", "the prefix must be 0 to 32"],
  ["::/129", "the prefix must be 0 to 128"],
  ["256.1.1.1", 'Cannot parse "256.1.1.1": each part must be a number from 0 to 255'],
  ["10.0.0.300", "each part must be a number from 0 to 255"],
  ["010.0.0.1", "some programs read a part with a leading zero as octal"],
  ["1.2.3", "an IPv4 address has four parts"],
  ["1.2.3.4.5", "an IPv4 address has four parts"],
  ["25565", "a port follows its host, as in HOST:25565"],
  ["167772161", "an IPv4 address has four parts"],
  ["10.0.0.0x1", "each part must be a number from 0 to 255"],
  ["10.0.0.9-10.0.0.1", "the first address is above the last"],
  ["10.0.0.20-1", 'in "20-1" the first number is above the last'],
  ["10.0.0.1-256", "each part must be a number from 0 to 255"],
  ["10.0.0.1-020", "some programs read a part with a leading zero as octal"],
  ["10.0.0.01-20", "some programs read a part with a leading zero as octal"],
  ["10.0.0.1-9999999999999999999", "each part must be a number from 0 to 255"],
  ["10.0.0.1-", "an IPv4 address has four parts"],
  ["10.0.0.-5", "each part must be a number from 0 to 255"],
  ["10.0.1-20", "an IPv4 address has four parts"],
  ["10.0.0.1-2.5", "an IPv4 address has four parts"],
  ["10.0.0.1-20-30", "an IPv4 address has four parts"],
  ["10.0.0.1-20/30", "each part must be a number from 0 to 255"],
  ["10.0.0-1.1-254", "it expands to 2 address ranges, not one"],
  ["0-255.0-255.0-255.1-2", "it expands to more than 65,536 ranges"],
  ["10.0.0.1-::1", "one end is IPv4, the other IPv6"],
  ["fe80::1%eth0", "only query and watch take a zone, as in fe80::1%eth0"],
  ["[fe80::1%eth0]:1", "only query and watch take a zone"],
  ["::g", "not an IPv6 address"],
  ["[10.0.0.1]:5", "only an IPv6 address may be in brackets"],
  ["10.0.0.1:0", "a port is a number from 1 to 65535"],
  ["10.0.0.1:70000", 'Cannot parse port of "10.0.0.1:70000": a port is a number from 1 to'],
  ["host:abc", "a port is a number from 1 to 65535"],
  ["-leading.example", "expected an address, a range"],
  ["white space", "expected an address, a range"],
  [`${"a".repeat(64)}.example`, "expected an address, a range"],
  ["", "expected an address, a range"],
];

for (const [text, message] of WRONG) {
  Deno.test(`parseTarget() refuses ${JSON.stringify(text)}`, () => {
    assertThrows(() => parseTarget(text), InputError, message);
  });
}

Deno.test("octet ranges expand to every combination of their values, in order", () => {
  const addresses = (text: string) =>
    parseTargets(text).flatMap((target) => {
      assert("range" in target);
      const { start, end } = target.range;
      return Array.from({ length: Number(end) - Number(start) }, (_, i) => Number(start) + i);
    });
  const octet = fc.tuple(fc.nat(255), fc.nat(3)).map(([low, more]) => [
    low,
    Math.min(255, low + more),
  ]);
  const octets = fc.tuple(octet, octet, octet, fc.oneof(octet, fc.constant([0, 255])));
  fc.assert(
    fc.property(octets, (parts) => {
      const text = parts.map(([low, high]) => low === high ? low : `${low}-${high}`).join(".");
      const expected: number[] = [];
      const visit = (before: readonly number[]) => {
        if (before.length === 4) {
          return void expected.push(before.reduce((address, octet) => 256 * address + octet));
        }
        const [low, high] = parts[before.length];
        for (let value = low; value <= high; value++) visit([...before, value]);
      };
      visit([]);
      const found = addresses(text);
      assertEquals(found.join(), expected.join(), text);
      const ends = [0, 1].map((end) => parts.map((octet) => octet[end]).join("."));
      assertEquals(
        [found[0], found.at(-1)!].map(BigInt),
        ends.map((end) => new Address4(end).bigInt()),
      );
    }),
    { seed: 7, numRuns: 300 },
  );
  assertEquals(parseTarget("192.168.1.1-254:7"), {
    range: { start: 0xc0a80101, end: 0xc0a801ff },
    port: 7,
    text: "192.168.1.1-254:7",
  });
  assertEquals(parseTargets("10.0.0-3.0-255").length, 1); // one range without gaps
  assertEquals(parseTargets("0-255.0-255.0-255.0-255").length, 1);
  assertEquals(parseTargetList("10.0.0-1.1-2 10.0.0.9", "x").length, 3);
  assertEquals(parseRangeList("10.0.0-1.7 gone", "x").map(({ reason }) => reason), [
    "gone",
    "gone",
  ]);
});

Deno.test("parseTarget() throws only InputError for any text", () => {
  const text = fc.string({
    unit: fc.constantFrom(..."0123456789.:/-[]%axg \u0000é"),
    maxLength: 24,
  });
  fc.assert(
    fc.property(text, (word) => {
      try {
        parseTarget(word);
      } catch (error) {
        assert(error instanceof InputError, String(error));
      }
    }),
    { seed: 6, numRuns: 20_000 },
  );
});

Deno.test("parseTargetList() names the source and the line", () => {
  const text = "10.0.0.1 # home\n\n10.0.0.2, 10.0.0.3\r\nexample.org\n10.0.0.0/40";
  assertThrows(() => parseTargetList(text, "list.txt"), InputError, "list.txt:5: Cannot parse");
  assertEquals(parseTargetList(text.replace("/40", "/30"), "list.txt").length, 5);
  assertThrows(
    () => parseTargetList("# nothing\n", "list.txt"),
    InputError,
    "it contains no targets",
  );
  assertEquals([...splitWords("a,b\r#c\r\nd")], [
    { word: "a", line: 1 },
    { word: "b", line: 1 },
    { word: "d", line: 3 },
  ]);
});

Deno.test("a hyphen with white space around it joins the addresses of a range", () => {
  const words = (text: string) => [...splitWords(text)].map(({ word }) => word);
  assertEquals(words("10.0.0.4 - 10.0.0.6, 10.0.0.9\t-  10.0.0.9 # x"), [
    "10.0.0.4-10.0.0.6",
    "10.0.0.9-10.0.0.9",
  ]);
  assertEquals(words("::4 - ::6"), ["::4-::6"]);
  assertEquals(words("10.0.0.4 -10.0.0.6"), ["10.0.0.4", "-10.0.0.6"]); // refused by the parser
});

Deno.test("tabs between two addresses of an exclusion are a range", () => {
  const text =
    "10.0.0.4\t\t10.0.0.6\tArmy - Information\r\n::1\t::2\n10.0.0.1\t# x\n10.0.0.1 10.0.0.2";
  const lines = ["10.0.0.4-10.0.0.6", "::1-::2", "10.0.0.1\t# x", "10.0.0.1 10.0.0.2"];
  assertEquals(withTabSpans(text), lines.join("\n"));
});

Deno.test("parseRangeList() keeps the reasons and refuses names", () => {
  assertEquals(parseRangeList("# x\n10.0.0.0/8   private use\n", "x.txt"), [
    { range: { start: 0x0a000000, end: 0x0b000000 }, reason: "private use" },
  ]);
  for (const end of ["\n", "\r\n", "\r"]) {
    const list = parseRangeList(["\ufeff10.0.0.1", "# x", "10.0.0.2 y z", ""].join(end), "x.txt");
    assertEquals(list.map(({ reason }) => reason), ["", "y z"]);
  }
  assertThrows(
    () => parseRangeList("\nexample.org why", "x.txt"),
    InputError,
    'x.txt:2: Cannot exclude "example.org": not a range',
  );
  assertThrows(() => parseRangeList("10.0.0.0/33 why", "x.txt"), InputError, "x.txt:1: Cannot");
});

Deno.test("a URL as a target is rejected without showing its secrets", () => {
  const urls = [
    "https://discord.com/api/webhooks/123/S3cr3tPw",
    "https://S3cr3tPw@127.0.0.1/x",
    "ann:S3cr3tPw@127.0.0.1",
    "S3cr3tPw@127.0.0.1",
    "https:/h/S3cr3tPw",
    "x://h?S3cr3tPw",
    "ann:p:S3cr3tPw@h",
    'ann:"S3cr3tPw@h',
    "[::1]:S3cr3tPw@h",
    "postgres://a:S3cr3tPw@h/d",
  ];
  for (const url of urls) {
    const { message } = assertThrows(() => parseTargets(url), InputError);
    assert(!message.includes("S3cr3tPw"), message);
    assertMatch(
      message,
      /as a target: a (URL is not a target|target cannot contain a user); write HOST or/,
    );
  }
  const { message } = assertThrows(() => parsePorts("https://h/S3cr3tPw-1"), InputError);
  assert(!message.includes("S3cr3tPw"), message);
});

Deno.test("ports are parsed as lists, as ranges and with transports", () => {
  assertEquals(parsePorts("2,1,2-4").udp, [1, 2, 3, 4]);
  assertEquals(parsePorts("U:53,54,T:80"), { udp: [53, 54], tcp: [80] });
  assertEquals(parsePorts("1-65535").tcp.length, 65535);
  assertEquals(parsePorts("-"), parsePorts("1-65535")); // as nmap: -p-
  assertEquals(parsePorts("U:-,T:7").tcp, [7]);
  for (
    const wrong of ["", "0", "70000", "1-0", "a", "1-", "-1", "1,,2", "U:", "1e3", "+5", "1.5"]
  ) {
    assertThrows(() => parsePorts(wrong), InputError, "Cannot parse port");
  }
  assertThrows(() => parsePort("65536"), InputError, 'Cannot parse port "65536": a port is');
});

Deno.test("a list that names all ports 20,000 times is read in linear time", () => {
  assertEquals(parsePorts("1-65535,".repeat(20_000) + "7").udp.length, 65535);
});
